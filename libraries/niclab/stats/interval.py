"""Confidence intervals of the mean of few repeats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from niclab.stats.series import corrected_lag1, numbers, widening
from niclab.stats.student import t_quantile

LEVEL = 0.95
_SKEW_WEIGHT = 2.0
_SKEW_CRITICAL = 3.0
_AS_NORMAL = 10_000


@dataclass(frozen=True)
class Interval:
    """``low`` to ``high`` holds the true mean with probability ``level``; all in the unit of the values."""

    estimate: float
    low: float
    high: float
    level: float
    n: int


def t_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """Mean of independent repeats +- t(n - 1) s / sqrt(n). The order of the values does not matter.

    Raises:
        ValueError: Below 2 values, or for a level outside 0..1.
    """
    sample = numbers(values, at_least=2)
    mean = fmean(sample)
    # not stdev(), whose fractions take ten times as long: a page of trends has 25,000 intervals
    deviation = math.sqrt(math.fsum((each - mean) ** 2 for each in sample) / (len(sample) - 1))
    half = t_quantile(_tail(level), len(sample) - 1) * deviation / math.sqrt(len(sample))
    return Interval(mean, mean - half, mean + half, level, len(sample))


@dataclass(frozen=True)
class Guarded:
    """A mean of few repeats with what its bounds need: standard error, and how far a long tail moves each bound out."""

    mean: float
    error: float
    df: int
    tail_below: float
    tail_above: float

    def bounds(self, critical: float, resolution: float = 0.0) -> tuple[float, float]:
        """Mean +- ``critical`` standard errors, the side of a long tail further; at least ``resolution`` / 2."""
        half, least = critical * self.error, resolution / 2
        return self.mean - max(half + self.tail_below, least), self.mean + max(half + self.tail_above, least)


def guarded(sample: Sequence[float], critical: float, correlation: float = 0.0) -> Guarded:
    """The mean of few repeats in time order, guarded where the repeats warn.

    * Neighbours are alike: the error is s / sqrt(n) times :func:`~niclab.stats.series.widening` for the correlation
      found, at least for ``correlation``.
    * One tail is long: the bound on that side moves out by 2 |g| (1 + 2 c^2) / (6 n) s, twice the first term of the
      Edgeworth expansion of t (Johnson 1978, JASA 73:536), because few repeats show too little of their skewness g.
      c is ``critical``, at most 3. No bound ever moves in.
    """
    n, deviation = len(sample), stdev(sample)
    error = deviation * widening(n, max(corrected_lag1(sample), correlation)) / math.sqrt(n)
    skewness = sample_skewness(sample)
    c = min(critical, _SKEW_CRITICAL)
    tail = _SKEW_WEIGHT * abs(skewness) * (1 + 2 * c * c) / (6 * n) * deviation
    return Guarded(fmean(sample), error, n - 1, tail if skewness < 0 else 0.0, tail if skewness > 0 else 0.0)


def guarded_difference(new: Guarded, old: Guarded) -> Guarded:
    """``new`` minus ``old``, two independent samples."""
    error, df = _summed([(new.error, new.df), (old.error, old.df)])
    return Guarded(
        new.mean - old.mean,
        error,
        df,
        new.tail_below + old.tail_above,
        new.tail_above + old.tail_below,
    )


def mean_of(parts: Sequence[Guarded]) -> Guarded:
    """The mean of independent means, each of the same weight."""
    error, df = _summed([(part.error, part.df) for part in sorted(parts, key=lambda part: part.df)])
    return Guarded(
        fmean(part.mean for part in parts),
        error / len(parts),
        df,
        fmean(part.tail_below for part in parts),
        fmean(part.tail_above for part in parts),
    )


def widened(found: Guarded, error: float, df: float) -> Guarded:
    """``found`` with one more independent standard error of ``df`` degrees of freedom, infinite where it is assumed."""
    both, degrees = _summed([(found.error, found.df), (error, df)])
    return replace(found, error=both, df=degrees)


def _summed(errors: Sequence[tuple[float, float]]) -> tuple[float, int]:
    """The error of a sum of independent values, and its degrees of freedom by Welch (1947), rounded down.

    ``errors``: standard error and degrees of freedom of each; the first tells those of a sum whose error they do not.
    """
    squares = [error**2 for error, _ in errors]
    total, spread = math.fsum(squares), math.fsum(one**2 / df for one, (_, df) in zip(squares, errors, strict=True))
    degrees = total**2 / spread if spread else errors[0][1]
    # errors that are tiny next to an assumed deviation leave a normal distribution; the quantile needs a number
    return math.sqrt(total), max(math.floor(min(degrees, _AS_NORMAL)), 1)


def sample_skewness(sample: Sequence[float]) -> float:
    """Adjusted Fisher-Pearson skewness G1; 0 below 3 values or when all are the same."""
    n, mean = len(sample), fmean(sample)
    farthest = max(abs(value - mean) for value in sample)
    if n < 3 or farthest == 0:
        return 0.0
    parts = [(value - mean) / farthest for value in sample]  # powers of tiny values would vanish
    second, third = fmean(part**2 for part in parts), fmean(part**3 for part in parts)
    return third / (second * math.sqrt(second)) * math.sqrt(n * (n - 1)) / (n - 2)


def _tail(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level {level!r}; expected more than 0 and less than 1")
    return (1 - level) / 2
