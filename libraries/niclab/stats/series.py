"""Properties of a series of measurements in time order: autocorrelation, how much it really knows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

_LARGEST_CORRELATION = 0.95
_FEWEST_FOR_CORRELATION = 4


def numbers(values: Sequence[float], *, at_least: int, what: str = "values") -> tuple[float, ...]:
    """``values`` as they are, when they can be worked with.

    Raises:
        ValueError: When there are fewer than ``at_least``, or one is not a finite number.
    """
    if len(values) < at_least:
        raise ValueError(f"{len(values)} {what}; expected at least {at_least}")
    for place, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{what}[{place}]: {value!r} is not wanted; expected a finite number")
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
    """Return how many independent values know as much about the mean: n / V for the AR(1) correlation."""
    n = len(values)
    return n / mean_variance_factor(n, corrected_lag1(values))
