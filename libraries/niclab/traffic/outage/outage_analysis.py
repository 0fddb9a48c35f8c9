"""The times in which packets did not get through: the notes of two ends in, a report out. Pure; nothing is asked.

What may count as an outage is what the sender provably sent and the receiver provably listened for:

- A packet that was not received proves nothing about the times around it; two of them in a row do about the time
  between them, if the sender did not pause there.
- Packets in a row for which the sender's own queue had no room prove nothing, unless some among them were sent and did
  not arrive: the probes themselves may have been too many for it.
- An end that does not tick has stalled. A packet that should have arrived in a pause of the receiver proves nothing.
- What is not proven is not forgotten: ``at_most_ms`` holds everything that can have been an outage.

So ``proven_ms`` above a limit is a failure for sure, ``at_most_ms`` within it a success for sure, and between the two
the measurement cannot tell. Delays are measured from the smallest one, so that clocks need not agree.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from niclab.traffic import WorthlessResult
from niclab.traffic.outage.outage_records import Blind, EndLog, Noise, Outage, OutageReport, ProbedDirection

BLIND_MS = 5.0
"""Assumption: ticks further apart than this are a pause. The pace is 1 ms, and emulated servers often miss a few."""
COARSEST_MS = 50.0
"""Assumption: an end that cannot keep the pace is measured by its own, the 99th percentile of its steps, up to this."""
LATE_MS = 1000.0
"""Assumption: a packet that is held longer than this, beyond the smallest delay, did not get through in time. Shorter
holds show as silence at the receiver, which ``at_most_ms`` includes."""
CLOCK_STEP_US = 2000
"""A wall clock that was stepped by more than this during the run spoils it; slewing (500 ppm) is less in a second."""


@dataclass(frozen=True)
class Rules:
    """The rules for a pause of an end (``blind_ms``, at most ``coarsest_ms``), and for a packet that came too late."""

    blind_ms: float = BLIND_MS
    coarsest_ms: float = COARSEST_MS
    late_ms: float = LATE_MS

    def pause_us(self, ticks: Sequence[int]) -> float:
        """Steps longer than this are a pause of the end that ticked so."""
        return 1000 * min(max(self.blind_ms, _p99_us(ticks) / 1000), self.coarsest_ms)


def analyse(first: EndLog, second: EndLog, names: tuple[str, str], rules: Rules | None = None) -> OutageReport:
    """Find the outages of both directions.

    Args:
        first: Notes of one end.
        second: Notes of the other end.
        names: Names of both ends.
        rules: What counts as a pause or as late; the assumptions when there are none.

    Returns:
        Both directions.

    Raises:
        WorthlessResult: The notes prove nothing: nothing arrived, a buffer overflowed, a clock was stepped.
    """
    rules = rules or Rules()
    for log, name in ((first, names[0]), (second, names[1])):
        _refuse_worthless(log, name)
    forth = direction(first, second, names, rules)
    back = direction(second, first, (names[1], names[0]), rules)
    return OutageReport(forth, back)


def direction(sender: EndLog, receiver: EndLog, names: tuple[str, str], rules: Rules) -> ProbedDirection:
    """Find what the receiver's notes say about the packets of the sender.

    Args:
        sender: Notes of the sender.
        receiver: Notes of the receiver.
        names: Names of sender and receiver.
        rules: What counts as a pause or as late.

    Returns:
        The direction.

    Raises:
        WorthlessResult: Nothing arrived.
    """
    name = f"{names[0]} to {names[1]}"
    ticks = sender.ticks_us
    arrived, duplicated, reordered = _first_arrivals(receiver, len(ticks), name)
    delays = {number: at - ticks[number] for number, at in arrived.items()}
    base = min(delays.values())
    # packets sent before the receiver had begun, or after it had ceased to tick, are nobody's business
    begin = bisect_left(ticks, receiver.ticks_us[0] - base)
    end = bisect_left(ticks, receiver.ticks_us[-1] - base)
    if not any(begin <= number < end for number in arrived):
        raise WorthlessResult("outage prober: no packet arrived while both ends were at work", name)
    in_time = [number in delays and delays[number] - base <= rules.late_ms * 1000 for number in range(len(ticks))]
    hears = _Listening(receiver.ticks_us, base, rules)
    fate = _Fate(ticks, in_time, set(delays), sender.full, hears, rules.pause_us(ticks))
    outages = _outages(range(begin, end), fate)
    steps = [ticks[n + 1] - ticks[n] for n in range(begin, end - 1) if in_time[n] and in_time[n + 1]]
    late = sum(1 for number in range(begin, end) if number in delays and not in_time[number])
    return ProbedDirection(
        name=name,
        sent=end - begin,
        arrived=sum(1 for number in range(begin, end) if number in delays),
        late=late,
        refused=sum(1 for number in sender.refused if begin <= number < end),
        full=sum(1 for number in sender.full if begin <= number < end),
        duplicated=duplicated,
        reordered=reordered,
        worst_delay_ms=(max(delays.values()) - base) / 1000,
        outages=outages,
        blind_most_ms=max(steps, default=0) / 1000,
        silent_most_ms=_silent_most_ms(arrived, range(begin, end)),
        sender=noise(sender.ticks_us, rules),
        receiver=noise(receiver.ticks_us, rules),
        first_us=ticks[next(number for number in range(begin, end) if number in delays)],
    )


def noise(ticks: Sequence[int], rules: Rules) -> Noise:
    """Find how steady an end was.

    Args:
        ticks: When it sent, in microseconds; at least two.
        rules: What counts as a pause.

    Returns:
        Its steps and pauses.
    """
    steps = sorted(after - before for before, after in pairwise(ticks))
    pause_us = rules.pause_us(ticks)
    blind = tuple(
        Blind(before, (after - before) / 1000) for before, after in pairwise(ticks) if after - before > pause_us
    )
    p99_ms = _p99_us(ticks) / 1000
    return Noise(len(ticks), median(steps) / 1000, p99_ms, steps[-1] / 1000, pause_us / 1000, blind)


def _p99_us(ticks: Sequence[int]) -> int:
    steps = sorted(after - before for before, after in pairwise(ticks))
    return steps[math.ceil(0.99 * len(steps)) - 1]


def _refuse_worthless(log: EndLog, name: str) -> None:
    if len(log.ticks_us) < 2:
        raise WorthlessResult(f"outage prober: {len(log.ticks_us)} packets were sent", name)
    if any(after < before for before, after in pairwise(log.ticks_us)):
        raise WorthlessResult("outage prober: the wall clock went back", name)
    if abs(log.clock_step_us) > CLOCK_STEP_US:
        raise WorthlessResult(f"outage prober: the wall clock was stepped by {log.clock_step_us} us meanwhile", name)
    if log.overflowed:
        raise WorthlessResult(f"outage prober: the receive buffer overflowed, {log.overflowed} packets dropped", name)


def _first_arrivals(receiver: EndLog, sent: int, name: str) -> tuple[dict[int, int], int, int]:
    """Return when each packet arrived first, how many arrived once more, how many after one that was sent later."""
    first: dict[int, int] = {}
    highest, duplicated, reordered = -1, 0, 0
    for number, at in receiver.arrivals:
        if not 0 <= number < sent:
            raise WorthlessResult(f"outage prober: packet {number} arrived, {sent} were sent", name)
        if number in first:
            duplicated += 1
            continue
        first[number] = at
        reordered += number < highest
        highest = max(highest, number)
    if not first:
        raise WorthlessResult("outage prober: no packet arrived at all", name)
    return first, duplicated, reordered


def _silent_most_ms(arrived: dict[int, int], window: range) -> float:
    """The longest time between two arrivals of packets that are judged."""
    stamps = sorted(at for number, at in arrived.items() if number in window)
    return max((after - before for before, after in pairwise(stamps)), default=0) / 1000


class _Listening:
    """Was the receiver at work when a packet sent at a time (sender's clock) should have arrived?"""

    def __init__(self, ticks: Sequence[int], base_us: int, rules: Rules) -> None:
        self._ticks, self._base, self._pause_us = ticks, base_us, rules.pause_us(ticks)

    def at(self, sent_us: int) -> bool:
        after = bisect_left(self._ticks, sent_us + self._base)
        if after in (0, len(self._ticks)):
            return False
        return self._ticks[after] - self._ticks[after - 1] <= self._pause_us


@dataclass(frozen=True)
class _Fate:
    """The fate of the packets of one direction."""

    ticks: Sequence[int]
    in_time: Sequence[bool]
    arrived: set[int]
    full: frozenset[int]
    hears: _Listening
    pause_us: float


def _outages(window: range, fate: _Fate) -> tuple[Outage, ...]:
    outages, run = list[Outage](), list[int]()
    for number in window:
        if not fate.in_time[number]:
            run.append(number)
        elif run:
            outages.append(_outage(run, window, fate))
            run = []
    if run:
        outages.append(_outage(run, window, fate))
    return tuple(outages)


def _outage(run: list[int], window: range, fate: _Fate) -> Outage:
    ticks, proven = fate.ticks, 0
    tried = not fate.full.issuperset(run)
    for before, after in pairwise(run):
        step = ticks[after] - ticks[before]
        paused = step > fate.pause_us
        if tried and not paused and fate.hears.at(ticks[before]) and fate.hears.at(ticks[after]):
            proven += step
    over = run[-1] + 1 < window.stop
    last = ticks[run[-1] + 1] if over else ticks[run[-1]]
    first = ticks[run[0] - 1] if run[0] > window.start else ticks[run[0]]
    late = sum(number in fate.arrived for number in run)
    heard = sum(number not in fate.full and fate.hears.at(ticks[number]) for number in run)
    return Outage(ticks[run[0]], proven / 1000, (last - first) / 1000, len(run), late, heard, over)
