"""Coalescing times: a longer one holds a frame that comes alone longer, and each of them no longer than its share.

Round trips of one byte, one at a time, are made in turns with times from the least to the longest. An interrupt is held
for at most the time that is set, counted from the frame or the interrupt before: a part of the longest time adds at
most that part of what the longest one adds, and never less than a shorter time does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from niclab.bench.records import Role
from niclab.card import Card, CoalescingFacts, SettingKind
from niclab.core.verdict import CardFailure, NotApplicable, SheetUnknown, Undecided
from niclab.report.pages.charts import ChartLine, LineChart, Point
from niclab.report.reporter import Reporter
from niclab.run.run import Run
from niclab.settings import coalescing
from niclab.settings.dut_ports import DutPort, driver_section
from niclab.traffic.effects.adaptive import RUN_S, SETTLES_S, SHOWS, TURNS, require_shown
from niclab.traffic.runs import endpoints
from niclab.traffic.tools import round_trips

NAME = "rx-usecs"
PARTS = (0, 1 / 8, 1 / 4, 1 / 2, 1)
"""Parts of the longest time."""
SLACK = 0.25
"""Assumption: of what the longest time adds. Servers and timers differ by less between two runs."""
LEAST_VALUES = 3
"""Least number of different values: two have nothing between them."""


@dataclass(frozen=True)
class StepsTurn:
    """Seconds of a round trip by the time that the driver shows, in us; at least two of them, rising."""

    found: Mapping[int, float]

    @property
    def shows(self) -> bool:
        """Does the longest time show?"""
        return self._longest_s >= SHOWS * self._least_s

    @property
    def wrong(self) -> dict[int, str]:
        """The times that hold frames longer than their share, or less than a shorter one does, and how."""
        longest, adds, wrong = max(self.found), self._longest_s - self._least_s, dict[int, str]()
        parts = {usecs: (seconds - self._least_s) / adds for usecs, seconds in self.found.items()}
        for usecs, part in parts.items():
            if part > usecs / longest + SLACK:
                wrong[usecs] = f"{part:.2f} of what {longest} adds; expected at most {usecs / longest:.2f}"
        for (shorter, less), (usecs, part) in pairwise(parts.items()):
            if part < less - SLACK:
                wrong[usecs] = f"{part:.2f} of what {longest} adds; expected at least {less:.2f} as with {shorter}"
        return wrong

    @property
    def _least_s(self) -> float:
        return self.found[min(self.found)]

    @property
    def _longest_s(self) -> float:
        return self.found[max(self.found)]

    def __str__(self) -> str:
        return ", ".join(f"{usecs}: {1e3 * seconds:.3f} ms" for usecs, seconds in self.found.items())


def require_steps(run: Run, reporter: Reporter) -> None:
    """See that coalescing times of the dut's port on the first path hold single frames in proportion.

    Args:
        run: The current run.
        reporter: Takes each turn as a sentence, and the curve.

    Raises:
        CardFailure: In every turn a time holds frames longer than its share, or less than a shorter one does.
        BenchFault: A run fails, or the setting could not be put back.
        Undecided: It does so in some turns, or the longest time shows in some of them alone.
        NotApplicable: The sheet or the driver has no such times, or the longest shows in no turn.
        SheetUnknown: The sheet does not know the longest time.
    """
    path = run.bench.paths[0]
    dut = DutPort(run, run.bench.end(path, Role.DUT))
    read = dut.host.settings.coalescing
    section = driver_section(run, "coalescing", CoalescingFacts, lambda _: read(dut.iface))
    longest, ends = _longest(run.card, section), endpoints.ends(run, path, Role.PEER)

    def with_time(usecs: int) -> tuple[int, float]:
        shown = coalescing.put(dut.host, read(dut.iface), NAME, usecs).now
        round_trips.per_second(run, ends, SETTLES_S)
        return shown or 0, 1 / round_trips.per_second(run, ends, RUN_S)

    turns, values = list[StepsTurn](), [round(part * longest) for part in PARTS]
    with dut.put_back("times of coalescing are measured", dut.host.undo.coalescing(dut.iface, (NAME,))):
        for number in range(TURNS):
            order = values[number:] + values[:number]
            found = dict(sorted(with_time(usecs) for usecs in order))
            if len(found) < LEAST_VALUES:
                shown = ", ".join(map(str, found))
                raise NotApplicable(f"{dut.place}: {NAME} is {shown} when {', '.join(map(str, values))} are set")
            turns.append(StepsTurn(found))
            reporter.say(f"{dut.place}: round trips by {NAME}: {turns[-1]}")
    reporter.chart(chart(dut.place, turns))
    judge(dut.place, turns)


def judge(place: str, turns: Sequence[StepsTurn]) -> None:
    """Judge the turns.

    Args:
        place: The port.
        turns: What was measured.

    Raises:
        CardFailure: A time is wrong in every turn.
        Undecided: It is in some, or the longest time shows in some alone.
        NotApplicable: It shows in none.
    """
    said = f"{place}: round trips by {NAME}: {'; '.join(map(str, turns))}"
    require_shown(said, "longest", [turn.shows for turn in turns])
    wrong = [turn.wrong for turn in turns]
    always = [usecs for usecs in wrong[0] if all(usecs in each for each in wrong)]
    if always:
        raise CardFailure("\n".join(f"{place}: {NAME} {usecs} holds frames for {wrong[0][usecs]}" for usecs in always))
    if any(wrong):
        seen = [f"{NAME} {usecs} holds frames for {how}" for each in wrong for usecs, how in each.items()]
        raise Undecided(f"{said}: in some turns {'; '.join(seen)}")


def chart(place: str, turns: Sequence[StepsTurn]) -> LineChart:
    """Return the round trip against the time that is set; the median of all turns, from the least to the most.

    Args:
        place: The port.
        turns: What was measured.
    """
    at = {usecs: [1e3 * turn.found[usecs] for turn in turns if usecs in turn.found] for usecs in turns[0].found}
    points = tuple(Point(usecs, median(found), min(found), max(found)) for usecs, found in at.items())
    return LineChart("Round trips by coalescing time", "", f"{NAME} (us)", "ms", (ChartLine(place, points),))


def _longest(card: Card, section: CoalescingFacts) -> int:
    """The longest time that the sheet knows: of the driver, or of what it predicts."""
    row = next((row for row in section.parameters if row.name == NAME), None)
    if row is None or row.settable is not True:
        raise NotApplicable(f"sheet {card.name} lists no {NAME} that can be set")
    if isinstance(row.max, int):
        return row.max
    settings = [each for effect in card.effects for each in (*effect.change, *effect.against)]
    known = [each.to for each in settings if each.kind is SettingKind.COALESCING and each.name == NAME]
    times = [value for value in known if isinstance(value, int)]
    if not times:
        raise SheetUnknown(f"sheet {card.name} does not know the longest {NAME}")
    return max(times)
