"""The test ports of a run: up, with their addresses, each change with its undo."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface

from niclab.bench.records import Port, Role, Wiring
from niclab.core.parallel import side_by_side
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.hosts.errors import NoDevice, NoInterface
from niclab.hosts.host_records import Interface
from niclab.run.acquiring.card_start import whose
from niclab.run.run import Run
from niclab.run.server import ANSWER_WITHIN_S, Server

NEWS_FOR_S = 5.0
"""Assumption: what a server has shown between two tests is its state for as long as a keyword of one takes."""


@dataclass(frozen=True)
class _Shown:
    """The last answer of a server about its ports, and what it had been through by then."""

    text: str
    calls: int
    boots_ordered: int
    age: Deadline

    def is_news(self, server: Server) -> bool:
        """Has nothing been asked of the server since, for a moment?"""
        return (self.calls, self.boots_ordered) == (server.ssh.calls, server.boots_ordered) and self.age.left > 0


class PreparedPorts:
    """Prepares the test ports, and remembers how it left them. A part of the run.

    Args:
        run: The run whose ports they are.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._first: dict[Port, Interface] = {}  # as a port was before the run changed it
        self._left: dict[Role, tuple[str, str]] = {}  # role -> the command that shows its state, and what it showed
        self._shown: dict[Role, _Shown] = {}
        self.answered = frozenset[Role]()
        """The servers that :meth:`prepared` has asked, and that answered."""
        self.as_left = frozenset[Role]()
        """The servers that :meth:`prepared` has found as :meth:`prepare` had left them."""
        self.show: Callable[[Role, str], str] = self.show_alone
        """Gets what a command shows on a server; the kernel watch has the kernel's words come with it."""

    def prepared(self) -> bool:
        """Return whether both servers are as :meth:`prepare` left them: same boot, same ports, up, with addresses.

        One command on each server, side by side, unless :meth:`note_shown` has just got the answer; False also when one
        does not answer.
        """

        asked = [role for role in self._left if not self.has_news(role)]

        def ask(role: Role) -> str | None:
            try:
                return self.show(role, self._left[role][0])
            except BenchFault:
                return None

        shown = dict(zip(asked, side_by_side(ask, asked), strict=True))
        self.answered = frozenset(role for role, text in shown.items() if text is not None)
        now = {role: shown[role] if role in shown else self._shown[role].text for role in self._left}
        self.as_left = frozenset(role for role, (_, before) in self._left.items() if now[role] == before)
        return len(self.as_left) == len(Role)

    def showing(self, role: Role) -> str:
        """Return the command that shows what :meth:`prepared` compares, for who asks a server something else as well.

        Args:
            role: The server.

        Returns:
            The command; empty before the ports are prepared.
        """
        return self._left[role][0] if role in self._left else ""

    def note_shown(self, role: Role, text: str) -> None:
        """Take the answer to :meth:`showing`. It is of use until the server is asked anything else, for a moment.

        Args:
            role: The server.
            text: What the command printed.
        """
        server = self._run.servers[role]
        self._shown[role] = _Shown(text, server.ssh.calls, server.boots_ordered, Deadline(NEWS_FOR_S))

    def has_news(self, role: Role) -> bool:
        """Return whether :meth:`note_shown` has just been called for a server, and nothing was asked of it since.

        Args:
            role: The server.
        """
        shown = self._shown.get(role)
        return shown is not None and shown.is_news(self._run.servers[role])

    def show_alone(self, role: Role, command: str) -> str:
        """Return what a command shows on a server, and nothing else.

        Args:
            role: The server.
            command: The command.

        Raises:
            BenchFault: It fails, or the server does not answer.
        """
        return self._run.servers[role].ssh.run(command, timeout_s=ANSWER_WITHIN_S, check=True).stdout

    @contextmanager
    def looked_at(self) -> Iterator[None]:
        """Keep what was just shown where servers are asked inside the ``with`` block, and nothing is changed."""
        servers = self._run.servers
        news = {role: shown for role, shown in self._shown.items() if self.has_news(role)}
        yield
        for role, shown in news.items():
            self._shown[role] = replace(shown, calls=servers[role].ssh.calls)

    def prepare(self, roles: Iterable[Role] = Role) -> None:
        """Set every port of every path up with its address. A port that is prepared already is left alone.

        Does not wait for carrier: that is a test's business.

        Args:
            roles: The servers whose ports are prepared.

        Raises:
            CardFailure: A port of the dut has no interface, and the card or its driver is to blame.
            BenchFault: A port has no interface, or cannot be set up.
        """
        run, asked = self._run, [*roles]
        ends = [run.bench.port(end) for path in run.bench.paths for end in path.ends]
        ports = [port for port in ends if port.role in asked]
        interfaces = side_by_side(self._interface, ports)
        run.interfaces |= dict(zip(ports, interfaces, strict=True))
        side_by_side(lambda shown: self._prepare(*shown), run.shown(ports).items())

        def left(role: Role) -> tuple[str, str]:
            mine = [iface for port, iface in zip(ports, interfaces, strict=True) if port.role is role]
            command, lease = run.servers[role].host.links.show_command(mine), run.servers[role].lease
            if lease is not None:
                command = f"{command} && {{ {lease.showing()}; }}"  # somebody who has taken it is seen before a test
            return command, self.show(role, command)

        self._left |= dict(zip(asked, side_by_side(left, asked), strict=True))

    def _interface(self, port: Port) -> str:
        try:
            return self._run.server_of(port).interface(port)
        except (NoInterface, NoDevice) as error:
            raise whose(self._run, port, error) from error

    def _prepare(self, port: Port, now: Interface) -> None:
        server, iface = self._run.server_of(port), now.name
        if port not in self._first:
            self._first[port] = now
            self._keep(port, now)
        first, address = self._first[port], self._run.bench.address(port)
        if not now.admin_up:
            if not first.admin_up:
                undo = Action(ActionKind.SHELL, server.name, server.host.undo.link(iface, up=False), iface=iface)
                self._register_once(port.name, f"{iface} was down and is set up", undo)
            server.host.links.set_link(iface, True)
        if not _has(now, address):
            if not _has(first, address):
                command = server.host.undo.address(iface, str(address))
                undo = Action(ActionKind.SHELL, server.name, command, iface=iface)
                self._register_once(port.name, f"{iface} gets address {address}", undo)
            server.host.links.add_address(iface, str(address))
        if self._run.bench.path_of(port).through is Wiring.SWITCH:
            self._let_answer_alone(port, iface)

    def _keep(self, port: Port, first: Interface) -> None:
        """Keep what a boot or a reload of the driver would cost a port that the run has found in use.

        A member of a bond is left out: its undo would end that.
        """
        if first.master is None and (first.admin_up or first.ipv4):
            server = self._run.server_of(port)
            command = server.host.undo.port(first.name, first.admin_up, first.ipv4)
            undo = Action(ActionKind.SHELL, server.name, command, iface=first.name)
            was = " ".join(["up" if first.admin_up else "down", *first.ipv4])
            self._register_once(port.name, f"{first.name} was {was}, which a boot or a reload of its driver ends", undo)

    def _let_answer_alone(self, port: Port, iface: str) -> None:
        """On a switch every port hears every ARP request; only the owner of an address may answer it."""
        server = self._run.server_of(port)
        if server.host.links.answers_arp_for_others(iface):
            undo = Action(ActionKind.SHELL, server.name, server.host.undo.arp(iface, True), iface=iface)
            self._register_once(port.name, f"{iface} answers ARP for its own address alone", undo)
            server.run(server.host.undo.arp(iface, False))

    def _register_once(self, subject: str, what: str, undo: Action) -> None:
        """Register a change, unless its very undo is pending already (made again after a server's restart)."""
        if undo not in [entry.action for entry in self._run.journal.pending()]:
            self._run.journal.register(subject, what, undo)


def _has(iface: Interface, address: IPv4Interface) -> bool:
    return str(address.ip) in [entry.address for entry in iface.addresses]
