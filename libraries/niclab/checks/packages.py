"""The vendor's driver package on a server: changed with its undo in the journal, and compared with the sheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from niclab.bench.records import Role
from niclab.card import Driver, PackageFacts, VersionVerdict
from niclab.card.driver_choice import required_version
from niclab.checks.asked import Say
from niclab.checks.dkms.built import kept_builds, require_built, require_built_for_others, require_nothing_left
from niclab.checks.driver import KernelVersion, reload
from niclab.core.undo import SLOW_DEADLINE_S, Action, ActionKind
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided, fail_with, proven_first
from niclab.hosts.host_records import LoadedModule, ModuleFile
from niclab.hosts.settings.settings_records import ChangedFile
from niclab.hosts.settings.settings_records import Package as Installed
from niclab.run.driver_in_use import difference_in_memory, is_of_package, package_in_use
from niclab.run.run import Run
from niclab.run.server import Server

_WANTED = (VersionVerdict.REQUIRED, VersionVerdict.ALLOWED)
_LEFT_OUT = tuple(f"/usr/share/{folder}/" for folder in ("doc", "man", "info", "locale", "lintian"))
"""Folders whose files a server may leave out: path-exclude of dpkg.cfg(5), and rpm's %_excludedocs."""


class Release(Enum):
    """The version of the sheet's package that is meant."""

    REQUIRED = "required"
    PREVIOUS = "previous"


def has_the_card(run: Run, role: Role) -> bool:
    """Return whether all test ports of a server are of the card on the sheet: the peer may have another one.

    Args:
        run: The qualification run.
        role: The server.
    """
    identity, pci = run.card.identity, run.server(role).host.pci
    found = {(device.vendor_id, device.device_id) for device in (pci.device(port.pci) for port in run.ports(role))}
    return found == {(identity.vendor_id, identity.device_id)}


