"""A port of the dut that is full: it asks its partner for silence while it is to send pause frames, and only then.

The peer floods it with frames, while the smallest receive ring and the longest time between interrupts keep it from
taking them. The same flood without pause frames says that it was full. Pause frames end at a switch, so that paths
through one are left out. A port is charged only with what it does twice, by its own driver's counters: a server that
does not run delays frames, and makes no port count pause frames that it does not send, or leave those that it has to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from niclab.bench.records import Port, Role, SiliconFact, Wiring
from niclab.card import CoalescingFacts, FullRing, PauseFacts, RingFacts, Setting, SettingKind
from niclab.core.parallel import side_by_side
from niclab.core.verdict import Collected, NotApplicable
from niclab.core.wait import pause
from niclab.frames.pauses.flood_agents import FloodAgents, Flooded
from niclab.frames.pauses.sent_judging import Flood, FullPort, judge
from niclab.frames.server_agent import require_packet_sockets
from niclab.links import carrier
from niclab.run.run import Run
from niclab.settings.held import held

Say = Callable[[str], object]

ATTEMPTS = 3
"""A port is charged with what it does in two of them."""
FLOOD_S = 1.5
OVER_S = 1.0
"""Assumption: what a port holds is handed over so long after the last frame."""
QUIET_S, AGAIN_S = 0.6, 3.0
"""Times after that without pause frames. Drivers ask their cards for counters as seldom as once in two seconds (Linux:
be2net, be_worker(), 1 s): growth in the first one may be late, growth in the second one is not."""
SINGLE = 20
_CHARGED = (FullPort.SILENT, FullPort.UNASKED, FullPort.ENDLESS)


def asked(run: Run, say: Say) -> None:
    """Flood every port of the dut, with pause frames sent and not, and put its settings back.

    Args:
        run: The current run.
        say: Takes what each flood showed.

    Raises:
        CardFailure: A port is full and sends no pause frame, sends some although it is not to, or keeps sending them;
            a setting is taken and not shown; it loses its link.
        BenchFault: A program fails, the peer loses its link, or a setting could not be put back.
        Undecided: The counters of both ends do not agree, or nobody knows where frames were lost.
        NotApplicable: Every path leads through a switch, a server does not run Linux, pause frames cannot be set, the
            port could not be filled, or the card drops what finds no room in a ring.
        SheetSilent: The sheet names no counter of those that a port sends.
        SheetUnknown: The sheet does not know what the card does with a full ring.
        Deviation: The bench declares that its emulated card sends none.
    """
    section = run.card.section(run.card.pause, "pause")
    if declared := run.bench.deviation(run.card.name, SiliconFact.SENT_PAUSE):
        raise declared.verdict("a full port sends pause frames, if it may")
    if not section.settable:
        raise NotApplicable(f"sheet {run.card.name} says that pause frames cannot be set")
    run.card.section(section.sent_counter, "pause.sent_counter")
    for role in Role:
        require_packet_sockets(run.server(role), "flood program")
    ports = [run.bench.end(path, Role.DUT) for path in run.bench.paths if path.through is Wiring.DIRECT]
    if not ports:
        raise NotApplicable("every path leads through a switch, which keeps pause frames (IEEE 802.1Q-2018, 8.6.3)")
    trial = _Trial(run, section, say)
    with trial.judged.one(), ExitStack() as undoing:
        for port in ports:
            _slow(run, port, undoing)
        undoing.enter_context(run.part(FloodAgents).listening(ports))
        trial.judge(ports)
    trial.judged.end()
    if trial.silent:
        _not_asked(run, section, trial.silent)


def _slow(run: Run, port: Port, undoing: ExitStack) -> None:
    """Let a port take frames slowly, by what its driver offers; let its partner heed pause frames."""
    system, settings = run.server(Role.DUT).description.os, list[Setting]()
    rings, times = run.card.of_driver("rings", system), run.card.of_driver("coalescing", system)
    if isinstance(rings, RingFacts) and isinstance(rings.rx.min, int):
        settings.append(Setting(kind=SettingKind.RING, name="rx", to=rings.rx.min))
    for row in times.parameters if isinstance(times, CoalescingFacts) else ():
        if row.name == "rx-usecs" and row.settable is True and isinstance(row.max, int):
            settings.append(Setting(kind=SettingKind.COALESCING, name=row.name, to=row.max))
    heeds = Setting(kind=SettingKind.PAUSE, name="rx", to=True)
    for end, setting in [*((port, each) for each in settings), (run.bench.partner(port), heeds)]:
        with suppress(NotApplicable):  # the port is less slow then, and may not be filled
            undoing.enter_context(held(run, end, setting))


def _not_asked(run: Run, section: PauseFacts, silent: Sequence[str]) -> None:
    """Say why no port was charged that sent no pause frame."""
    said = "\n".join(silent)
    if section.full_ring is FullRing.DROPS:
        raise NotApplicable(f"sheet {run.card.name}: the card drops what finds no room in a ring\n{said}")
    run.card.known(run.card.section(section.full_ring, "pause.full_ring"), "pause.full_ring")
    raise NotApplicable(said)


@dataclass
class _Trial:
    """The floods of a test. ``silent``: ports that never asked."""

    run: Run
    section: PauseFacts
    say: Say
    judged: Collected = field(default_factory=Collected)
    silent: list[str] = field(default_factory=list)

    def judge(self, ports: Sequence[Port]) -> None:
        """Flood ports with pause frames off, and on, until each has asked for silence or was wrong twice."""
        left, once = [*ports], set[tuple[Port, FullPort]]()
        asks = self.section.full_ring is FullRing.PAUSES
        for _ in range(ATTEMPTS):
            off, on = (self._flooded(left, to) for to in (False, True))
            again = dict[Port, str]()
            for port in left:
                found, why = judge(off[port], on[port])
                said = ": ".join(filter(None, (found.value, why)))
                text = f"{port.place}: {said}; off: {off[port]}; on: {on[port]} ({_SOURCE})"
                self.say(text)
                if found is FullPort.NOT_FILLED or (found is FullPort.SILENT and not asks):
                    self.silent.append(text)
                elif found in _CHARGED and (port, found) in once:
                    self.judged.problems.append(text)
                elif found is not FullPort.ASKED:
                    again[port] = "\n".join([text, *[_ONCE] * (found in _CHARGED)])
                    once.add((port, found))
            left = [*again]
            if not left:
                return
        self.judged.doubts += again.values()

    def _flooded(self, ports: Sequence[Port], on: bool) -> dict[Port, Flood]:
        """Flood ports once, with pause frames on or off."""
        agents = self.run.part(FloodAgents)
        with ExitStack() as undoing:
            for port in ports:
                undoing.enter_context(held(self.run, port, Setting(kind=SettingKind.PAUSE, name="tx", to=on)))
            self._await_links(ports)
            before, partners = self._counted(ports), [self.run.bench.partner(port) for port in ports]
            seen, missed = self._counted(partners), self._missed(ports)
            floods = agents.flood(ports, FLOOD_S)
            pause(OVER_S)
            late, first = agents.heard(ports), self._counted(ports)
            after = self._after(ports, first) if on else dict.fromkeys(ports, (0, 0))
            single = agents.send(ports, SINGLE)
            pause(OVER_S)  # the coalescing that slows the port may hold them: on an emulated path for long
            more = agents.heard(ports)
            now, seen_now, missed_now = self._counted(ports), self._counted(partners), self._missed(ports)
            return {
                port: self._flood(
                    floods[port],
                    late[port],
                    missed_now[port] - missed[port],
                    (_grown(before[port], now[port]), _grown(seen[partner], seen_now[partner])),
                    after[port],
                    max(0, SINGLE - single[port].heard - more[port]),
                )
                for port, partner in zip(ports, partners, strict=True)
            }

    @staticmethod
    def _flood(
        one: Flooded, late: int, missed: int, counted: tuple[int | None, int | None], after: tuple[int, int], back: int
    ) -> Flood:
        return Flood(one.sent, one.waiting, max(0, one.sent - one.heard - late), missed, *counted, after, back)

    def _after(self, ports: Sequence[Port], first: dict[Port, int | None]) -> dict[Port, tuple[int, int]]:
        """Count pause frames in two times in which nothing comes; the second one only where the first one has some."""
        pause(QUIET_S)
        second = self._counted(ports)
        grown = {port: _grown(first[port], second[port]) or 0 for port in ports}
        if not any(grown.values()):
            return dict.fromkeys(ports, (0, 0))
        pause(AGAIN_S)
        self.run.part(FloodAgents).heard(ports)
        third = self._counted(ports)
        pause(AGAIN_S)
        last, came = self._counted(ports), self.run.part(FloodAgents).heard(ports)
        return {
            port: (grown[port], _grown(third[port], last[port]) or 0) if not came[port] else (0, 0) for port in ports
        }

    def _await_links(self, ports: Sequence[Port]) -> None:
        both = [end for port in ports for end in (port, self.run.bench.partner(port))]
        carrier.require_back(self.run, both, "after pause frames of the dut were switched")

    def _counted(self, ports: Sequence[Port]) -> dict[Port, int | None]:
        """Pause frames that ports of the dut have sent, or ports of the peer have received."""
        return dict(zip(ports, side_by_side(self._counter, ports), strict=True))

    def _counter(self, port: Port) -> int | None:
        name = self.section.sent_counter if port.role is Role.DUT else self.section.received_counter
        counters = self.run.server_of(port).host.counts.counters(self.run.interface(port)) if name else None
        return counters[name] if name and counters and name in counters else None

    def _missed(self, ports: Sequence[Port]) -> dict[Port, int]:
        def missed(port: Port) -> int:
            frames = self.run.server_of(port).host.counts.load(self.run.interface(port)).frames
            return frames.rx_missed_errors

        return dict(zip(ports, side_by_side(missed, ports), strict=True))


def _grown(before: int | None, now: int | None) -> int | None:
    """None where a counter is missing, or was begun again meanwhile."""
    return None if before is None or now is None or now < before else now - before


_ONCE = "seen once; expected twice before it is charged"
_SOURCE = "IEEE 802.3-2018, annex 31B; assumption: a port that was full is not any more 1 s after the flood"
