"""The difference of a figure from day to day, on the same card under the same conditions.

Runs of one day do not show it: temperature, memory layout after a boot, and what else the servers do change between
days. Whoever compares today with one other day by the spread of their runs alone calls a usual day a slower card.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev

ASSUMED_PERCENT = 1.0
"""Assumption: standard deviation of a day's mean throughput, in percent, while fewer than ``ENOUGH_DAYS`` are known.
A bench that differs more shows it in its own days, which count as soon as there are two."""
ENOUGH_DAYS = 5
"""From as many days on the bench's own deviation counts also where it is smaller than the assumption."""


@dataclass(frozen=True)
class DayToDay:
    """``deviation``: standard deviation of a day's mean, of logarithms; ``df``: infinite where it is assumed."""

    deviation: float
    df: float
    days: int

    def error(self) -> float:
        """Standard error that days add to the difference between a new day and the mean of ``days`` days."""
        return self.deviation * math.sqrt(1 + 1 / self.days)

    @property
    def text(self) -> str:
        """``days differ by 1 % (assumed; 1 day accepted)``."""
        accepted = f"{self.days} day{'s' if self.days > 1 else ''} accepted"
        origin = f"assumed; {accepted}" if math.isinf(self.df) else f"of {accepted}"
        return f"days differ by {100 * math.expm1(self.deviation):.2g} % ({origin})"


def day_to_day(means: Sequence[float]) -> DayToDay:
    """From the means of the accepted days, of logarithms; the error of each mean is in their spread.

    Raises:
        ValueError: Without a day.
    """
    if not means:
        raise ValueError("no days; expected at least one")
    shown = stdev(means) if len(means) > 1 else 0.0
    assumed = math.log1p(ASSUMED_PERCENT / 100)
    if len(means) < ENOUGH_DAYS and shown <= assumed:
        return DayToDay(assumed, math.inf, len(means))
    return DayToDay(shown, len(means) - 1, len(means))