@dataclass(frozen=True)
class DriverPackage:
    """The driver package of one server, as the sheet names it for the server's operating system.

    ``keeps``: the changes that :meth:`restore` undoes, in the words of the journal.
    """

    run: Run
    role: Role
    keeps: str = "driver package"

    @property
    def server(self) -> Server:
        """The server."""
        return self.run.server(self.role)

    @property
    def driver(self) -> Driver:
        """The sheet's driver for the server's operating system."""
        return self.run.card.driver(self.server.description.os)

    @cached_property
    def entry(self) -> PackageFacts:
        """The sheet's package of that driver.

        Raises:
            NotApplicable: The driver comes with the system, and the sheet names no package; or the server is the peer,
                and has another card.
            SheetSilent: The sheet says nothing of where the driver comes from.
        """
        if self.role is not Role.DUT and not has_the_card(self.run, self.role):
            raise NotApplicable(f"{self.server.name} has another card than {self.run.card.name}")
        system = self.server.description.os
        if self.driver.package is None and self.driver.in_kernel:
            where = f"{self.driver.module} comes with {system.value}"
            raise NotApplicable(f"sheet {self.run.card.name}: {where}, and no package of it is named")
        return self.run.card.section(self.driver.package, f"a driver package for {system.value}")

    def version(self, release: Release | str) -> str:
        """Return the exact version that the sheet names.

        Args:
            release: The required or the previous one, or the version itself.

        Raises:
            NotApplicable: The sheet does not name it.
            BenchFault: The sheet requires a range, where an exact version must come first.
        """
        if isinstance(release, str):
            return release
        package, card = self.entry, self.run.card
        if release is Release.PREVIOUS:
            return card.section(package.previous, f"the previous version of package {package.name}")
        return required_version(card, package)

    # --- changes

    def install(self, release: Release | str) -> None:
        """Install that version over what is there. The driver in memory stays what it is.

        Args:
            release: The required or the previous version, or the version itself.

        Raises:
            CardFailure: The package is refused, is of another architecture than the sheet's, or DKMS cannot build it.
            BenchFault: The server lacks what DKMS builds it with.
            Undecided: Nothing names the cause of a build that failed.
        """
        target, package, version = self.server, self.entry, self.version(release)
        self._keep_for_undo()
        attempt = target.host.drivers.install_package(package.name, version)
        self._write_out()
        if attempt.now is not None:
            require_built(target.host, package.name, self.driver.module, attempt.refused)
        if attempt.refused is not None:
            raise CardFailure(f"{target.name}: package {package.name} {version} is not installed: {attempt.refused}")
        found = attempt.now.architecture if attempt.now is not None else None
        if package.architecture is not None and found != package.architecture:  # its module could not even be loaded
            wanted = f"{package.architecture} (sheet {self.run.card.name})"
            raise CardFailure(f"{target.name}: package {package.name} {version} is of {found}; expected {wanted}")

    def remove(self) -> None:
        """Remove the package and its configuration. The driver in memory stays what it is.

        Raises:
            CardFailure: It is still there, or something that DKMS built of it.
        """
        target, package = self.server, self.entry
        self._keep_for_undo()
        built = self._built()
        attempt = target.host.drivers.remove_package(package.name)
        self._write_out()
        if attempt.refused is not None or attempt.now is not None:
            raise CardFailure(f"{target.name}: package {package.name} is not removed: {attempt.refused or attempt.now}")
        require_nothing_left(target.host, package.name, built)

    def set_to_load(self) -> None:
        """Have the driver loaded at boot by an entry of the lab, as its manual says.

        Raises:
            NotApplicable: The sheet asks for no such entry.
            BenchFault: The entry is not there afterwards.
        """
        target, module = self.server, self.driver.module
        if not self.driver.load_at_boot:
            raise NotApplicable(f"sheet {self.run.card.name} asks for no entry that loads {module} at boot")
        self._keep(self._of_boot, f"driver {module} is set to load at boot", target.host.loading.restoring(module))
        target.host.loading.set_to_load(module)
        if not target.host.loading.is_set_to_load(module):
            raise BenchFault(
                f"{target.name}: driver {module} is not set to load at boot; expected the lab's entry for it"
            )

    def restore(self) -> None:
        """Bring package, driver and boot back to what they were before the first change. Does nothing without one.

        Raises:
            CardFailure: The package went, and has left something that DKMS built of it. The lab has removed that.
        """
        entries = [each for each in self.run.journal.pending() if each.subject in (self._subject, self._of_boot)]
        built = self._built() if entries else ()
        for entry in entries:
            self.run.journal.undo(entry, self.run.undo)
        host = self.server.host
        if built and host.drivers.package(self.entry.name) is None:
            try:
                require_nothing_left(host, self.entry.name, built)
            except CardFailure:  # its driver was loaded again
                reload(self.run, self.role)
                raise

    # --- checks

    def require_installed(self, release: Release | str) -> None:
        """Check that the package is there, complete, in that version and the sheet's architecture.

        Args:
            release: The required or the previous version, or the version itself.

        Raises:
            CardFailure: It is not.
        """
        version = self.version(release)
        self._require_sound(version, version, lambda found: found.version == version)

    def require_as_on_sheet(self) -> None:
        """Check that the package that was found is complete, and of a version and architecture of the sheet.

        Raises:
            CardFailure: It is not.
            NotApplicable: The driver comes with the kernel and is in use, so that no package needs to be there.
        """
        package, card = self.entry, self.run.card
        if self.driver.in_kernel and package_in_use(self.run, self.role) is None:
            raise NotApplicable(f"sheet {card.name}: {self.driver.module} comes with the kernel and needs no package")
        lists = card.section(package if package.is_known else None, f"versions of package {package.name}")
        self._require_sound("it", "another", lambda found: lists.verdict(found.version) in _WANTED)

    def require_gone(self) -> None:
        """Check that no version of the package is installed.

        Raises:
            CardFailure: One is.
        """
        found = self.server.host.drivers.package(self.entry.name)
        if found is not None:
            raise CardFailure(
                f"{self.server.name}: package {found.name} {found.version} is {found.status}; expected it gone"
            )

    def require_built_for_others(self, say: Say) -> None:
        """Check that DKMS builds the driver for each installed kernel that does not run.

        Args:
            say: Takes what was seen of each.

        Raises:
            CardFailure: It does not, and the package is at fault.
            BenchFault: The server cannot build modules.
            NotApplicable: The package brings its modules built, or no other kernel can be built for.
            Undecided: Nothing names the cause.
        """
        kept = kept_builds(self.run, self.server)
        require_built_for_others(self.server.host, self.entry.name, self.driver.module, say, kept)

    def require_driver_of_package(self, release: Release | str, say: Say) -> None:
        """Check that the module is not the kernel's own, and that it and every port report the package's version.

        The module is asked on disk and in memory. Where the sheet says that its version differs from its package's, the
        one in memory and the ports must report one that the sheet wants of the driver. Where all versions are right,
        the one in memory must be of the build on disk: the kernel's own may report the same version.

        Args:
            release: The required or the previous version, or the version itself.
            say: Takes the versions seen.

        Raises:
            CardFailure: The kernel's own module is loaded all the same, the one in memory is of another build, or one
                reports another version.
            BenchFault: A module of somebody else lies in the way of the package's.
            Undecided: A version cannot be compared, and nothing else is wrong.
        """
        target, package, module = self.server, self.entry, self.driver.module
        on_disk, loaded = target.host.drivers.modinfo(module), target.host.drivers.loaded_module(module)
        problems = self._of_kernel(on_disk)
        if not problems and not is_of_package(self.run, self.role):
            said = f"{target.name}: module {module} is {on_disk.filename}, which package {package.name} did not bring"
            raise BenchFault(f"{said}; expected no other module in its place")
        if package.module_version_differs:
            other, doubts = self._other_versions(loaded, say)
        else:
            wanted, doubts = self.version(release), list[str]()
            found = {"the module on disk": on_disk.version, "the module in memory": loaded.version if loaded else None}
            found |= self._port_versions()
            say(f"{target.name}: {found}, {on_disk.filename}")
            other = [
                f"{target.name}: {what} has version {version}, package {package.name} is {wanted}"
                for what, version in found.items()
                if version != wanted
            ]
        fail_with([*problems, *other] or self._other_build(loaded, on_disk), doubts)

    def require_kernel_driver_known(self) -> None:
        """Skip where the sheet names no driver that comes with the kernel: nothing is left when the package is gone.

        Raises:
            NotApplicable: The sheet names none.
        """
        if not self.driver.in_kernel:
            text = f"sheet {self.run.card.name} names no driver {self.driver.module} that comes with the kernel"
            raise NotApplicable(text)

    def require_driver_of_kernel(self) -> None:
        """Check that module on disk and in memory came with the kernel, and every port reports their version.

        Raises:
            CardFailure: One did not, or a port reports another version.
            NotApplicable: The sheet names no driver that comes with the kernel, or the system knows no builds.
        """
        self.require_kernel_driver_known()
        driver, target, problems = self.driver, self.server, list[str]()
        wanted, file = KernelVersion.asked(target.host, driver.module), target.host.drivers.modinfo(driver.module)
        if not target.host.drivers.is_own_module(file):
            problems.append(f"{target.name}: module {driver.module} is {file.place}; expected the kernel's own")
        with proven_first(lambda: problems):  # a system that cannot tell has no version to compare that of a port with
            is_same_build = target.host.drivers.is_build_on_disk(driver.module)
        if is_same_build is False:
            problems.append(f"{target.name}: module {driver.module} in memory is of another build than {file.filename}")
        problems += [
            f"{place} reports driver version {version}, {wanted.words}"
            for place, version in self._port_versions().items()
            if version is None or wanted.read(version) != wanted.version
        ]
        fail_with(problems)

    # --- how

    @property
    def _subject(self) -> str:
        return f"{self.role.value} {self.keeps}"

    @property
    def _of_boot(self) -> str:
        return f"{self._subject} at boot"

    def _keep_for_undo(self) -> None:
        """The undo of the first change brings package and driver back, whatever is changed after it."""
        package, target = self.entry, self.server
        target.require_lease()
        if self._subject in [entry.subject for entry in self.run.journal.pending()]:
            return
        before = target.host.drivers.package(package.name)
        command = target.host.undo.package(package.name, before, self.driver.module)
        what = f"package {package.name} was {'not installed' if before is None else before.version} and is changed"
        self._keep(self._subject, what, command)

    def _keep(self, subject: str, what: str, command: str) -> None:
        """Write the undo of the first change of a subject into the journal."""
        self.server.require_lease()
        if subject not in [entry.subject for entry in self.run.journal.pending()]:
            undo = Action(ActionKind.SHELL, self.server.name, command, SLOW_DEADLINE_S)
            self.run.journal.register(subject, what, undo)

    def _built(self) -> Sequence[str]:
        """Files of the builds of the package by DKMS."""
        host, name = self.server.host, self.entry.name
        return host.builds.files(host.builds.sources(name)) if host.drivers.package(name) is not None else ()

    def _write_out(self) -> None:
        """Write to disk what was changed: a power cycle may come next, and cuts the power at once."""
        self.server.run("sync", timeout_s=SLOW_DEADLINE_S)

    def _require_sound(self, wanted: str, other: str, is_wanted: Callable[[Installed], bool]) -> None:
        """Check the package that is there; ``other`` says which version is expected in place of a wrong one.

        Raises:
            CardFailure: There is none, or something is wrong with it.
            Undecided: A file of it was changed, and nothing else is wrong: nobody knows by whom.
        """
        target, package, sheet = self.server, self.entry, self.run.card.name
        found, problems = target.host.drivers.package(package.name), list[str]()
        if found is None:
            raise CardFailure(
                f"{target.name}: package {package.name} is not installed; expected {wanted} (sheet {sheet})"
            )
        if not found.complete:
            problems.append(f"{target.name}: package {found.name} is {found.status}; expected installed")
        if package.architecture is not None and found.architecture != package.architecture:
            expected = f"{package.architecture} (sheet {sheet})"
            problems.append(f"{target.name}: package {found.name} is of {found.architecture}; expected {expected}")
        problems += self._signature()
        changed = self._changed_files() if found.complete else []
        changed = [each for each in changed if not (each.is_missing and each.file.startswith(_LEFT_OUT))]
        problems += [
            f"{target.name}: {each.file} of package {found.name} is missing" for each in changed if each.is_missing
        ]
        with proven_first(lambda: problems):  # a version may be none that can be compared
            if not is_wanted(found):
                expected = f"{other} (sheet {sheet})"
                problems.append(f"{target.name}: package {found.name} is {found.version}; expected {expected}")
        fail_with(problems)
        if changed:
            names = ", ".join(each.file for each in changed)
            raise Undecided(f"{target.name}: package {found.name}: {names}: not as it was packed")

    def _changed_files(self) -> Sequence[ChangedFile]:
        try:
            return self.server.host.drivers.changed_files(self.entry.name)
        except NotApplicable:
            return ()

    def _signature(self) -> list[str]:
        package = self.entry
        if package.signed_by is None:
            return []
        try:
            signer = self.server.host.drivers.package_signer(package.name)
        except NotApplicable:
            return []
        if signer is not None and signer.endswith(package.signed_by):
            return []
        shown = "not signed" if signer is None else f"signed by {signer}"
        expected = f"key {package.signed_by} (sheet {self.run.card.name})"
        return [f"{self.server.name}: package {package.name} is {shown}; expected {expected}"]

    def _of_kernel(self, file: ModuleFile) -> list[str]:
        """Say whether the module that is loaded next is the kernel's own: the package has no effect then."""
        is_own = self.server.host.drivers.is_own_module(file)
        where = f"{file.filename}, the kernel's own" if file.filename is not None else "part of the kernel"
        expected = f"that of package {self.entry.name}"
        return [f"{self.server.name}: module {self.driver.module} is {where}; expected {expected}"] if is_own else []

    def _other_build(self, loaded: LoadedModule | None, on_disk: ModuleFile) -> list[str]:
        """Say whether the module in memory is of another build than its file, where the system can tell."""
        try:
            is_same_build = self.server.host.drivers.is_build_on_disk(self.driver.module)
        except NotApplicable:
            return []
        difference = difference_in_memory(loaded, on_disk, is_same_build)
        return [f"{self.server.name}: {difference}"] if difference else []

    def _other_versions(self, loaded: LoadedModule | None, say: Say) -> tuple[list[str], list[str]]:
        """Return what has a version that the sheet does not want of the driver, and whose cannot be compared."""
        driver, target, card = self.driver, self.server, self.run.card
        lists = card.section(driver.version, f"versions of driver {driver.module}")
        found = {f"{target.name}: the module in memory": loaded.version if loaded else None, **self._port_versions()}
        say(f"{target.name}: {found}")
        problems, doubts = list[str](), list[str]()
        for what, version in found.items():
            try:
                if version is None or lists.verdict(version) not in _WANTED:
                    expected = f"another of driver {driver.module} (sheet {card.name})"
                    problems.append(f"{what} has version {version}; expected {expected}")
            except Undecided as error:
                doubts.append(f"{what}: {error}")
        return problems, doubts

    def _port_versions(self) -> dict[str, str | None]:
        target = self.server
        return {
            port.place: target.host.drivers.driver_info(target.interface(port)).version
            for port in self.run.ports(self.role)
        }
