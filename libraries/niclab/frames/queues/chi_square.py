"""Pearson's chi-square test of counts against their expected parts."""

from __future__ import annotations

import math
from collections.abc import Mapping


def chi_square(counts: Mapping[int, int], shares: Mapping[int, float]) -> float:
    """The sum of squared deviations, each over its expected count.

    Args:
        counts: What was counted.
        shares: Expected part of each, more than 0; together 1.
    """
    total = sum(counts.values())
    return sum((counts.get(each, 0) - total * share) ** 2 / (total * share) for each, share in shares.items())


def chi_square_upper_tail(value: float, df: int) -> float:
    """P(X > ``value``) of chi-square with ``df`` degrees of freedom: Q(df/2, value/2), Abramowitz & Stegun 26.4.19.

    By the sum for odd ``df`` (26.4.4) and even ones (26.4.5), whose terms are all positive.

    Raises:
        ValueError: ``df`` is less than 1, or ``value`` is negative or no number.
    """
    if df < 1 or not value >= 0:
        raise ValueError(f"chi-square {value!r} with {df!r} degrees of freedom; expected at least 0, and at least 1")
    half, odd = value / 2, df % 2
    found = math.erfc(math.sqrt(half)) if odd else 0.0
    if half == 0:
        return 1.0
    for power in (n + odd / 2 for n in range(df // 2)):
        found += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
    return min(1.0, found)
