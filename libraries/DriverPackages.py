"""The vendor's driver package: installed, upgraded, rolled back, removed, and what runs afterwards."""

from __future__ import annotations

from enum import Enum

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import Role
from niclab.card import Driver, Package, Unknown, VersionVerdict
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, fail_with
from niclab.hosts.settings_records import Package as Installed
from niclab.run.run import current
from niclab.run.server import Server


class Release(Enum):
    """Which version of the sheet's package is meant."""

    REQUIRED = "required"
    PREVIOUS = "previous"


@library(scope="GLOBAL")
class DriverPackages(BenchLibrary):
    """Keywords about the driver package of the dut (or ``server=peer``). Constructing the library connects to nothing.

    The state of the package before the first change is in the journal, and is put back at the end of the run at the
    latest; `Restore The Driver Package` does it at once.
    """

    @keyword
    def install_the_driver_package(self, release: Release, server: Role = Role.DUT) -> None:
        """Install that version of the package over what is there; the driver in memory stays what it is.

        One of another architecture than the sheet's is told at once: its module cannot be loaded.
        """
        target, package = _target(server), _package(server)
        version = _version(package, release)
        self._keep_for_undo(target, server)
        attempt = target.host.install_package(package.name, version)
        if attempt.refused is not None:
            raise CardFailure(f"{target.name}: package {package.name} {version} is not installed: {attempt.refused}")
        found = attempt.now.architecture if attempt.now is not None else None
        if package.architecture is not None and found != package.architecture:  # its module could not even be loaded
            wanted = f"sheet {_sheet()} wants {package.architecture}"
            raise CardFailure(f"{target.name}: package {package.name} {version} is of {found}, {wanted}")

    @keyword
    def remove_the_driver_package(self, server: Role = Role.DUT) -> None:
        """Remove the package and its configuration; the driver in memory stays what it is."""
        target, package = _target(server), _package(server)
        self._keep_for_undo(target, server)
        attempt = target.host.remove_package(package.name)
        if attempt.refused is not None or attempt.now is not None:
            raise CardFailure(f"{target.name}: package {package.name} is not removed: {attempt.refused or attempt.now}")

    @keyword
    def driver_package_should_be_installed(self, release: Release, server: Role = Role.DUT) -> None:
        """The package is there, complete, in that version and the sheet's architecture."""
        target, package = _target(server), _package(server)
        version = _version(package, release)
        found, problems = _installed(target, package, version)
        if found.version != version:
            problems.append(f"{target.name}: package {found.name} is {found.version}, sheet {_sheet()} wants {version}")
        fail_with(problems)

    @keyword
    def package_should_be_as_on_the_sheet(self, server: Role = Role.DUT) -> None:
        """The package is there as it was found, complete, of a version and the architecture that the sheet wants.

        Skips the test where the driver comes with the kernel: then no package needs to be there.
        """
        target, package, driver = _target(server), _package(server), _driver(server)
        if driver.in_kernel:
            raise NotApplicable(f"sheet {_sheet()}: {driver.module} comes with the kernel and needs no package")
        lists = self.run.card.section(package if package.is_known else None, f"versions of package {package.name}")
        found, problems = _installed(target, package, "it")
        if lists.verdict(found.version) not in (VersionVerdict.REQUIRED, VersionVerdict.ALLOWED):
            problems.append(f"{target.name}: package {found.name} is {found.version}, sheet {_sheet()} wants another")
        fail_with(problems)

    @keyword
    def driver_package_should_be_gone(self, server: Role = Role.DUT) -> None:
        """No version of the package is installed."""
        target, package = _target(server), _package(server)
        found = target.host.package(package.name)
        if found is not None:
            raise CardFailure(f"{target.name}: package {found.name} {found.version} is {found.status}, wanted it gone")

    @keyword
    def driver_should_be_of_the_package(self, release: Release, server: Role = Role.DUT) -> None:
        """The module on disk, the module in memory and every port report the package's version.

        Where the sheet says that the module's version differs from its package's, module in memory and ports must
        report one that the sheet wants of the driver.
        """
        target, package, module = _target(server), _package(server), _driver(server).module
        if package.module_version_differs:
            _expect_own_versions(target, server)
            return
        wanted = _version(package, release)
        on_disk, loaded = target.host.modinfo(module), target.host.loaded_module(module)
        found = {"the module on disk": on_disk.version, "the module in memory": loaded.version if loaded else None}
        for port in self.run.ports(server):
            found[f"{port.place}"] = target.host.driver_info(target.interface(port)).version
        logger.info(f"{target.name}: {found}, {on_disk.filename}")
        shown = [f"{target.name}: {what} has version {version}" for what, version in found.items() if version != wanted]
        fail_with([f"{text}, package {package.name} is {wanted}" for text in shown])

    @keyword
    def kernel_should_bring_the_driver(self, server: Role = Role.DUT) -> None:
        """Skips the test where the sheet names no driver that comes with the kernel of that server's system.

        Without one nothing is left to be loaded when the package is removed.
        """
        driver = _driver(server)
        if not driver.in_kernel:
            raise NotApplicable(f"sheet {_sheet()} names no driver {driver.module} that comes with the kernel")

    @keyword
    def driver_should_be_of_the_kernel(self, server: Role = Role.DUT) -> None:
        """Module on disk and in memory are the ones that came with the kernel, and every port reports its version."""
        self.kernel_should_bring_the_driver(server)
        driver, target, problems = _driver(server), _target(server), list[str]()
        kernel, file = target.host.kernel(), target.host.modinfo(driver.module)
        if file.filename is not None and not target.host.is_own_module(file.filename):
            problems.append(f"{target.name}: module {driver.module} is {file.filename}, wanted the kernel's own")
        if target.host.is_build_on_disk(driver.module) is False:
            problems.append(f"{target.name}: module {driver.module} in memory is of another build than {file.filename}")
        for port in self.run.ports(server):
            version = target.host.driver_info(target.interface(port)).version
            if version != kernel:
                problems.append(f"{port.place} reports driver version {version}, the kernel is {kernel}")
        fail_with(problems)

    @keyword
    def restore_the_driver_package(self, server: Role = Role.DUT) -> None:
        """Bring package and driver back to what they were before the first change. Does nothing without one."""
        run, subject = self.run, _subject(server)
        for entry in run.journal.pending():
            if entry.subject == subject:
                run.journal.undo(entry, run.undo)

    @staticmethod
    def _keep_for_undo(target: Server, server: Role) -> None:
        """The undo of the first change brings package and driver back, whatever is changed after it."""
        run, subject = current(), _subject(server)
        if subject in [entry.subject for entry in run.journal.pending()]:
            return
        package, module = _package(server), _driver(server).module
        before = target.host.package(package.name)
        command = target.host.restoring_package(package.name, before, module)
        what = f"package {package.name} was {'not installed' if before is None else before.version} and is changed"
        run.journal.register(subject, what, Action(ActionKind.SHELL, target.name, command))


