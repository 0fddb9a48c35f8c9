"""A bench taken for a run: made ready, proven, used, put back.

:func:`take` is the only way in, and :meth:`Run.give_back` the only way out; between them :func:`current` is the bench.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

from niclab.bench.records import Bench, OperatingSystem, Port, Role, Wiring, load_bench
from niclab.card import Card
from niclab.core.parallel import side_by_side
from niclab.core.undo import Action, ActionKind, Entry, Journal
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.files.secrets import Secrets
from niclab.files.yaml import REPOSITORY
from niclab.report.evidence import CommandLog, EvidenceStore
from niclab.run.server import ANSWER_WITHIN_S, Server
from niclab.stats import measurements
from niclab.switch.connect import connect, require_open
from niclab.switch.switch import Switch, Uptime
from niclab.switch.undo import carry_out
from niclab.transports.bmc import PowerState

T = TypeVar("T")

COMMAND_WITHIN_S = 900.0
"""A bench's own commands may build an image first."""
_CURRENT: list[Run] = []


def current() -> Run:
    """The bench that is taken.

    :raises BenchFault: when none is.
    """
    if not _CURRENT:
        raise BenchFault("no bench is taken: run 'robot suites/', or a part of it as 'robot --suite NAME suites/'")
    return _CURRENT[-1]


def local_command(command: str, *, within_s: float = COMMAND_WITHIN_S) -> subprocess.CompletedProcess[str]:
    """Run a command of the bench file on the controller, from the repository's root, this Python first on the path.

    :raises BenchFault: when it runs past its deadline or cannot be started.
    """
    path = f"{Path(sys.executable).parent}:{_environment()['PATH']}"
    try:
        return subprocess.run(
            shlex.split(command),
            cwd=REPOSITORY,
            env={**_environment(), "PATH": path},
            capture_output=True,
            text=True,
            timeout=within_s,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchFault(f"controller: {command!r}: {error}") from error


def _environment() -> dict[str, str]:
    return dict(os.environ)


def checked_local_command(command: str, *, within_s: float = COMMAND_WITHIN_S) -> str:
    """Like :func:`local_command`, for a command that must succeed; returns what it printed.

    :raises BenchFault: when it exits with another status than 0; the message holds the end of what it said.
    """
    done = local_command(command, within_s=within_s)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-500:]
        raise BenchFault(f"controller: {command!r} failed with exit status {done.returncode}: {said}")
    return done.stdout


def inserted_cards(command: str) -> dict[str, str]:
    """The cards that the bench's command ``inserted`` names, or the operating systems of ``systems``: role -> name.

    :raises BenchFault: when it fails, or prints something else than one line for each role.
    """
    text = checked_local_command(command)
    rows = [line.split() for line in text.splitlines()]
    roles = [role.value for role in Role]
    if [row[0] for row in rows if len(row) == 2] != roles or len(rows) != len(roles):
        raise BenchFault(f"controller: {command!r} printed {text[:200]!r}, wanted lines 'dut NAME' and 'peer NAME'")
    return {row[0]: row[1] for row in rows}


def cards_in_words(cards: dict[str, str]) -> str:
    """``dut NAME, peer NAME``, as messages say it."""
    return ", ".join(f"{role} {name}" for role, name in cards.items())


