"""The driver that a run qualifies: installed on both servers before the first test, and put back at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from niclab.bench.records import Role
from niclab.card.driver_choice import VENDOR, DriverChoice
from niclab.checks.asked import Say
from niclab.checks.driver import reload
from niclab.checks.packages import DriverPackage, has_the_card
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import NoDevice, NoInterface
from niclab.run.driver_in_use import difference_in_memory, driver_in_words, is_inbox
from niclab.run.run import Run
from niclab.run.server import Server

KEEPS = "driver of the run"


class ChosenDriver:
    """Provides the driver that the run qualifies. A part of the run.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._installed: dict[Role, str] = {}
        self._older = frozenset[str]()
        self._in_use: dict[Role, str] = {}

    def provide(self, say: Say) -> None:
        """Install the package that was chosen on both servers, and load its driver; or see that none is in use.

        The peer gets it where it has the same card. Each server's former package, driver and links are in the journal.

        Args:
            say: Takes what is done.

        Raises:
            CardFailure: A package is refused, or its driver cannot be loaded.
            BenchFault: The driver of the operating system was chosen, and another is in its place, or still in memory.
                Or a server cannot be asked, or has a driver that no package can replace.
        """
        choice = self._run.driver_choice
        for role in Role:
            if choice.is_inbox:
                self._require_inbox(role)
            elif choice.is_package and (version := self._version(role, say)):
                self._install(role, version)
                say(f"{role.value}: package {DriverPackage(self._run, role).entry.name} {version} is installed")
                self._set_to_load(role, say)

    def require_in_use(self, say: Say) -> None:
        """Check that the package that was installed is whole, and its driver drives every port.

        Args:
            say: Takes the versions seen.

        Raises:
            CardFailure: It is not whole, or another driver is in use.
        """
        for role, version in self._installed.items():
            package = DriverPackage(self._run, role)
            package.require_installed(version)
            package.require_driver_of_package(version, say)
            self._in_use[role] = self._in_words(role)

    def require_back(self, role: Role) -> None:
        """Check that a server has the driver of the run again, after a test has installed or removed another.

        Args:
            role: The server. One on which the run has installed none is not asked.

        Raises:
            BenchFault: It has another one.
        """
        if role in self._in_use and (now := self._in_words(role)) != self._in_use[role]:
            raise BenchFault(f"{role.value}: driver is {now}; expected {self._in_use[role]}, which this run qualifies")

    def look_before_it_goes(self, look: Callable[[], object]) -> None:
        """Undo what was changed since the driver was installed, and look at it: the end of the run removes it.

        Does nothing where none was installed.

        Args:
            look: Compares the driver with that of the start.

        Raises:
            BenchFault: Something cannot be undone, the look found a fault, or a server has another driver by now.
        """

        def look_at_both() -> None:
            look()
            for role in Role:
                self.require_back(role)

        if self._installed:
            self._run.ending.close()
            self._run.undoing.undo_everything(look_at_both, leaving=self._older)

    @property
    def is_installed(self) -> bool:
        """Has the run installed a driver, so that the end of the run removes it?"""
        return bool(self._installed)

    def _set_to_load(self, role: Role, say: Say) -> None:
        """Have the driver loaded at boot where the sheet asks for that, and nothing does it yet."""
        package, loading = DriverPackage(self._run, role, KEEPS), self._run.server(role).host.loading
        module = package.driver.module
        if package.driver.load_at_boot and not loading.is_set_to_load(module):
            package.set_to_load()
            say(f"{role.value}: driver {module} is set to load at boot")
        self._older = frozenset(entry.id for entry in self._run.journal.pending())

    def _in_words(self, role: Role) -> str:
        """The driver that is loaded next, and the one in memory."""
        loaded = self._run.server(role).host.drivers.loaded_module(DriverPackage(self._run, role).driver.module)
        memory = "none in memory" if loaded is None else f"{loaded.version or loaded.srcversion} in memory"
        return f"{driver_in_words(self._run, role)}, {memory}"

    def _version(self, role: Role, say: Say) -> str:
        """The version for a server; empty for a peer of another card, or whose system has no package on the sheet."""
        run, system = self._run, self._run.server(role).description.os
        if role is Role.DUT:
            return run.driver_choice.version(run.card, system)
        if not has_the_card(run, role):
            say(f"{role.value} has another card; its driver stays as it is")
            return ""
        if system is run.server(Role.DUT).description.os:
            return run.driver_choice.version(run.card, system)
        if run.card.driver(system).package is None:
            say(f"{role.value}: sheet {run.card.name} names no package for {system.value}; its driver stays as it is")
            return ""
        return DriverChoice(VENDOR).version(run.card, system)

    def _require_inbox(self, role: Role) -> None:
        if not is_inbox(self._run, role):
            raise BenchFault(
                f"{role.value}: {driver_in_words(self._run, role)}, is in place of the system's own driver; expected "
                f"it removed, or a run of the package (--driver {VENDOR})"
            )
        server = self._run.server(role)
        drivers = server.host.drivers
        with contextlib.suppress(NotApplicable):  # the sheet names no driver for the system, or the system cannot tell
            module = self._run.card.driver(server.description.os).module
            if not has_the_card(self._run, role):
                return
            is_same_build = drivers.is_build_on_disk(module)
            found = difference_in_memory(drivers.loaded_module(module), drivers.modinfo(module), is_same_build)
            if found:
                raise BenchFault(f"{role.value}: {found}; expected the same: load the driver again, or restart")

    def _install(self, role: Role, version: str) -> None:
        server, package = self._run.server(role), DriverPackage(self._run, role, KEEPS)
        module = package.driver.module
        if _is_built_in(server, module):
            said = f"{role.value}: driver {module} is part of the kernel"
            raise BenchFault(f"{said}; expected a module, in place of which package {package.entry.name} can be loaded")
        server.require_lease()
        for port in self._run.ports(role):
            try:
                command = _link_as_it_is(server, port.pci, server.interface(port))
            except (NoInterface, NoDevice):
                continue  # its driver is not loaded: no link is lost
            what = "its driver is unloaded"
            self._run.journal.register(port.name, what, Action(ActionKind.SHELL, server.name, command))
        package.install(version)
        self._installed[role] = version
        if server.host.drivers.loaded_module(module) is None:
            server.run(server.host.undo.load_driver(module))
        else:
            reload(self._run, role)


def _is_built_in(server: Server, module: str) -> bool:
    with contextlib.suppress(BenchFault):  # the package may bring the first such module
        return bool(server.host.drivers.modinfo(module).built_in)
    return False


def _link_as_it_is(server: Server, address: str, iface: str) -> str:
    """A command that gives a link its present state again, for the journal."""
    try:
        return server.host.undo.driver(address, iface)
    except NotApplicable:
        was = server.host.links.interface(iface)
        return server.host.undo.port(iface, bool(was.admin_up), was.ipv4)
