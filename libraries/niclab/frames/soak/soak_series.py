"""The figures of a soak, one value a cycle, and what their drifts mean.

No drift is the card's for sure. Both servers may have kept their own pace, of which a round trip inside a server is the
measure; the peer's port and what joins it to the card carry the same frames all the same. Memory that goes may be kept
by a driver, and by any program of the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from niclab.core.decision import Decision
from niclab.core.verdict import Undecided
from niclab.stats.trends import FEWEST, Trend, trend

WARM_UP = 0.1
"""Assumption: so large a part of a soak is warm-up, in which caches fill and clocks settle; a cycle at least."""


class SoakFigure(Enum):
    """A kind of figure, and its unit."""

    RATE = "Mbit/s"
    ROUND_TRIP = "us"
    OWN_PACE = "us inside the server"
    FREE_MEMORY = "MB free"
    TEMPERATURE = "degrees C"


@dataclass(frozen=True)
class Rule:
    """The drift allowed: ``falls``: a fall is worse, else a rise; ``part`` of its begin, or ``least`` in its unit."""

    falls: bool
    part: float
    least: float = 0.0

    def allowed(self, start: float) -> float:
        """Return the drift that is allowed, in the unit of the figure.

        Args:
            start: Where it began.
        """
        return max(self.part * start, self.least)


RULES: Mapping[SoakFigure, Rule] = {
    SoakFigure.RATE: Rule(falls=True, part=0.1),
    SoakFigure.ROUND_TRIP: Rule(falls=False, part=0.5),
    SoakFigure.OWN_PACE: Rule(falls=False, part=0.25),
    SoakFigure.FREE_MEMORY: Rule(falls=True, part=0.02, least=16.0),
}
"""Assumptions. Temperatures are recorded alone: they follow the room."""
ANY_OF = "the card, the peer's port, or a cable or switch between them"
PACE = frozenset({SoakFigure.RATE, SoakFigure.ROUND_TRIP})
"""Figures that follow the pace of both servers as well."""


@dataclass(frozen=True)
class SoakMeasure:
    """A figure of a place, such as ``dut.p0 sends`` or ``peer``."""

    quantity: SoakFigure
    place: str

    def __str__(self) -> str:
        return f"{self.place}, {self.quantity.value}"


@dataclass(frozen=True)
class Cycle:
    """The figures of a cycle that ended ``at_s`` after the begin; a median or mean of each."""

    at_s: float
    found: Mapping[SoakMeasure, float]


@dataclass(frozen=True)
class Drift:
    """The drift of a figure. ``trend`` and ``decision`` None: too few values, or none that is judged."""

    measure: SoakMeasure
    trend: Trend | None
    decision: Decision | None

    @property
    def allowed(self) -> float | None:
        """The drift allowed, in the unit of the figure; None where nothing is judged."""
        rule = RULES.get(self.measure.quantity)
        return None if rule is None or self.trend is None else rule.allowed(abs(self.trend.start))

    def __str__(self) -> str:
        if self.trend is None:
            return f"{self.measure}: too few cycles; expected at least {FEWEST} after the warm-up"
        allowed, rule = self.allowed, RULES.get(self.measure.quantity)
        sign = -1 if rule is not None and rule.falls else 1
        said = f"{self.measure}: from {self.trend.start:.4g}, changed by {self.trend.change:+.3g}"
        if allowed is None:
            return f"{said}; recorded"
        return f"{said}; expected at most {sign * allowed:+.3g} (assumption)"


def warm_up(cycles: Sequence[Cycle]) -> Sequence[Cycle]:
    """Return the cycles of the warm-up.

    Args:
        cycles: In the order of time.
    """
    return cycles[: max(1, round(WARM_UP * len(cycles)))]


def settled(cycles: Sequence[Cycle]) -> Sequence[Cycle]:
    """Return the cycles behind the warm-up.

    Args:
        cycles: In the order of time.
    """
    return cycles[len(warm_up(cycles)) :]


def drifts(cycles: Sequence[Cycle]) -> list[Drift]:
    """Judge the drift of every figure, warm-up left out.

    Args:
        cycles: In the order of time.
    """
    left = settled(cycles)
    measures = dict.fromkeys(measure for each in cycles for measure in each.found)
    return [_drift(measure, [each for each in left if measure in each.found]) for measure in measures]


def _drift(measure: SoakMeasure, cycles: Sequence[Cycle]) -> Drift:
    points = [(each.at_s, each.found[measure]) for each in cycles]
    if len(points) < FEWEST:
        return Drift(measure, None, None)
    rule = RULES.get(measure.quantity)
    falls = rule is not None and rule.falls
    found = trend([at for at, _ in points], [-value if falls else value for _, value in points])
    decision = None if rule is None else found.decision(rule.allowed(abs(found.start)))
    shown = Trend(-found.start, -found.change, found.error, found.df) if falls else found
    return Drift(measure, shown, decision)


def findings(found: Sequence[Drift]) -> list[Undecided]:
    """Say what the drifts of a soak mean.

    Args:
        found: All of them.

    Returns:
        Nothing where every judged figure stayed within what is allowed.
    """
    paces = [each for each in found if each.measure.quantity is SoakFigure.OWN_PACE]
    unsteady = [str(each) for each in paces if each.decision is not Decision.MET]
    said = list[Undecided]()
    for each in found:
        quantity = each.measure.quantity
        if quantity is SoakFigure.OWN_PACE or quantity not in RULES or each.decision is Decision.MET:
            continue
        if each.decision is not Decision.MISSED:
            said.append(Undecided(f"{each}; the cycles cannot tell"))
        elif quantity in PACE and unsteady:
            said.append(Undecided("; ".join([str(each), *unsteady])))
        elif quantity in PACE:
            said.append(Undecided(f"{each}; both servers kept their pace: {ANY_OF}"))
        else:
            said.append(Undecided(f"{each}; a driver may keep it, and so may a program of the server"))
    return said
