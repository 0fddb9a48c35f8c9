"""The driver on the dut: which one drives the ports, its version, where it came from, and loading it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from niclab.bench.records import OperatingSystem, Port, Role
from niclab.card import Driver, VersionLists, VersionVerdict
from niclab.checks.asked import (
    Say,
    devices,
    driver_infos,
    dut,
    dut_driver,
    dut_system,
    ports_of_other_drivers,
)
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetUnknown, Undecided, fail_with
from niclab.hosts.errors import ModuleRefused
from niclab.hosts.host import Host
from niclab.run.driver_in_use import difference_in_memory, is_missing, is_of_package, package_in_use
from niclab.run.run import Run
from niclab.transports import CommandTimeout, ConnectionLost
from niclab.transports.console.kernel_death import sign_of

RELOAD_DEADLINE_S = 180.0
"""Assumption: a driver that starts its card's firmware takes a minute or two."""


@dataclass(frozen=True)
class KernelVersion:
    """The version that the ports of a driver of the kernel report.

    It is that of the kernel's own module, where it has one, as many had before Linux 5.7 and some have today (vmxnet3:
    1.7.0.0-k); else the kernel's, which ethtool_get_drvinfo() fills in. ``words`` says which.
    """

    version: str
    words: str

    @classmethod
    def asked(cls, host: Host, module: str) -> KernelVersion:
        """Ask a server for that of a module."""
        file = host.drivers.modinfo(module)
        if host.drivers.is_own_module(file) and file.version is not None:
            return cls(file.version, f"the kernel's module has version {file.version}")
        kernel = host.system.kernel()
        return cls(kernel, f"the kernel is {kernel}")

    def read(self, reported: str) -> str:
        """The version in what a port reports: a driver may add how it was built (vmxnet3: 1.7.0.0-k-NAPI)."""
        return self.version if reported.startswith(f"{self.version}-") else reported


def require_driver(run: Run) -> None:
    """Compare the driver bound to every port, by interface and by PCI, with the sheet.

    Raises:
        CardFailure: Another driver drives a port.
    """
    wanted, problems = dut_driver(run).module, []
    names = dut(run).drivers.names_of(wanted)
    for (port, info), (_, device) in zip(driver_infos(run), devices(run), strict=True):
        if not {info.driver, device.driver} <= names:
            found = f"{info.driver} (interface), {device.driver} (PCI)"
            problems.append(f"{port.place} is driven by {found}; expected {wanted} (sheet {run.card.name})")
    fail_with(problems)


def require_version(run: Run) -> None:
    """Judge the driver version that every port reports.

    A driver of the kernel has its :class:`KernelVersion`, unless the sheet's package of it is installed in its place.

    Raises:
        CardFailure: A version is forbidden, or neither required nor allowed.
        NotApplicable: The system's own driver reports none.
        SheetSilent: The sheet says nothing about versions.
        SheetUnknown: It names none.
        Undecided: A port reports no version, or one that cannot be compared.
        BenchFault: The run qualifies the vendor's package, and the kernel's driver is in its place.
    """
    wanted = wanted_versions(run)
    found = [(port, info.version) for port, info in driver_infos(run)]
    judge_versions(run, "driver", found, wanted.lists, wanted.words, wanted.read)


@dataclass(frozen=True)
class WantedVersions:
    """The versions of the driver that may run on the dut.

    Attributes:
        lists: Required, allowed and forbidden versions.
        words: What a wrong one is compared with in a message, where that is not the sheet.
        read: Finds the version in the text that a port reports.
    """

    lists: VersionLists
    words: str = ""
    read: Callable[[str], str] = str


