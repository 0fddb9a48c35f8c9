"""A qualification run: it owns the bench from acquiring to releasing it.

:func:`acquire` is the only way in, and :func:`release` the only way out; between them :func:`current` is the run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar, cast

from niclab.bench.bench_commands import Controller
from niclab.bench.bench_file import load_bench
from niclab.bench.records import Bench, OperatingSystem, Port, Role
from niclab.card import Card
from niclab.card.driver_choice import AS_FOUND, DriverChoice
from niclab.core.parallel import side_by_side
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import waiting
from niclab.files.mask import MessageMask
from niclab.files.secrets import Secrets
from niclab.hosts.host_records import Interface
from niclab.report.evidence.evidence import EvidenceStore
from niclab.report.evidence.runfolder import is_continued
from niclab.run.acquiring.bring_up import bring_up, stops_servers
from niclab.run.acquiring.leases import give_leases_back_quietly
from niclab.run.acquiring.recover import ensure_ready
from niclab.run.acquiring.whole_card import require_whole_card
from niclab.run.bench_servers import BenchServers
from niclab.run.run_notes import RunNotes
from niclab.run.server import Server
from niclab.run.undoing import UndoExecutor
from niclab.stats import measurements
from niclab.switch.connect import connect, require_open
from niclab.switch.switch import Switch, Uptime
from niclab.transports.bmc.bmc import PowerState

T = TypeVar("T")

_CURRENT: list[Run] = []


def current() -> Run:
    """Return the current run.

    Raises:
        BenchFault: No bench is acquired.
    """
    run = acquired()
    if run is None:
        raise BenchFault("no bench is acquired: run 'robot suites/', or a part of it as 'robot --suite NAME suites/'")
    return run


def acquired() -> Run | None:
    """Return the current run, or None where no bench is acquired."""
    return _CURRENT[-1] if _CURRENT else None


class Run:
    """One bench with its two servers, its journal, and the run's evidence.

    Args:
        bench: The bench, as its file describes it.
        card: The card under test.
        run_dir: Folder of the run; evidence goes to ``evidence/`` in it.
        current_test: Returns the name of the running test, for the evidence.
        driver: The driver that is qualified.
    """

    def __init__(
        self,
        bench: Bench,
        card: Card,
        run_dir: Path,
        current_test: Callable[[], str | None],
        driver: DriverChoice = AS_FOUND,
    ) -> None:
        self.bench, self.card, self.run_dir = bench.with_card(card.name), card, run_dir
        self.described = self.bench
        """The bench with its cables as the file has them; ``bench`` has them as they lie."""
        self.driver_choice = driver
        self.secrets = Secrets(bench.secrets_file)
        self.journal = Journal.for_bench(bench.name, run_dir.name, MessageMask(lambda: self.secrets.handed_out))
        self.journal.folder = run_dir
        self.controller = Controller(bench.command_variables, self.journal.lock)
        self.evidence_folder = run_dir / "evidence"
        self.notes = RunNotes(self.evidence_folder)
        self._current_test = current_test
        self._stack = contextlib.ExitStack()
        self.ending = contextlib.ExitStack()
        """Ends what parts of the run keep running on the servers; closed before anything is undone."""
        self.bench_servers = BenchServers(self.bench, self.secrets, self.journal, self.notes)
        self.undoing = UndoExecutor(
            self.bench, self.journal, self.controller, self.bench_servers, lambda: self.switch, self._driver_module
        )
        self.journal.gone = self.undoing.gone
        self.switch_uptime: Uptime | None = None
        """Uptime of the switch when the bench was acquired."""
        self._parts: dict[object, object] = {}
        self._loaded: dict[Role, tuple[str, str]] = {}  # role -> module loaded by the lab, boot id then
        self.interfaces: dict[Port, str] = {}
        """Port -> name of its interface, as found when the ports were prepared."""

    def note_loaded(self, role: Role, module: str) -> None:
        """Remember that the lab had to load a driver module, which ought to have been loaded since the server's boot.

        Args:
            role: The server.
            module: Name of the driver module.
        """
        self._loaded[role] = (module, self.server(role).host.system.boot_id())

    def was_loaded_by_lab(self, role: Role, module: str) -> bool:
        """Tell whether the lab had to load a driver module since the server's last boot.

        Args:
            role: The server.
            module: Name of the driver module.
        """
        return role in self._loaded and self._loaded[role] == (module, self.server(role).host.system.boot_id())

    def part(self, kind: Callable[[Run], T]) -> T:
        """Return the part of this run that ``kind`` makes: the same object at every call, made at the first.

        A part remembers what one subject needs between two keywords, like the bonds that exist or the links that are
        down. Parts know the run; the run knows no part, so that packages import one way.

        Args:
            kind: Class of the part; its constructor takes the run.

        Returns:
            The part.
        """
        if kind not in self._parts:
            self._parts[kind] = kind(self)
        return cast(T, self._parts[kind])

    @property
    def current_test(self) -> str | None:
        """Name of the running test; None between tests."""
        return self._current_test()

    @property
    def evidence(self) -> EvidenceStore:
        """The store for files of the run; secrets known by now are masked."""
        return EvidenceStore(self.evidence_folder, self.secrets.handed_out, self._current_test)

    @property
    def servers(self) -> dict[Role, Server]:
        """Both servers; none before the bench is acquired."""
        return self.bench_servers.by_role

    def server(self, role: Role | str) -> Server:
        """Return the server that plays a role.

        Args:
            role: ``dut`` or ``peer``.
        """
        return self.servers[Role(role)]

    def server_of(self, port: Port) -> Server:
        """Return the server that a port is in.

        Args:
            port: A port of the bench.
        """
        return self.servers[port.role]

    @cached_property
    def switch(self) -> Switch:
        """The managed switch.

        Raises:
            NotApplicable: The bench has none.
        """
        if self.bench.switch is None:
            raise NotApplicable(f"bench {self.bench.name} has no managed switch")
        return connect(self.bench.switch, self.secrets)

    def ports(self, role: Role) -> list[Port]:
        """Return the ports of one server, in the order of the bench file.

        Args:
            role: The server.
        """
        return [port for port in self.bench.ports if port.role is role]

    # --- acquiring and releasing

    def open(self) -> None:
        """Lock the bench, undo what a killed run left, bring the bench up if it is down, connect to both servers.

        The lock is that of the journal, and a lease on each server.

        Raises:
            BenchFault: The bench is in use, cannot be restored, or a server cannot be reached or recovered.
        """
        self._stack.enter_context(self.journal.hold())
        self._stack.enter_context(self.notes.of_waits())
        try:
            if self.bench.commands is not None or self.journal.pending():
                self.undoing.lease_what_runs()
            self.undoing.undo_pending()
            self._reach_servers()
            self._meet_switch()
            self._recover_servers()
            self._read_card_for_driver()
        except BaseException:
            with self._stack:
                give_leases_back_quietly(self.servers.values())
                self.bench_servers.close()
            raise

    def _reach_servers(self) -> None:
        """Bring the bench up and connect; what another controller has left shows only then, and is undone."""
        self._undo_others(self._bring_up())

    def _recover_servers(self) -> None:
        """Make both servers answer; what another controller has left on a silent one shows only then, and is undone."""
        for server in self.servers.values():
            if server.description.bmc is not None and server.bmc.power_status() is PowerState.OFF:
                undo = Action(ActionKind.POWER, server.name, "off")
                self.journal.register(server.name, "was off and is powered on", undo)
        own = {entry.id for entry in self.journal.pending() if not entry.is_elsewhere}
        ensure_ready(self.servers.values())
        if self._undo_others(own):
            self._recover_servers()

    def _undo_others(self, own: set[str]) -> bool:
        """Undo what is not the run's ``own``; return whether the servers were stopped for it and brought up again."""
        others = [entry for entry in self.journal.pending() if entry.id not in own and not entry.is_elsewhere]
        if any(stops_servers(self.bench, entry.action) for entry in others):
            self.undoing.undo_everything()
            self._bring_up()
            return True
        if others:
            self.undoing.undo_everything(leaving=own)
        return False

    def _bring_up(self) -> set[str]:
        """Bring the bench up and connect; return the ids of the changes for it."""
        bring_up(self.bench, self.card.name, self.journal, self.controller, self.notes)
        own = {entry.id for entry in self.journal.pending()}
        self.bench_servers.connect()
        return own

    def _driver_module(self, system: OperatingSystem) -> str:
        return self.card.driver(system).module

    def _read_card_for_driver(self) -> None:
        """Take the facts of the sheet that hold for the dut's driver; among kernels those of Linux alone differ."""
        dut = self.server(Role.DUT)
        if dut.description.os is OperatingSystem.LINUX:
            self.card = self.card.of_kernel(dut.host.system.kernel())
        self.card = self.card.of_system(dut.description.os)

    def _meet_switch(self) -> None:
        """Require that every switch port of the bench file is open; those that a killed run had shut are by now.

        Raises:
            BenchFault: One is shut: someone else has done it, and may want it so.
        """
        if self.bench.switch is not None:
            require_open(self.switch, self.bench.switch)
            self.switch_uptime = self.switch.uptime()

    def release(self, last_look: Callable[[Run], object] | None = None) -> None:
        """Undo every change, give the leases back, close every connection, and unlock the bench.

        Args:
            last_look: Is called when all is undone on the servers, before the bench may switch them off.

        Raises:
            BenchFault: Something could not be undone; it stays in the journal for the next run. Or the last look found
                a fault.
        """
        with contextlib.ExitStack() as ending:
            ending.callback(self._stack.close)
            ending.callback(self.bench_servers.close)
            ending.callback(self._undo_and_give_back, None if last_look is None else partial(last_look, self))
            self.ending.close()

    def _undo_and_give_back(self, last_look: Callable[[], object] | None) -> None:
        try:
            self.undoing.undo_everything(last_look)
        except BaseException:
            give_leases_back_quietly(self.servers.values())
            raise
        finally:
            self.bench_servers.look_before_leaving(self.servers.values(), is_last=True)
        self.bench_servers.give_leases_back()

    def undo(self, action: Action) -> None:
        """Carry out one undo action of the journal.

        Args:
            action: The action.

        Raises:
            BenchFault: It fails.
        """
        self.undoing.carry_out(action)

    # --- ports

    def interface(self, port: Port) -> str:
        """Return the name of the port's interface, as it was when the ports were prepared: no question to the server.

        Args:
            port: A port of the bench.

        Raises:
            BenchFault: The port has not been prepared, and has no interface.
        """
        return self.interfaces.get(port) or self.server_of(port).interface(port)

    def shown(self, ports: Sequence[Port]) -> dict[Port, Interface]:
        """Return the interfaces of ports as they are now; each server is asked once.

        Args:
            ports: The ports.

        Raises:
            BenchFault: A server does not answer, or an interface is not there.
        """
        names = {port: self.interface(port) for port in ports}

        def ask(role: Role) -> tuple[Interface, ...]:
            mine = [names[port] for port in ports if port.role is role]
            return self.servers[role].host.links.interfaces(mine) if mine else ()

        found = {
            role: {one.name: one for one in shown} for role, shown in zip(Role, side_by_side(ask, Role), strict=True)
        }
        return {port: found[port.role][names[port]] for port in ports}

    def carrier(self, port: Port) -> bool:
        """Return whether a port has a link.

        Args:
            port: A port of the bench.
        """
        return not self.without_carrier([port])

    def without_carrier(self, ports: Sequence[Port]) -> list[Port]:
        """Return the ports that have no link.

        Args:
            ports: The ports, at which both servers look at once.
        """
        return self.await_carrier(ports, up=True, within_s=0)

    def await_carrier(self, ports: Sequence[Port], *, up: bool, within_s: float) -> list[Port]:
        """Wait until ports have a link, or none; each server waits for its own.

        Args:
            ports: The ports.
            up: True for a link, False for none.
            within_s: Deadline in seconds; 0 for one look.

        Returns:
            The ports that are otherwise in the end.
        """
        names = {port: self.interface(port) for port in ports}

        def late(role: Role) -> tuple[str, ...]:
            mine = [names[port] for port in ports if port.role is role]
            return self.servers[role].host.links.await_carriers(mine, up, within_s) if mine else ()

        with waiting("carrier") if within_s else contextlib.nullcontext():
            found = dict(zip(Role, side_by_side(late, Role), strict=True))
        return [port for port in ports if names[port] in found[port.role]]


