"""What both kernels say between two tests, and whom it is charged to.

A card whose driver crashes, hangs or resets the card may still pass every measurement. Both kernel logs are therefore
read after each test, and the consoles where a server has booted or is silent. The last look is at the end of the run,
after everything is undone, or just before a server is stopped for that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.hosts.linux.dmesg import read_dmesg
from niclab.hosts.records import KernelLine, KernelLogMark, KernelLook
from niclab.hosts.trouble import KernelTrouble
from niclab.report.last_look import keep_last_look
from niclab.run.recover import recover
from niclab.run.run import Run
from niclab.run.server import Server

_SHOWN = 5


@dataclass(frozen=True)
class _Place:
    """Where the last look ended: in the kernel log, in the console, and how many boots and recoveries there were."""

    mark: KernelLogMark
    console: int
    boots_ordered: int
    recoveries: int


class KernelWatch:
    """Reads both kernel logs from one look to the next. A part of the run.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._places: dict[Role, _Place] = {}
        self._card = frozenset[str]()
        self._lost = set[Role]()
        self.found_at_the_end: list[Exception] = []
        """What no test can be charged with: said after the last one, or while changes were undone."""
        run.looks_before_leaving.append(self._look_before_leaving)

    def begin(self) -> None:
        """Set a mark in both kernel logs. What was said before is of no interest any more.

        Raises:
            BenchFault: A server does not answer.
        """
        keep_last_look(self._run.evidence_folder, [], over=False)
        servers = list(self._run.servers.values())
        marks = side_by_side(lambda server: server.host.system.dmesg_mark(), servers)
        for server, mark in zip(servers, marks, strict=True):
            self._places[server.role] = _place(server, mark)
        self._card = self._names_of_card(self._run.server(Role.DUT))

    def look(self) -> list[CardFailure | Undecided | BenchFault]:
        """Read what both kernels have said since the last look.

        Returns:
            What is wrong: :class:`CardFailure` where the dut's kernel names the card, its driver or its interfaces;
            :class:`BenchFault` for other trouble, for a server that had to be recovered, and for a peer that has
            booted by itself; :class:`Undecided` for a dut that has booted by itself and says nothing of why. Card
            failures come first.
        """
        return self._look_at(Role, recovering=True)

    def _look_at(self, roles: Iterable[Role], *, recovering: bool) -> list[CardFailure | Undecided | BenchFault]:
        watched = [self._run.server(role) for role in roles if role in self._places]
        looked = side_by_side(lambda server: self._look(server, recovering=recovering), watched)
        found = [each for one in looked for each in one]
        return sorted(found, key=lambda each: not isinstance(each, CardFailure))

    def _look_before_leaving(self, roles: Iterable[Role], is_last: bool) -> None:
        """Judge what no test can be charged with. It fails nothing here: the bench is being put back."""
        asked = [role for role in roles if role in self._places]
        if not asked:
            return
        try:
            self.found_at_the_end += self._look_at(asked, recovering=not is_last)
        except BenchFault as error:
            self.found_at_the_end.append(error)
        for role in asked if is_last else ():
            del self._places[role]  # a server that the lab has stopped is not silent by itself
        with contextlib.suppress(BenchFault):  # the file still says then that the last look is not over
            keep_last_look(self._run.evidence_folder, self.found_at_the_end, over=not self._places)

    def _look(self, server: Server, *, recovering: bool) -> list[CardFailure | Undecided | BenchFault]:
        place = self._places[server.role]
        was_ordered = server.boots_ordered > place.boots_ordered
        if server.role in self._lost:
            return []
        known = server.recoveries[place.recoveries :]
        incident, is_silent = "; ".join(known), bool(known)
        lines: tuple[KernelLine, ...] = ()
        looked = None
        try:
            looked = self._ask(server, place)
            lines = looked.lines
            if looked.booted and not was_ordered:
                incident = f"{server.name}: has booted, and the lab did not order it"
        except BenchFault as error:
            is_silent = not was_ordered or bool(server.out_of_service)
            how = _recovered(server) if recovering else "it is left so"
            if is_silent:
                incident = f"{server.name}: does not answer any more: {error}; {how}"
        if server.out_of_service:
            self._lost.add(server.role)
        if incident:
            lines = (*self._said_on_console(server, place), *lines)
        troubles = [each for each in server.host.system.trouble(lines) if not self._is_harmless(each)]
        self._go_on(server, looked)
        return self._charge(server, troubles, incident, is_silent=is_silent)

    def _ask(self, server: Server, place: _Place) -> KernelLook:
        """One question about all that the next test needs to know: the kernel's words, and the state of the ports."""
        ports = self._run.test_ports
        looked = server.host.system.look(place.mark, ports.showing(server.role))
        ports.note_shown(server.role, looked.shown)
        return looked

    def _go_on(self, server: Server, looked: KernelLook | None) -> None:
        """The next look begins here; a server that does not answer keeps its old place, and has booted by then."""
        try:
            mark = looked.mark if looked is not None else server.host.system.dmesg_mark()
        except BenchFault:
            mark = self._places[server.role].mark
        self._places[server.role] = _place(server, mark)

    def _said_on_console(self, server: Server, place: _Place) -> tuple[KernelLine, ...]:
        if server.description.console is None:
            return ()
        return read_dmesg(server.console.text_since(place.console))  # FreeBSD's kernel stamps its lines alike

    def _is_harmless(self, trouble: KernelTrouble) -> bool:
        return any(each.text in trouble.words for each in self._run.card.harmless_messages)

    def _charge(
        self, server: Server, troubles: Sequence[KernelTrouble], incident: str, *, is_silent: bool
    ) -> list[CardFailure | Undecided | BenchFault]:
        mine = self._card if server.role is Role.DUT else frozenset()
        of_card = [each for each in troubles if each.names & mine]
        others = [each for each in troubles if not each.names & mine]
        found: list[CardFailure | Undecided | BenchFault] = []
        if of_card:
            found.append(CardFailure(_sentence(server, of_card, incident)))
        if others:
            found.append(BenchFault(_sentence(server, others, incident)))
        if incident and not troubles:
            message = f"{incident}; nothing on its console says why"
            is_bench = is_silent or server.role is Role.PEER
            found.append(BenchFault(message) if is_bench else Undecided(message))
        return found

    def _names_of_card(self, server: Server) -> frozenset[str]:
        """Whatever a kernel may call the card: its driver, PCI addresses, interfaces."""
        ports = self._run.ports(server.role)
        module = self._run.card.driver(server.description.os).module
        known = self._run.test_ports.interfaces
        interfaces = {known[port] for port in ports if port in known}
        drivers = server.host.drivers.names_of(module)
        return frozenset({module, *drivers, *interfaces, *(port.pci for port in ports)})


def _recovered(server: Server) -> str:
    """Recover a silent server, so that its kernel says why on its console; return how, or why it cannot be."""
    try:
        return str(recover(server))
    except BenchFault as error:
        return str(error)


def _place(server: Server, mark: KernelLogMark) -> _Place:
    return _Place(mark, _console_mark(server), server.boots_ordered, len(server.recoveries))


def _console_mark(server: Server) -> int:
    return 0 if server.description.console is None else server.console.mark()


def _sentence(server: Server, troubles: Sequence[KernelTrouble], incident: str) -> str:
    words = "; ".join(f"{each.kind}: {each.words}" for each in troubles[:_SHOWN])
    more = f"; and {len(troubles) - _SHOWN} more" if len(troubles) > _SHOWN else ""
    said = f"{server.name} kernel: {words}{more}"
    return f"{said} ({incident})" if incident else said