def wanted_versions(run: Run) -> WantedVersions:
    """Return the versions of the driver that may run on the dut, see :func:`require_version`.

    Args:
        run: The run.

    Raises:
        NotApplicable: The system's own driver reports none.
        SheetSilent: The sheet says nothing about versions.
        SheetUnknown: It names none.
        BenchFault: The run qualifies the vendor's package, and the kernel's driver is in its place.
    """
    driver = dut_driver(run)
    package = found.facts if driver.in_kernel and (found := package_in_use(run, Role.DUT)) is not None else None
    if package is None and driver.in_kernel:
        own = _of_kernel(run, driver)
        return WantedVersions(VersionLists(required=(own.version,)), own.words, own.read)
    lists = package if package is not None and not package.module_version_differs else driver.version
    known: VersionLists = run.card.section(lists, "driver versions")
    if not known.is_known:
        raise SheetUnknown(f"sheet {run.card.name} names no driver versions")
    return WantedVersions(known)


def _of_kernel(run: Run, driver: Driver) -> KernelVersion:
    if run.driver_choice.is_package:
        said = f"dut: {driver.module} is the kernel's own"
        raise BenchFault(f"{said}; expected that of the package, which this run qualifies")
    if dut_system(run) is OperatingSystem.FREEBSD:
        raise NotApplicable(f"dut: {driver.module} comes with FreeBSD's kernel, and reports no version of its own")
    return KernelVersion.asked(dut(run), driver.module)


def require_loaded_is_installed(run: Run, say: Say) -> None:
    """Compare the driver in memory with the module file that the next boot will load.

    Args:
        run: The run.
        say: Takes the versions seen.

    Raises:
        CardFailure: They are of different builds, or the driver is not loaded.
        NotApplicable: The driver is part of the kernel.
        Undecided: The driver shows neither build id nor version.
    """
    module, host = dut_driver(run).module, dut(run)
    loaded, installed = host.drivers.loaded_module(module), host.drivers.modinfo(module)
    if loaded is None and installed.built_in:
        raise NotApplicable(f"dut: driver {module} is part of the kernel: no file of it is loaded")
    if loaded is None:
        raise CardFailure(f"dut: driver {module} is not loaded")
    same = host.drivers.is_build_on_disk(module)
    for field in ("srcversion", "version"):
        say(f"{field}: {getattr(loaded, field)} loaded, {getattr(installed, field)} installed")
    if difference := difference_in_memory(loaded, installed, same):
        raise CardFailure(f"dut: {difference}")
    if same is None and loaded.srcversion is None and loaded.version is None:
        raise Undecided(f"dut: driver {module} tells neither build id nor source version nor version")


def require_loaded(run: Run) -> None:
    """Look for the driver in memory and at every port, as the last boot of the dut left them.

    Raises:
        CardFailure: It is not loaded, the lab had to load it, or a port has another driver.
    """
    module, host = dut_driver(run).module, dut(run)
    if is_missing(host, module) or run.was_loaded_by_lab(Role.DUT, module):
        raise CardFailure(f"dut: driver {module} is not loaded after boot; expected it at boot (sheet {run.card.name})")
    fail_with(ports_of_other_drivers(run, module, " after boot"))


def require_own_of_system(run: Run) -> None:
    """Check that the driver came with the system, drives every port, and nothing had to install or load it (CHE-03).

    Raises:
        CardFailure: The module is not the system's own, is not loaded, had to be loaded by the lab, or does not drive
            a port.
        NotApplicable: The sheet names a package of it, or no driver that comes with the system.
    """
    driver, system = dut_driver(run), dut_system(run).value
    if not driver.in_kernel or driver.package is not None:
        what = "a package of" if driver.package is not None else "no driver that comes with the system apart from"
        raise NotApplicable(f"sheet {run.card.name} names {what} {driver.module} for {system}")
    host = dut(run)
    file, problems = host.drivers.modinfo(driver.module), list[str]()
    if not host.drivers.is_own_module(file):
        problems.append(f"dut: module {driver.module} is {file.place}; expected the system's own")
    unloaded = is_missing(host, driver.module)
    if unloaded or run.was_loaded_by_lab(Role.DUT, driver.module):
        said = "is not loaded" if unloaded else "was not loaded after boot until the lab loaded it"
        fail_with([*problems, f"dut: driver {driver.module} {said}; expected no step for that (sheet {run.card.name})"])
    fail_with([*problems, *ports_of_other_drivers(run, driver.module)])