def acquire(
    bench_file: Path | str,
    card: Card,
    run_dir: Path,
    current_test: Callable[[], str | None],
    systems: Mapping[Role, str] | None = None,
    driver: DriverChoice = AS_FOUND,
) -> Run:
    """Acquire a bench: see :meth:`Run.open`. From then on it is that of the :func:`current` run.

    Args:
        bench_file: The bench file.
        card: The card under test.
        run_dir: Folder of the run.
        current_test: Returns the name of the running test, for the evidence.
        systems: Systems of servers that are to run others than the bench file says, by name.
        driver: The driver that is qualified.

    Returns:
        The run.

    Raises:
        BenchFault: The bench is in use, cannot be made ready, or leaves ports of the card out. Or the sheet has no such
            driver.
    """
    run = Run(load_bench(bench_file).with_systems(systems or {}), card, run_dir, current_test, driver)
    require_whole_card(run.bench, card)
    driver.version(card, run.bench.server(Role.DUT).os)
    if not is_continued(run_dir):
        (run_dir / measurements.FILE).unlink(missing_ok=True)  # of an earlier run into the same folder
    run.open()
    _CURRENT.append(run)
    return run


def release(last_look: Callable[[Run], object] | None = None) -> None:
    """Release the bench of the current run: see :meth:`Run.release`. Does nothing where acquiring it has failed.

    Args:
        last_look: Is called when all is undone on the servers, before the bench may switch them off.

    Raises:
        BenchFault: Something could not be undone, or the last look found a fault.
    """
    if _CURRENT:
        _CURRENT.pop().release(last_look)
