"""The drift of a figure over a long time: its change by a straight line, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from niclab.core.decision import LEVEL, Decision
from niclab.stats.series import corrected_lag1, numbers
from niclab.stats.student import t_quantile

FEWEST = 8
"""Assumption: fewer values say nothing about how alike neighbours are."""
FALSE_ALARMS = 0.0005
"""Assumption: a figure that does not drift beyond what is allowed is called drifting so rarely."""


@dataclass(frozen=True)
class Trend:
    """The straight line through a figure.

    Attributes:
        start: Where it begins, in the unit of the figure.
        change: From the first value to the last one, in the same unit.
        error: Standard error of the change.
        df: Degrees of freedom of that error.
    """

    start: float
    change: float
    error: float
    df: float

    def bounds(self, tail: float) -> tuple[float, float]:
        """Return the interval of the change that is missed on each side with a probability.

        Args:
            tail: The probability of one side.
        """
        half = t_quantile(tail, self.df) * self.error
        return self.change - half, self.change + half

    def decision(self, at_most: float) -> Decision:
        """Judge whether the figure rises by no more than is allowed.

        Args:
            at_most: The rise that is allowed, in the unit of the figure.

        Returns:
            MISSED where it surely rises by more, MET where it rises by no more with a probability of 0.95.
        """
        if self.bounds(FALSE_ALARMS)[0] > at_most:
            return Decision.MISSED
        return Decision.MET if self.bounds(1 - LEVEL)[1] <= at_most else Decision.UNDECIDED


def trend(times: Sequence[float], values: Sequence[float]) -> Trend:
    """Fit a straight line by least squares.

    Neighbours are alike: residuals are taken for an AR(1) process, whose correlation r widens the error by
    sqrt((1 + r) / (1 - r)), and leaves n (1 - r) / (1 + r) values of their own (Bayley & Hammersley 1946).

    Args:
        times: When each value was taken, rising; any unit.
        values: The figure.

    Raises:
        ValueError: There are fewer than :data:`FEWEST`, or as many times as values are not there, or do not rise.
    """
    sample, at = numbers(values, at_least=FEWEST), numbers(times, at_least=FEWEST, what="times")
    if len(sample) != len(at) or any(a >= b for a, b in pairwise(at)):
        raise ValueError(f"{len(at)} times of {len(sample)} values; expected one each, rising")
    middle, mean = fmean(at), fmean(sample)
    spread = math.fsum((t - middle) ** 2 for t in at)
    slope = math.fsum((t - middle) * (v - mean) for t, v in zip(at, sample, strict=True)) / spread
    rest = [v - mean - slope * (t - middle) for t, v in zip(at, sample, strict=True)]
    alike = corrected_lag1(rest)
    own, span = len(sample) * (1 - alike) / (1 + alike), at[-1] - at[0]
    error = math.sqrt(math.fsum(r * r for r in rest) / (len(sample) - 2) / spread * (1 + alike) / (1 - alike))
    return Trend(mean + slope * (at[0] - middle), slope * span, error * span, max(own - 2, 1.0))
