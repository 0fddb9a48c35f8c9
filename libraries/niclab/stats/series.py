"""What a series of measurements in time order shows by itself: warm-up, autocorrelation, how much it really knows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from niclab.core.verdict import Undecided

BATCH = 5
"""Observations a batch of MSER-5."""
_LARGEST_CORRELATION = 0.95
_FEWEST_FOR_CORRELATION = 4
_DRIFT = 3.5


def numbers(values: Sequence[float], *, at_least: int, what: str = "values") -> tuple[float, ...]:
    """``values`` as they are, when they can be worked with.

    :raises ValueError: when there are fewer than ``at_least``, or one is not a finite number.
    """
    if len(values) < at_least:
        raise ValueError(f"{len(values)} {what}; wanted: at least {at_least}")
    for place, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{what}[{place}]: {value!r} is not wanted; wanted: a finite number")
    return tuple(map(float, values))


def autocovariances(values: Sequence[float], most: int) -> list[float]:
    """Autocovariances at lags 0..``most``, each divided by n (not n - lag), so that they belong to a real process."""
    n, mean = len(values), fmean(values)
    off = [value - mean for value in values]
    return [sum(a * b for a, b in zip(off, off[lag:], strict=False)) / n for lag in range(most + 1)]


def lag1(values: Sequence[float]) -> float | None:
    """Correlation of neighbours, as estimated (biased towards -1/n). None below 4 values or when all are the same."""
    if len(values) < _FEWEST_FOR_CORRELATION or min(values) == max(values):
        return None
    variance, neighbour = autocovariances(values, 1)
    return neighbour / variance if variance > 0 else None


def corrected_lag1(values: Sequence[float]) -> float:
    """The correlation of neighbours to reckon with: 0 to 0.95.

    The estimate r is too low by (1 + 3 rho) / n (Marriott & Pope 1954; Kendall 1954), so rho = (n r + 1) / (n - 3).
    A negative one would make intervals narrower; it is taken as 0. It is also 0 where :func:`lag1` is None.
    """
    found, n = lag1(values), len(values)
    if found is None:
        return 0.0
    return min(max((n * found + 1) / (n - 3), 0.0), _LARGEST_CORRELATION)


def mean_variance_factor(n: int, correlation: float) -> float:
    """Var(mean) of n values of an AR(1) process, over that of independent ones: 1 + 2 sum (1 - k/n) rho^k."""
    if correlation == 0:
        return 1.0
    rho = correlation
    return (1 + rho) / (1 - rho) - 2 * rho * (1 - rho**n) / (n * (1 - rho) ** 2)


def widening(n: int, correlation: float) -> float:
    """By how much an AR(1) correlation widens a t interval of n values; 1 without correlation.

    The mean varies more by V = :func:`mean_variance_factor`, and the sample variance is too low by (n - V) / (n - 1).
    """
    factor = mean_variance_factor(n, correlation)
    return math.sqrt(factor * (n - 1) / (n - factor))


def effective_size(values: Sequence[float]) -> float:
    """How many independent values know as much about the mean: n / V for the AR(1) correlation reckoned with."""
    n = len(values)
    return n / mean_variance_factor(n, corrected_lag1(values))


@dataclass(frozen=True)
class WarmUp:
    """``dropped``: values at the start to leave out. ``drift``: slope of the rest in standard errors."""

    dropped: int
    drift: float
    settled: bool


def warm_up(values: Sequence[float]) -> WarmUp:
    """MSER-5 (White 1997, Simulation 69:323; White, Cobb & Spratt 2000): where the start ends.

    Means of batches of 5 are taken; the cut d makes sum over i > d of (Z_i - mean)^2 / (k - d)^2 smallest, which is the
    squared standard error of what remains. At most the first half is cut. The rest is settled when it has no trend: its
    slope is within 3.5 standard errors of 0, widened for the correlation of what the straight line leaves.

    :raises ValueError: below 20 values.
    """
    series = numbers(values, at_least=4 * BATCH, what="seconds")
    batches = [fmean(series[i : i + BATCH]) for i in range(0, len(series) - BATCH + 1, BATCH)]
    cuts = range(len(batches) // 2 + 1)
    scores = [_squared_error(batches[cut:]) for cut in cuts]
    dropped = min(cuts, key=scores.__getitem__) * BATCH
    drift = _drift(series[dropped:])
    return WarmUp(dropped, drift, abs(drift) <= _DRIFT)


def _squared_error(batches: Sequence[float]) -> float:
    mean = fmean(batches)
    return sum((batch - mean) ** 2 for batch in batches) / len(batches) ** 2


def _drift(values: Sequence[float]) -> float:
    """Slope of the straight line through ``values`` over its standard error; infinite for a line without noise."""
    n, mean = len(values), fmean(values)
    times = [i - (n - 1) / 2 for i in range(n)]
    spread = sum(time * time for time in times)
    slope = sum(time * value for time, value in zip(times, values, strict=True)) / spread
    left = [value - mean - slope * time for time, value in zip(times, values, strict=True)]
    error = math.sqrt(sum(value * value for value in left) / (n - 2) / spread) * widening(n, corrected_lag1(left))
    if error == 0:
        return math.copysign(math.inf, slope) if slope else 0.0
    return slope / error


def steady_part(values: Sequence[float], what: str) -> tuple[float, ...]:
    """``values`` without their warm-up.

    :param what: whose seconds they are, for the message.
    :raises Undecided: when the rest still rises or falls.
    :raises ValueError: below 20 values.
    """
    found = warm_up(values)
    if not found.settled:
        raise Undecided(
            f"{what}: no steady state in {len(values)} s: without the first {found.dropped} s it still "
            f"{'rises' if found.drift > 0 else 'falls'} (slope {found.drift:.1f} standard errors from 0, "
            f"wanted at most {_DRIFT})"
        )
    return tuple(values[found.dropped :])
