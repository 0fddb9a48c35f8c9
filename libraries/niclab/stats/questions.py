"""The questions about a measurement, and the answer: met, missed, or undecided.

Every question is a region in which the true value must lie. The answer is MET when the whole interval lies inside,
MISSED when all of it lies outside on one side, and UNDECIDED otherwise. For a tolerance around zero, MET is the two
one-sided tests of equivalence (Schuirmann 1987).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum, StrEnum

from niclab.core.decision import Decision


class Direction(StrEnum):
    """The direction in which a figure gets better."""

    HIGHER = "higher"
    LOWER = "lower"


class Change(Enum):
    """The movement of a figure against its baseline, whatever its tolerance. UNCLEAR: the interval holds no change."""

    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "not distinguished"


@dataclass(frozen=True)
class Expected:
    """The true value must lie in ``low`` to ``high`` (one may be infinite). ``text`` says so, ``source`` why."""

    text: str
    low: float
    high: float
    source: str = ""

    def __post_init__(self) -> None:
        if not (self.low <= self.high and (math.isfinite(self.low) or math.isfinite(self.high)) and self.text.strip()):
            raise ValueError(f"expected {self.text!r}: {self.low!r} to {self.high!r}; expected a text, and a region")

    @property
    def said(self) -> str:
        """The text, and where it is from."""
        return f"{self.text} ({self.source})" if self.source else self.text

    def in_unit(self, unit: str) -> Expected:
        """The same limit of a mean, with its unit: ``at least 22.5 Mbit/s``."""
        return replace(self, text=f"{self.text} {unit}".rstrip())

    def decide(self, low: float, high: float) -> Decision:
        """The answer when the true value is known to lie in ``low`` to ``high``."""
        if self.low <= low and high <= self.high:
            return Decision.MET
        if high < self.low or low > self.high:
            return Decision.MISSED
        return Decision.UNDECIDED


def at_least(limit: float, source: str = "") -> Expected:
    """The mean is ``limit`` or more, in the unit of the values, which its judge puts behind it."""
    return Expected(f"at least {_finite(limit):g}", limit, math.inf, source)


def at_most(limit: float, source: str = "") -> Expected:
    """The mean is ``limit`` or less, in the unit of the values, which its judge puts behind it."""
    return Expected(f"at most {_finite(limit):g}", -math.inf, limit, source)


def raises_by(percent: float, source: str = "") -> Expected:
    """A setting raises the figure by at least ``percent`` % of the baseline."""
    return Expected(f"at least {_positive(percent):g} % more", percent, math.inf, source)


def lowers_by(percent: float, source: str = "") -> Expected:
    """A setting lowers the figure by at least ``percent`` % of the baseline."""
    return Expected(f"at least {_positive(percent, below=100):g} % less", -math.inf, -percent, source)


def not_worse_by(percent: float, direction: Direction, source: str = "") -> Expected:
    """The figure is worse than its baseline by at most ``percent`` %; an improvement of any size will do."""
    text = f"at most {_positive(percent, below=100):g} % worse ({direction} is better)"
    low, high = (-percent, math.inf) if direction is Direction.HIGHER else (-math.inf, percent)
    return Expected(text, low, high, source)


@dataclass(frozen=True)
class Look:
    """The knowledge after ``n`` repeats; estimate and bounds in the unit of the result."""

    n: int
    critical: float
    estimate: float
    low: float
    high: float
    decision: Decision


@dataclass(frozen=True)
class Outcome:
    """The answer to a question.

    ``estimate``, ``low`` and ``high`` are in ``unit``; ``level`` holds for all ``looks`` together. ``n`` counts
    ``counted`` ("runs" or "pairs"). ``change``: only against a baseline.
    ``reason``: the whole answer as one sentence. ``warnings``: of runs far on the wrong side of the rest, also in the
    reason. ``discarded``: how many runs were made for it and not counted.
    """

    estimate: float
    low: float
    high: float
    unit: str
    level: float
    n: int
    expected: Expected
    decision: Decision
    change: Change | None
    looks: tuple[Look, ...]
    reason: str
    warnings: tuple[str, ...] = ()
    discarded: int = 0


def rounded(estimate: float, low: float, high: float, *, signed: bool = False) -> tuple[str, str, str]:
    """The three numbers with two digits of the interval's half width; bounds are rounded outwards."""
    half = (high - low) / 2
    size = half if half > 0 else max(abs(estimate), 1e-12) * 1e-5
    decimals = 1 - math.floor(math.log10(size))
    scale = 10.0**decimals
    numbers = (round(estimate * scale) / scale, math.floor(low * scale) / scale, math.ceil(high * scale) / scale)
    if half <= 0:
        numbers = (estimate, low, high)
    sign = "+" if signed else ""
    one, two, three = (f"{number + 0.0:{sign}.{max(0, decimals)}f}" for number in numbers)
    return one, two, three


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"limit {value!r}; expected a finite number")
    return value


def _positive(percent: float, below: float = math.inf) -> float:
    if not 0 < percent < below:
        raise ValueError(f"{percent!r} %; expected more than 0 and less than {below:g}")
    return percent