def _installed(target: Server, package: Package, wanted: str) -> tuple[Installed, list[str]]:
    """The package that is there, and what is wrong with it beside its version.

    :raises CardFailure: when there is none; ``wanted`` says of it what should be.
    """
    found, problems = target.host.package(package.name), list[str]()
    if found is None:
        raise CardFailure(f"{target.name}: package {package.name} is not installed, sheet {_sheet()} wants {wanted}")
    if not found.complete:
        problems.append(f"{target.name}: package {found.name} is {found.status}, wanted installed")
    if package.architecture is not None and found.architecture != package.architecture:
        wish = f"sheet {_sheet()} wants {package.architecture}"
        problems.append(f"{target.name}: package {found.name} is of {found.architecture}, {wish}")
    return found, problems


def _expect_own_versions(target: Server, server: Role) -> None:
    """Module in memory and every port report a version that the sheet requires or allows of the driver.

    :raises NotApplicable: when the sheet names none.
    """
    driver = _driver(server)
    lists = current().card.section(driver.version, f"versions of driver {driver.module}")
    loaded = target.host.loaded_module(driver.module)
    found = {f"{target.name}: the module in memory": loaded.version if loaded else None}
    for port in current().ports(server):
        found[port.place] = target.host.driver_info(target.interface(port)).version
    logger.info(f"{target.name}: {found}")
    wanted = (VersionVerdict.REQUIRED, VersionVerdict.ALLOWED)
    shown = [
        f"{what} has version {version}, sheet {_sheet()} wants another of driver {driver.module}"
        for what, version in found.items()
        if version is None or lists.verdict(version) not in wanted
    ]
    fail_with(shown)


def _subject(server: Role) -> str:
    return f"{server.value} driver package"


def _target(server: Role) -> Server:
    return current().server(server)


def _driver(server: Role) -> Driver:
    return current().card.driver(_target(server).description.os)


def _package(server: Role) -> Package:
    """:raises NotApplicable: when the sheet names none."""
    system = _target(server).description.os
    return current().card.section(_driver(server).package, f"a driver package for {system.value}")


def _version(package: Package, release: Release) -> str:
    """:raises NotApplicable: when the sheet does not name the version."""
    if release is Release.PREVIOUS:
        return current().card.section(package.previous, f"the previous version of package {package.name}")
    required = current().card.known(package.required, f"the required version of package {package.name}")
    if isinstance(required, Unknown) or required[0].startswith((">", "<")):
        raise BenchFault(
            f"sheet {_sheet()}: package {package.name} requires {required}, wanted one exact version first"
        )
    return required[0]


def _sheet() -> str:
    return current().card.name