def reload(run: Run, role: Role) -> None:
    """Unload the driver of a server and load it again. Links and addresses are lost.

    Args:
        run: The run.
        role: The server.

    Raises:
        CardFailure: Loading the dut's driver makes the kernel complain or stop, or the kernel takes no module of the
            sheet's package.
        BenchFault: The driver cannot be loaded again, and the kernel does not blame it; or the kernel does not know the
            key of its signature.
        Undecided: The kernel takes no module that DKMS has built.
    """
    target = run.server(role)
    module = run.card.driver(target.description.os).module
    undo = Action(ActionKind.SHELL, target.name, target.host.undo.load_driver(module), RELOAD_DEADLINE_S)
    entry = run.journal.register(target.name, f"driver {module} is unloaded", undo)
    mark = target.host.system.dmesg_mark()
    target.require_lease()
    try:
        target.host.drivers.reload(module)
    except (ConnectionLost, CommandTimeout):
        raise
    except ModuleRefused as error:
        _judge_refusal(run, role, error)
    except BenchFault as error:
        words = [line.text for line in target.host.system.dmesg_since(mark) if sign_of(line.text)]
        if role is not Role.DUT or not words:
            raise
        said = f"{error}; the kernel said: {'; '.join(words)}"
        raise CardFailure(f"dut: driver {module} cannot be loaded again: {said}") from error
    run.journal.done(entry)


def _judge_refusal(run: Run, role: Role, error: ModuleRefused) -> NoReturn:
    """Say who is at fault for a module that the kernel refuses: a key that the server does not know is the server's.

    A module that DKMS has built is signed by the server, and of the headers that the server has.
    """
    server = run.server(role)
    driver = run.card.driver(server.description.os)
    file = server.host.drivers.modinfo(driver.module)
    if driver.package is None or not is_of_package(run, role):
        raise error
    subject = f"{server.name}: the kernel does not take module {driver.module} of its package: {error}"
    if server.host.builds.sources(driver.package.name):
        signed = f"signed by {file.signer!r}" if file.signer else "not signed"
        if error.lacks_key:
            expected = "expected DKMS's key known to it (mokutil --import /var/lib/dkms/mok.pub), or no Secure Boot"
            raise BenchFault(f"{subject}; DKMS has built it, {signed}; {expected}") from error
        raise Undecided(
            f"{subject}; DKMS has built it; expected a driver that fits, or headers of this kernel"
        ) from error
    if error.lacks_key and file.signer is not None:
        raise error
    raise CardFailure(subject) from error


def judge_versions(
    run: Run,
    what: str,
    found: Sequence[tuple[Port, str | None]],
    lists: VersionLists,
    wanted: str = "",
    read: Callable[[str], str] = str,
) -> None:
    """Judge every port's version by the sheet's lists. A wrong one counts more than one that cannot be judged.

    Args:
        run: The run.
        what: What the versions are of, for messages.
        found: Ports with the text that each reports.
        lists: Required, allowed and forbidden versions.
        wanted: What a wrong version is compared with in the message, instead of the sheet.
        read: Finds the version in the text that a port reports.

    Raises:
        CardFailure: A version is forbidden, or neither required nor allowed.
        Undecided: A port reports no version, or one that cannot be compared.
    """
    problems, unjudged = [], []
    for port, version in found:
        if version is None:
            unjudged.append(f"{port.place} reports no {what} version")
            continue
        try:
            verdict = lists.verdict(read(version))
        except Undecided as error:
            unjudged.append(f"{port.place}: {what}: {error}")
            continue
        if verdict not in (VersionVerdict.REQUIRED, VersionVerdict.ALLOWED):
            said = "forbids it" if verdict is VersionVerdict.FORBIDDEN else "neither requires nor allows it"
            problems.append(f"{port.place} runs {what} {version}, {wanted or f'sheet {run.card.name} {said}'}")
    fail_with(problems, unjudged)
