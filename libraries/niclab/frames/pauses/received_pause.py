"""A port of the dut that is asked to pause: it stops sending while it heeds pause frames, and not while it does not.

The peer sends the pause frames by a packet socket, as its own card would when it is full. They concern the link alone:
a switch keeps them. A port is charged only with what it does twice, with its own server as a witness: its driver counts
the pause frames that it ignores, and its system cannot send where it pauses without being asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from niclab.bench.records import BenchPath, Role, SiliconFact, Wiring
from niclab.card import PauseFacts
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, Collected, NotApplicable
from niclab.core.wait import Deadline, pause
from niclab.frames.pauses.pause_agents import LEAD_S, PauseAgents, PausedEnd
from niclab.frames.pauses.pause_judging import UNDER_WAY_S, Heard, Heeding, Silence, silence
from niclab.frames.server_agent import require_packet_sockets
from niclab.hosts.settings.ethtool_records import Pause
from niclab.links import carrier
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.settings.dut_ports import DutPort, refusal, require_known
from niclab.settings.pause import not_back, put, read_pause, switches

Say = Callable[[str], object]

ATTEMPTS = 3
"""A port is charged with what it does in two of them, of which neither server stood still in any."""
COUNTED_PART = 0.5
COUNTED_WITHIN_S, COUNTED_STEP_S = 3.0, 0.3
"""Drivers ask their cards for counters as seldom as once in two seconds (Linux: be2net, be_worker(), 1 s)."""
BLOCKED_S = 0.5
"""A system that could not send for so long has a card that does not: half of the time for which it was asked to."""


def heeded(run: Run, say: Say) -> None:
    """Send pause frames to every port of the dut while it sends, with pause frames heeded and not, and put that back.

    Where the sheet says that they cannot be set, they are heeded, or not, as delivered.

    Args:
        run: The current run.
        say: Takes what each port did.

    Raises:
        CardFailure: A port sends on although its driver counts the pause frames, does not go on afterwards, or stops
            although it heeds none; its pause frames cannot be set, or do not come back; it loses its link.
        BenchFault: A program fails, the peer loses its link, or a setting could not be put back.
        Undecided: A server stood still, the peer did not hold the pause, or nobody knows whether pause frames reached
            the dut, or why it was silent.
        NotApplicable: Every path leads through a switch, a server does not run Linux, or the sheet knows no pause
            frames of a driver that does not offer them either.
        SheetUnknown: The sheet does not know whether pause frames that the driver shows and cannot set are heeded.
        Deviation: The bench declares that its emulated card heeds none.
    """
    section = run.card.section(run.card.pause, "pause")
    states = [on for on in (True, False) if section.settable or section.rx is on]
    if not states:
        require_known(run, "pause", [section.rx], read_pause)
    if declared := run.bench.deviation(run.card.name, SiliconFact.RECEIVED_PAUSE):
        raise declared.verdict("a port stops sending while pause frames come, if they are heeded")
    for role in Role:
        require_packet_sockets(run.server(role), "pause program")
    paths = [path for path in run.bench.paths if path.through is Wiring.DIRECT]
    if not paths:
        raise NotApplicable("every path leads through a switch, which keeps pause frames (IEEE 802.1Q-2018, 8.6.3)")
    trial = _Trial(run, section, say)
    with trial.judged.one(), ExitStack() as undoing:
        ends = side_by_side(lambda path: _end(run, path), paths)
        for end in ends:
            dut = DutPort(run, end.port)
            trial.before[end] = dut.ask("pause frames", dut.host.settings.pause)
            if section.settable:
                undoing.enter_context(dut.put_back("pause frames are switched", dut.host.undo.pause(dut.iface)))
        with run.part(PauseAgents).streaming(ends):
            for on in states:
                trial.hold(ends, on)
    with trial.judged.one():
        for end in trial.before:
            trial.judged.problems += not_back(DutPort(run, end.port), trial.before[end])
    trial.judged.end()


def _end(run: Run, path: BenchPath) -> PausedEnd:
    dut = DutPort(run, run.bench.end(path, Role.DUT))
    mbps = dut.host.links.link_settings(dut.iface).speed_mbps
    if not mbps:
        raise BenchFault(f"{dut.place}: link speed is unknown; expected one, of which pause frames count bit times")
    return PausedEnd.of(run, path, mbps / path.rate_scale)


@dataclass(frozen=True)
class _Seen:
    """One end in an exchange, and the number of pause frames that were sent to it."""

    end: PausedEnd
    silence: Silence
    asked: int


@dataclass
class _Trial:
    """The exchanges of a test. ``before``: the pause frames of each end."""

    run: Run
    section: PauseFacts
    say: Say
    before: dict[PausedEnd, Pause] = field(default_factory=dict)
    judged: Collected = field(default_factory=Collected)

    def hold(self, ends: Sequence[PausedEnd], on: bool) -> None:
        """Ask ports to pause while they heed pause frames, or do not, until each did as it must or has failed."""
        left = self._switched(ends, on) if self.section.settable else list(ends)
        if not left:
            return
        both, once = standstill.watch(self.run, standstill.LEAST_OF_PINGS_MS), set[tuple[PausedEnd, Heeding]]()
        told = both.told()
        for attempt in range(ATTEMPTS):
            counted = {end: self._counted(end) if attempt else None for end in left}
            self._agents.blocked_s(left)
            seen = [self._seen(end, heard, on) for end, heard in zip(left, self._agents.hold(left), strict=True)]
            blocked, now = self._agents.blocked_s(left), both.told()
            stood, told = [f"meanwhile {each}" for each in both.between(told, now)], now
            wrong = [each for each in seen if each.silence.heeding is not _WANTED[on]]
            now_seen = {(each.end, each.silence.heeding) for each in wrong if each.silence.heeding in _PROVEN}
            twice = set[PausedEnd]() if stood else {end for end, _ in now_seen & once}
            for each in (each for each in wrong if each.end in twice):
                self._judge(each, on, counted[each.end], blocked[each.end], ())
            wrong = [each for each in wrong if each.end not in twice]
            left = [each.end for each in wrong]
            if not left:
                break
            once |= set() if stood else now_seen
        for each in wrong:
            is_once = each.silence.heeding in _PROVEN
            self._judge(each, on, counted[each.end], blocked[each.end], stood or [_ONCE] * is_once)

    def _switched(self, ends: Sequence[PausedEnd], on: bool) -> list[PausedEnd]:
        """Let ports heed pause frames, or not; return those that do, when they have a link."""

        def attempt(end: PausedEnd) -> str:
            dut = DutPort(self.run, end.port)
            tried = put(dut.host, self.section, self.before[end], "rx", on)
            found = switches(tried.now)["rx"]
            return "" if found is on else dut.expected("pause rx", f"{found}{refusal(tried)}", on)

        refused = dict(zip(ends, side_by_side(attempt, ends), strict=True))
        self.judged.problems += filter(None, refused.values())
        taken = [end for end, problem in refused.items() if not problem]
        both = [port for end in taken for port in (end.port, end.partner)]
        carrier.require_back(self.run, both, "after pause frames of the dut were switched")
        return taken

    def _seen(self, end: PausedEnd, heard: Heard, on: bool) -> _Seen:
        found = silence(heard, end.pause_s, LEAD_S)
        self.say(f"{end.port.place}: pause frames {_HEEDED[on]}: {found.heeding.value}: {found}")
        return _Seen(end, found, len(heard.asked_s))

    def _judge(self, seen: _Seen, on: bool, counted: int | None, blocked_s: float, doubts: Sequence[str]) -> None:
        heeding, end = seen.silence.heeding, seen.end
        asked = f"{seen.asked} pause frames of {1000 * end.pause_s:.3g} ms ({end.quanta} quanta) each"
        found = f"{heeding.value} while {asked} came, {_HEEDED[on]}: {seen.silence}"
        text = f"{end.port.place}: {found}; expected it to have {_WANTED[on].value} ({_SOURCE})"
        sure, witness = False, ""
        if heeding is Heeding.SENT_ON:
            sure, witness = self._reached(end, counted, seen.asked)
        elif heeding in (Heeding.STOPPED, Heeding.GONE):
            sure = blocked_s >= BLOCKED_S
            witness = f"its system could not send for {blocked_s:.2f} s"
        if doubts or not sure:
            self.judged.doubts.append("\n".join(filter(None, [text, witness, *doubts])))
        else:
            self.judged.problems.append(f"{text}; {witness}")

    def _reached(self, end: PausedEnd, before: int | None, asked: int) -> tuple[bool, str]:
        """Have pause frames reached the dut, as its driver counts? And what is known of that."""
        name, least = self.section.received_counter, COUNTED_PART * asked
        if name is None or before is None:
            return False, "whether they reached it is unknown: the sheet names no counter that its driver has"
        deadline, now = Deadline(COUNTED_WITHIN_S), self._counted(end)
        while now is not None and now - before < least and not deadline.expired:
            pause(COUNTED_STEP_S)
            now = self._counted(end)
        grown = (now or 0) - before
        said = f"its counter {name} grew by {grown}"
        return grown >= least, said if grown >= least else f"{said}: the peer may not send what its system asks for"

    def _counted(self, end: PausedEnd) -> int | None:
        dut, name = DutPort(self.run, end.port), self.section.received_counter
        counters = dut.host.counts.counters(dut.iface) if name else None
        return counters[name] if name and counters and name in counters else None

    @property
    def _agents(self) -> PauseAgents:
        return self.run.part(PauseAgents)


_HEEDED = {True: "heeded (rx on)", False: "not heeded (rx off)"}
_WANTED = {True: Heeding.STOPPED, False: Heeding.SENT_ON}
_PROVEN = (Heeding.STOPPED, Heeding.GONE, Heeding.SENT_ON)
_ONCE = "seen once; expected twice before it is charged"
_SOURCE = f"IEEE 802.3-2018, annex 31B; assumption: what was under way has come within {UNDER_WAY_S:g} s"