class Run:
    """One bench with its two servers, its journal, and the run's evidence.

    :param run_dir: the folder of the run; evidence goes to ``evidence/`` in it.
    :param current_test: tells the name of the running test, for the evidence.
    """

    def __init__(self, bench: Bench, card: Card, run_dir: Path, current_test: Callable[[], str | None]) -> None:
        self.bench, self.card, self.run_dir = bench.with_card(card.name), card, run_dir
        self.described = self.bench
        """The bench with its cables as the file has them; ``bench`` has them as they lie."""
        self.secrets = Secrets(bench.secrets_file)
        self.journal = Journal.for_bench(bench.name, run_dir.name)
        self.evidence_folder = run_dir / "evidence"
        self._current_test = current_test
        self._stack = contextlib.ExitStack()
        self.servers: dict[Role, Server] = {}
        self._interfaces: dict[Port, str] = {}
        self.switch_uptime: Uptime | None = None
        """How long the switch ran when the bench was taken."""
        self._parts: dict[object, object] = {}
        self._loaded: dict[Role, tuple[str, str]] = {}  # role -> module loaded by the lab, boot id then
        self._prepared: dict[Role, tuple[str, str]] = {}  # role -> the command that shows its state, and what it showed

    def note_loaded(self, role: Role, module: str) -> None:
        """Remember that the lab had to load a driver module, which ought to have been loaded since the server's boot.

        Args:
            role: The server.
            module: Name of the driver module.
        """
        self._loaded[role] = (module, self.server(role).host.boot_id())

    def was_loaded_by_lab(self, role: Role, module: str) -> bool:
        """Tell whether the lab had to load a driver module since the server's last boot.

        Args:
            role: The server.
            module: Name of the driver module.
        """
        return role in self._loaded and self._loaded[role] == (module, self.server(role).host.boot_id())

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
    def evidence(self) -> EvidenceStore:
        """Where files of the run are kept; secrets known by now are masked."""
        return EvidenceStore(self.evidence_folder, self.secrets.handed_out, self._current_test)

    def server(self, role: Role | str) -> Server:
        """The server that plays ``role`` (``dut`` or ``peer``)."""
        return self.servers[Role(role)]

    def server_of(self, port: Port) -> Server:
        return self.servers[port.role]

    @cached_property
    def switch(self) -> Switch:
        """The managed switch.

        :raises NotApplicable: when the bench has none.
        """
        if self.bench.switch is None:
            raise NotApplicable(f"bench {self.bench.name} has no managed switch")
        return connect(self.bench.switch, self.secrets)

    def ports(self, role: Role) -> list[Port]:
        """The ports of one server, in the order of the bench file."""
        return [port for port in self.bench.ports if port.role is role]

    # --- taking and giving back

    def open(self) -> None:
        """Lock the bench, undo what a killed run left, bring the bench up if it is down, connect to both servers.

        :raises BenchFault: when the bench is in use, cannot be restored, or a server cannot be reached or recovered.
        """
        self._stack.enter_context(self.journal.hold())
        try:
            self.restore()
            self._bring_up()
            self._connect()
            self._meet_switch()
            for server in self.servers.values():
                if server.description.bmc is not None and server.bmc.power_status() is PowerState.OFF:
                    undo = Action(ActionKind.POWER, server.name, "off")
                    self.journal.register(server.name, "was off and is powered on", undo)
            self.ensure_ready()
        except BaseException:
            with self._stack:
                self.close_servers()
            raise

    def restore(self) -> list[Entry]:
        """Undo everything that is pending in the journal; return what was undone.

        :raises BenchFault: when something could not be undone; all the rest has been.
        """
        if not self.journal.pending():
            return []
        if self.bench.commands and local_command(self.bench.commands.status).returncode:
            checked_local_command(self.bench.commands.up)  # what is to be undone is on servers that must run for it
        first = self.journal.undo_all(self.undo, kind=ActionKind.SWITCH)  # what fails is tried again, and told, below
        self._connect()
        try:
            return [*first.done, *self._undo_everything()]
        finally:
            self.close_servers()

    def _insert_card(self) -> None:
        """Put the card in where the bench can do that; the cards that were in come back at the end."""
        commands = self.bench.commands
        if commands is not None and commands.inserted is not None:
            wanted = dict.fromkeys((role.value for role in Role), self.card.name)
            self._change_servers(commands.inserted, commands.insert_command, wanted, f"gets {self.card.name}")

    def _boot_systems(self) -> None:
        """Boot the operating systems that the servers are to have; what they had comes back at the end."""
        commands = self.bench.commands
        if commands is not None and commands.systems is not None:
            wanted = {role.value: self.bench.server(role).os.value for role in Role}
            self._change_servers(commands.systems, commands.boot_command, wanted, f"boots {cards_in_words(wanted)}")

    def _change_servers(
        self, showing: str, changing: Callable[[dict[str, str]], str | None], wanted: dict[str, str], news: str
    ) -> None:
        """Give the servers what is ``wanted`` (role -> name), by the bench's commands that show and change it."""
        found = inserted_cards(showing)
        back, there = changing(found), changing(wanted)
        if found == wanted or back is None or there is None:
            return
        what = f"{self.bench.name} had {cards_in_words(found)} and {news}"
        self.journal.register("bench", what, Action(ActionKind.LOCAL, "controller", back))
        checked_local_command(there)

    def _bring_up(self) -> None:
        self._insert_card()
        self._boot_systems()
        commands = self.bench.commands
        if commands is None or local_command(commands.status).returncode == 0:
            return
        undo = Action(ActionKind.LOCAL, "controller", commands.down)
        self.journal.register("bench", f"{self.bench.name} was down and is brought up", undo)
        checked_local_command(commands.up)

    def _connect(self) -> None:
        """Make both servers reachable; from now on their consoles and the commands they get are logged."""
        secrets = [self.secrets.get(name) for name in self.bench.secret_names]  # all of them, so that all are masked
        self.servers = {role: Server(self.bench, role, self.secrets, self.evidence_folder) for role in Role}
        for server in self.servers.values():
            server.ssh.on_result = CommandLog(self.evidence_folder, server.name, secrets)
            if server.description.console is not None:
                server.start_console_log()

    def _meet_switch(self) -> None:
        """Every port that the bench file names is open; one that a killed run had shut has been opened by now.

        :raises BenchFault: when one is shut all the same: someone else has done it, and may want it so.
        """
        if self.bench.switch is not None:
            require_open(self.switch, self.bench.switch)
            self.switch_uptime = self.switch.uptime()

    def ensure_ready(self) -> list[str]:
        """Make sure that both servers answer; recover those that do not. Returns the names of recovered servers.

        :raises BenchFault: when one cannot be recovered.
        """
        servers = list(self.servers.values())
        lost = [
            server
            for server, answered in zip(servers, side_by_side(Server.answers, servers), strict=True)
            if not answered
        ]
        side_by_side(Server.recover, lost)
        return [server.name for server in lost]

    def undo(self, action: Action) -> None:
        """Carry out one undo action of the journal.

        :raises BenchFault: when it fails.
        """
        match action.kind:
            case ActionKind.SHELL:
                self.server(action.where).run(action.command)
            case ActionKind.LOCAL:
                if self._takes_servers_away(action.command):
                    self.close_servers()
                checked_local_command(action.command)
            case ActionKind.POWER:
                server = self.server(action.where)
                server.bmc.set_power(PowerState(action.command), within_s=60)
                if action.command == "on":
                    server.wait_ready()
            case ActionKind.SWITCH:
                carry_out(self.switch, action.command)

    def _takes_servers_away(self, command: str) -> bool:
        """Is it one of the bench's commands that switch servers off?"""
        commands = self.bench.commands
        if commands is None:
            return False
        changing = [text.partition("{")[0] for text in (commands.insert, commands.boot_systems) if text is not None]
        return any(command.startswith(text) for text in changing) or command == commands.down

    def give_back(self) -> None:
        """Undo every change, close every connection, release the bench.

        :raises BenchFault: listing what could not be undone; it stays in the journal for the next run.
        """
        with contextlib.ExitStack() as ending:
            ending.callback(self._stack.close)
            ending.callback(self.close_servers)
            self._undo_everything()

    def _undo_everything(self) -> list[Entry]:
        """Undo what is pending, on servers that answer if they can be made to; returns what was undone.

        :raises BenchFault: when a server stays away or something could not be undone; all the rest has been.
        """
        problems = []
        first = self.journal.undo_all(self.undo, kind=ActionKind.SWITCH)  # a server may be behind a port that is shut
        try:
            self.ensure_ready()
        except BenchFault as error:
            problems.append(str(error))  # the other server and the bench are put back all the same
        report = self.journal.undo_all(self.undo)
        try:
            report.raise_if_failed()
        except BenchFault as error:
            problems.append(str(error))
        if problems:
            raise BenchFault("\n".join(problems))
        return [*first.done, *report.done]

    def close_servers(self) -> None:
        """Close every connection, also when closing one of them fails."""
        with contextlib.ExitStack() as ending:
            for server in self.servers.values():
                ending.callback(server.close)

    # --- test ports

    def prepared(self) -> bool:
        """Are both servers as :meth:`prepare_links` left them: same boot, same ports, up, with their addresses?

        One command on each server, side by side; False also when one does not answer.
        """

        def same(role: Role) -> bool:
            command, before = self._prepared[role]
            try:
                return self.servers[role].ssh.run(command, timeout_s=ANSWER_WITHIN_S).stdout == before
            except BenchFault:
                return False

        return len(self._prepared) == len(Role) and all(side_by_side(same, Role))

    def prepare_links(self) -> None:
        """Every port of every path up and with its address; what is so already is left alone. Undone at the end.

        Does not wait for carrier: that is a test's business.
        """
        ports = [port for path in self.bench.paths for port in map(self.bench.port, path.ends)]
        interfaces = side_by_side(self._prepare_link, ports)
        self._interfaces = dict(zip(ports, interfaces, strict=True))
        for role in Role:
            mine = [iface for port, iface in zip(ports, interfaces, strict=True) if port.role is role]
            command = self.servers[role].host.showing_links(mine)
            self._prepared[role] = (command, self.servers[role].run(command).stdout)

    def _prepare_link(self, port: Port) -> str:
        server = self.server_of(port)
        iface = server.interface(port)
        before = server.host.interface(iface)
        address = self.bench.address(port)
        if not before.admin_up:
            undo = Action(ActionKind.SHELL, server.name, server.host.restoring_link(iface, up=False))
            self._register_once(port.name, f"{iface} was down and is set up", undo)
            server.host.set_link(iface, True)
        if str(address.ip) not in [entry.address for entry in before.addresses]:
            command = server.host.removing_address(iface, str(address))
            undo = Action(ActionKind.SHELL, server.name, command)
            self._register_once(port.name, f"{iface} gets address {address}", undo)
            server.host.add_address(iface, str(address))
        if self.bench.path_of(port).through is Wiring.SWITCH:
            self._let_answer_alone(port, iface)
        return iface

    def _let_answer_alone(self, port: Port, iface: str) -> None:
        """On a switch every port hears who is asked for; only the one that is meant may answer, or paths get mixed."""
        server = self.server_of(port)
        if server.host.answers_arp_for_others(iface):
            undo = Action(ActionKind.SHELL, server.name, server.host.answering_arp_for_others(iface, True))
            self._register_once(port.name, f"{iface} answers ARP for its own address alone", undo)
            server.run(server.host.answering_arp_for_others(iface, False))

    def _register_once(self, subject: str, what: str, undo: Action) -> None:
        """Register a change, unless its very undo is pending already (made again after a server's restart)."""
        if undo not in [entry.action for entry in self.journal.pending()]:
            self.journal.register(subject, what, undo)

    def interface(self, port: Port) -> str:
        """Name of the port's interface, as :meth:`prepare_links` has found it; no question where time counts."""
        return self._interfaces.get(port) or self.server_of(port).interface(port)

    def carrier(self, port: Port) -> bool:
        """Has the port a link?"""
        return bool(self.server_of(port).host.interface(self.interface(port)).carrier)

    def without_carrier(self, ports: list[Port]) -> list[Port]:
        """Those of ``ports`` that have no link; all are asked side by side."""
        return [port for port, up in zip(ports, side_by_side(self.carrier, ports), strict=True) if not up]


def take(
    bench_file: Path | str,
    card: Card,
    run_dir: Path,
    current_test: Callable[[], str | None],
    systems: Mapping[Role, OperatingSystem] | None = None,
) -> Run:
    """Take a bench: see :meth:`Run.open`. From then on it is :func:`current`.

    :param systems: operating systems of servers that are to run others than the bench file says.
    """
    run = Run(load_bench(bench_file).with_systems(systems or {}), card, run_dir, current_test)
    (run_dir / measurements.FILE).unlink(missing_ok=True)  # of an earlier run into the same folder
    run.open()
    _CURRENT.append(run)
    return run


def give_back() -> None:
    """Give the current bench back: see :meth:`Run.give_back`. Where taking it has failed there is nothing to give."""
    if _CURRENT:
        _CURRENT.pop().give_back()
