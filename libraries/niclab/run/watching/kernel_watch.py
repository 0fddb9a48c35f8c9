"""The messages of both kernels between two tests, and the test that they are charged to.

A card whose driver crashes, hangs or resets the card may still pass every measurement. Both kernel logs are therefore
read after each test and before each boot that the lab orders, and the consoles where a server has booted or is silent,
or where its log has lost lines.
A server of which nothing was asked since it was read a moment ago is read after the next test.
The last look is at the end of the run, after everything is undone, or just before a server is stopped for that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from niclab.bench.records import Port, Role
from niclab.card.values import Unknown
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.hosts.kernel.boots import first_lines
from niclab.hosts.kernel.card_names import CardNames
from niclab.hosts.kernel.dmesg import read_dmesg
from niclab.hosts.kernel.kernel_log import KernelLine, KernelLogMark, KernelLook, LogCut
from niclab.hosts.kernel.trouble import (
    NOBODY_KNOWS,
    OF_THE_BENCH,
    ONLY_OF_THE_CARD,
    KernelTrouble,
    PcieLimit,
    TroubleKind,
)
from niclab.report.own_checks.last_look import earlier_findings, keep_last_look
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.acquiring.recover import recover
from niclab.run.run import Run
from niclab.run.server import ANSWER_WITHIN_S, Server
from niclab.run.watching.carrier_watch import CarrierWatch

_SHOWN = 5
_REFUSALS = frozenset({TroubleKind.ERROR, TroubleKind.FIRMWARE_LOAD_FAILED})
Found = CardFailure | Undecided | BenchFault


@dataclass(frozen=True)
class _Place:
    """The place where the last look ended: in the kernel log, in the console, and how much the lab had ordered by then.

    Attributes:
        boots_due: Boots that were ordered before it and that the console had not shown yet.
    """

    mark: KernelLogMark
    console: int
    boots_ordered: int
    crashes: int
    recoveries: int
    boots_due: int = 0


@dataclass(frozen=True)
class _Looked(KernelLook):
    """``console``: where its text ended then."""

    console: int


class KernelWatch:
    """Reads both kernel logs from one look to the next. A part of the run.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._places: dict[Role, _Place] = {}
        self._before_boots: dict[Role, list[Found]] = {}
        """Findings from before a boot that the lab ordered, until the next look."""
        self._lost = set[Role]()
        self._kept: dict[Role, _Looked] = {}
        """The look that came with the state of the ports, while nothing else is asked of the server."""
        self._refusals = set[KernelLine]()
        """Lines of refusals that were asked for."""
        self.found_at_the_end: list[Exception] = []
        """Messages that no test can be charged with: said after the last one, or while changes were undone."""
        self._earlier: list[str] = []
        """Such messages of the killed part of a run that is continued."""
        run.bench_servers.looks_before_leaving.append(self._look_before_leaving)

    def begin(self) -> None:
        """Set a mark in both kernel logs. What was said before is of no interest any more.

        Raises:
            BenchFault: A server does not answer, or the findings of the killed part of a run cannot be read.
        """
        self._earlier = earlier_findings(self._run.run_dir)
        self._keep_last_look(over=False)
        servers = list(self._run.servers.values())
        marks = side_by_side(lambda server: server.host.system.dmesg_mark(), servers)
        for server, mark in zip(servers, marks, strict=True):
            self._places[server.role] = _place(server, mark)
            server.before_boot.append(self._look_before_boot)
        self._run.part(PreparedPorts).show = self._show_ports

    @contextlib.contextmanager
    def beginning(self) -> Iterator[None]:
        """Begin before the bench is made ready, judge what both kernels say of that, and watch carriers from then on.

        Raises:
            CardFailure: The dut's kernel names the card.
            BenchFault: A server does not answer, or a kernel reports other trouble.
            Undecided: See :meth:`look`.
        """
        self.begin()
        try:
            yield
        except BenchFault as error:
            of_card = [each for each in self.look() if isinstance(each, CardFailure)]
            if of_card:
                raise CardFailure(f"{of_card[0]}\n{type(error).__name__}: {error}") from error
            raise
        for found in self.look():
            raise found
        self._run.part(CarrierWatch).begin()

    @contextlib.contextmanager
    def refusing(self, port: Port) -> Iterator[None]:
        """Excuse the errors in which a driver reports the refusal that the ``with`` block asks for.

        Other trouble, such as a crash, a timeout or a reset, is trouble there as well.

        Args:
            port: The port that has to refuse something.

        Raises:
            BenchFault: The server does not answer.
        """
        system, names = self._run.server_of(port).host.system, {port.pci, self._run.interface(port)}
        mark = system.dmesg_mark()
        yield
        with contextlib.suppress(LogCut):  # nothing is excused then
            lines = system.dmesg_since(mark)
            said = {
                each.words
                for each in system.trouble(lines)
                if each.kind in _REFUSALS and not names.isdisjoint(each.devices)
            }
            self._refusals |= {line for line in lines if line.text.strip() in said}

    def look(self) -> list[Found]:
        """Read what both kernels have said since the last look.

        Returns:
            What is wrong: :class:`CardFailure` where the dut's kernel names the card, its driver or its interfaces;
            :class:`BenchFault` for other trouble, for a server that had to be recovered, and for a peer that has
            booted by itself; :class:`Undecided` for a dut that has booted by itself and says nothing of why, for a card
            with less PCI Express bandwidth than its sheet says, for a link partner that is late, and for lines that a
            log has lost and no console shows. Card failures come first.
        """
        return self._look_at(Role, recovering=True, fresh=False)

    def _look_at(self, roles: Iterable[Role], *, recovering: bool, fresh: bool) -> list[Found]:
        watched = [self._run.server(role) for role in roles if role in self._places]
        looked = side_by_side(lambda server: self._look(server, recovering=recovering, fresh=fresh), watched)
        for server in watched:
            looked.append(self._before_boots.pop(server.role, []))
        self._run.part(CarrierWatch).judge()
        found = [each for one in looked for each in one]
        return sorted(found, key=lambda each: not isinstance(each, CardFailure))

    def _look_before_leaving(self, roles: Iterable[Role], is_last: bool) -> None:
        """Judge what no test can be charged with. It fails nothing here: the bench is being put back."""
        asked = [role for role in roles if role in self._places]
        if not asked:
            return
        try:
            self.found_at_the_end += self._look_at(asked, recovering=not is_last, fresh=True)
        except BenchFault as error:
            self.found_at_the_end.append(error)
        self._run.part(CarrierWatch).judge(over=is_last)
        for role in asked if is_last else ():
            del self._places[role]  # a server that the lab has stopped is not silent by itself
        with contextlib.suppress(BenchFault):  # the file still says then that the last look is not over
            self._keep_last_look(over=not self._places)

    def _keep_last_look(self, *, over: bool) -> None:
        keep_last_look(self._run.evidence_folder, self.found_at_the_end, self._earlier, over=over)

    def _look_before_boot(self, server: Server) -> None:
        """The lab is about to make a server boot. What is found is said at the next look."""
        if server.role not in self._places:
            return
        try:
            found = self._look(server, recovering=False, fresh=True)
        except BenchFault as error:
            found = [error]
        self._before_boots.setdefault(server.role, []).extend(found)

    def _look(self, server: Server, *, recovering: bool, fresh: bool) -> list[Found]:
        if server.role in self._lost or (not fresh and self._is_read(server)):
            return []
        place = self._places[server.role]
        was_ordered = server.boots_ordered > place.boots_ordered
        known = server.recoveries[place.recoveries :]
        incidents, is_silent, has_booted = list(known), bool(known), False
        lines: tuple[KernelLine, ...] = ()
        looked: _Looked | None = None
        try:
            looked = (None if fresh else self._kept_news(server)) or self._ask(server, place)
            lines, has_booted = looked.lines, looked.booted
            if has_booted and not was_ordered:
                server.boots_found += 1
                self._run.journal.boots.pop(server.name, None)  # what is changed from now on is of an unknown boot
                incidents.append(f"{server.name}: has booted, and the lab did not order it")
        except BenchFault as error:
            is_silent = not was_ordered or bool(server.out_of_service)
            how = _recovered(server) if recovering else "it is left so"
            if is_silent:
                incidents = [f"{server.name}: does not answer any more: {error}; {how}"]
        if server.out_of_service:
            self._lost.add(server.role)
        listens = bool(incidents or has_booted or was_ordered or place.boots_due)
        heard, boots = self._heard(server, place) if listens else ((), 0)
        ordered = server.boots_ordered - place.boots_ordered
        due = ordered + place.boots_due
        if was_ordered and boots > due:
            incidents.append(f"{server.name}: has booted {boots} times, and the lab ordered {ordered}")
        troubles = self._troubles(server, heard, lines)
        self._go_on(server, looked, max(0, due - boots), heard=listens)
        found = self._charge(server, troubles, "; ".join(incidents), is_silent=is_silent)
        is_lost = looked is not None and looked.lost and not (listens and server.description.console is not None)
        return [*found, *self._of_lost_lines(server, place, lines, troubles)] if is_lost else found

    def _is_read(self, server: Server) -> bool:
        """Has nothing been asked of the server since its kernel's words were read and judged, a moment ago?"""
        return server.role not in self._kept and self._run.part(PreparedPorts).has_news(server.role)

    def _kept_news(self, server: Server) -> _Looked | None:
        kept = self._kept.pop(server.role, None)
        return kept if self._run.part(PreparedPorts).has_news(server.role) else None

    def _ask(self, server: Server, place: _Place, show: str = "", *, timeout_s: float = 60) -> _Looked:
        """One question about all that the next test needs to know: the kernel's words, and the state of the ports."""
        self._kept.pop(server.role, None)
        ports = self._run.part(PreparedPorts)
        carriers = self._run.part(CarrierWatch)
        command = carriers.showing(server.role, show or ports.showing(server.role))
        began_s = carriers.clock()
        asked = server.host.system.look(place.mark, command, timeout_s=timeout_s)
        shown = carriers.note_look(server.role, began_s, asked)
        ports.note_shown(server.role, shown)
        console = _console_mark(server)
        return _Looked(asked.mark, asked.lines, asked.booted, shown, asked.at_s, asked.lost, console)

    def _show_ports(self, role: Role, command: str) -> str:
        """The kernel's words come with the state of the ports: the look after the test need not ask again."""
        place = self._places.get(role)
        if place is None:  # the last look is over
            return self._run.part(PreparedPorts).show_alone(role, command)
        looked = self._ask(self._run.server(role), place, command, timeout_s=ANSWER_WITHIN_S)
        self._kept[role] = looked
        return looked.shown

    def _go_on(self, server: Server, looked: _Looked | None, boots_due: int, *, heard: bool) -> None:
        """The next look begins here; a server that does not answer keeps its old place, and has booted by then."""
        try:
            mark = looked.mark if looked is not None else server.host.system.dmesg_mark()
        except BenchFault:
            mark = self._places[server.role].mark
        place = replace(_place(server, mark), boots_due=boots_due)
        self._places[server.role] = place if heard or looked is None else replace(place, console=looked.console)

    def _heard(self, server: Server, place: _Place) -> tuple[Sequence[KernelLine], int]:
        """Return the console's lines that the lab has not brought about, and the boots that it shows."""
        if server.description.console is None:
            return (), 0
        lines = read_dmesg(server.console.text_since(place.console))  # FreeBSD's kernel stamps its lines alike
        boots = first_lines(lines)
        if server.crashes > place.crashes:  # its last words are of the panic that was ordered
            lines = lines[boots[0] :] if boots else ()
        return lines, len(boots)

    def _of_lost_lines(
        self, server: Server, place: _Place, lines: Sequence[KernelLine], known: Sequence[KernelTrouble]
    ) -> list[Undecided]:
        """Return what is to be said of lines that a log has lost. What excuses an error, no console need have shown.

        ``known``: the trouble that the lines report which it still has.
        """
        if server.description.console is None:
            said = "its kernel's log has lost lines since it was last read, and it has no console that shows them"
            wanted = "a log that holds all of a test (Linux: log_buf_len=4M, FreeBSD: kern.msgbufsize)"
            return [Undecided(f"{server.name}: {said}; expected {wanted}")]
        heard, _ = self._heard(server, place)
        alone = [each for each in self._troubles(server, heard, lines) if each not in known]
        why = "its log has lost lines that may excuse it"
        return [Undecided(f"{each}; {why}") for each in self._charge(server, alone, "", is_silent=False)]

    def _troubles(
        self, server: Server, console: Sequence[KernelLine], lines: Sequence[KernelLine]
    ) -> list[KernelTrouble]:
        """Return the trouble that console and log report; the same trouble in both is one.

        A line that the log has as well, or had when a refusal was asked for, is judged there alone: a console shows
        errors only, and not what excuses them.
        """
        of_log = server.host.system.trouble([line for line in lines if line not in self._refusals])
        known = {each.words.strip() for each in of_log}
        stamped = [line for line in (*lines, *self._refusals) if line.seconds is not None]
        logged = {(line.seconds, line.text.strip()) for line in stamped}
        alone = [line for line in console if (line.seconds, line.text.strip()) not in logged]
        heard = [each for each in server.host.system.trouble(alone) if each.words.strip() not in known]
        return [each for each in (*heard, *of_log) if not self._is_harmless(each)]

    def _is_harmless(self, trouble: KernelTrouble) -> bool:
        if trouble.limit is not None and self._is_enough(trouble.limit):
            return True
        return self._run.card.calls_harmless(trouble.words)

    def _is_enough(self, limit: PcieLimit) -> bool:
        """Is the link as the sheet wants it, although the card could do more?"""
        wanted = self._run.card.pcie
        if wanted is None or isinstance(wanted.width, Unknown) or isinstance(wanted.speed_gts, Unknown):
            return False
        return limit.width >= wanted.width and limit.gts >= wanted.speed_gts

    def _charge(
        self, server: Server, troubles: Sequence[KernelTrouble], incident: str, *, is_silent: bool
    ) -> list[Found]:
        card = self._names_of_card(server)
        of_card, others, of_nobody = list[KernelTrouble](), list[KernelTrouble](), list[KernelTrouble]()
        for each in troubles:
            is_named = card.are_in(each)
            if each.kind in ONLY_OF_THE_CARD and not is_named:
                continue
            is_of_card = is_named and server.role is Role.DUT and each.kind not in OF_THE_BENCH
            (of_nobody if each.kind in NOBODY_KNOWS else of_card if is_of_card else others).append(each)
        found: list[Found] = []
        if of_card:
            found.append(CardFailure(_sentence(server, of_card, incident)))
        if others:
            found.append(BenchFault(_sentence(server, others, incident)))
        if of_nobody:
            why = "; ".join(dict.fromkeys(NOBODY_KNOWS[each.kind] for each in of_nobody))
            found.append(Undecided(f"{_sentence(server, of_nobody, incident)}; {why}"))
        if incident and not found:
            message = f"{incident}; nothing on its console says why"
            is_bench = is_silent or server.role is Role.PEER
            found.append(BenchFault(message) if is_bench else Undecided(message))
        return found

    def _names_of_card(self, server: Server) -> CardNames:
        """Return every name that a kernel may use for the card: its driver, PCI addresses, interfaces."""
        module = self._run.card.driver(server.description.os).module
        known = {port: name for port, name in self._run.interfaces.copy().items() if port.role is server.role}
        addresses = {port.pci for port in (*self._run.ports(server.role), *known)}
        drivers = {module, *server.host.drivers.names_of(module)}
        return CardNames(frozenset({*addresses, *known.values()}), frozenset(drivers))


def _recovered(server: Server) -> str:
    """Recover a silent server, so that its kernel says why on its console; return how, or why it cannot be."""
    try:
        return str(recover(server))
    except BenchFault as error:
        return str(error)


def _place(server: Server, mark: KernelLogMark) -> _Place:
    return _Place(mark, _console_mark(server), server.boots_ordered, server.crashes, len(server.recoveries))


def _console_mark(server: Server) -> int:
    return 0 if server.description.console is None else server.console.mark()


def _sentence(server: Server, troubles: Sequence[KernelTrouble], incident: str) -> str:
    words = "; ".join(f"{each.kind}: {each.words}" for each in troubles[:_SHOWN])
    more = f"; and {len(troubles) - _SHOWN} more" if len(troubles) > _SHOWN else ""
    said = f"{server.name} kernel: {words}{more}"
    return f"{said} ({incident})" if incident else said
