"""Block bootstrap of the mean of a series whose neighbours are alike.

Single values drawn at random would lose the correlation and promise too narrow an interval; blocks keep it. The three
ways to lay blocks: moving (Kuensch 1989), circular (Politis & Romano 1992), and stationary with blocks of random,
geometric length (Politis & Romano 1994, JASA 89:1303). The block length is chosen from the series: Politis & White
2004 (Econometric Reviews 23:53) with the correction of Patton, Politis & White 2009 (28:372).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from enum import Enum
from itertools import accumulate

from niclab.stats.series import autocovariances, numbers

DRAWS = 999
_FEWEST = 8


class Blocks(Enum):
    MOVING = "moving"
    CIRCULAR = "circular"
    STATIONARY = "stationary"


def block_length(values: Sequence[float], blocks: Blocks = Blocks.STATIONARY) -> float:
    """The block length (mean length for stationary) with the least error of the variance of the mean; at least 1.

    b = (2 G^2 / D)^(1/3) n^(1/3), with g(0) = sum w(k) R(k), G = sum w(k) |k| R(k) over the autocovariances R up to
    where they are noise, a flat-top window w, and D = 2 g(0)^2 for stationary, 4/3 g(0)^2 for other blocks.
    """
    series = numbers(values, at_least=_FEWEST)
    n = len(series)
    run = max(5, math.ceil(math.sqrt(math.log10(n))))
    longest = min(math.ceil(math.sqrt(n)) + run, n - 1)
    cov = autocovariances(series, longest)
    if cov[0] <= 0:
        return 1.0
    window = min(2 * max(_last_real_lag(cov, n, run), 1), longest)
    zero, first = cov[0], 0.0
    for lag in range(1, window + 1):
        weight = min(1.0, 2 * (1 - lag / window))
        zero += 2 * weight * cov[lag]
        first += 2 * weight * lag * cov[lag]
    if zero <= 0:
        return 1.0
    spread = (2 if blocks is Blocks.STATIONARY else 4 / 3) * zero * zero
    length = math.cbrt(2 * first * first / spread * n)
    return min(max(length, 1.0), math.ceil(min(3 * math.sqrt(n), n / 3)))


def _last_real_lag(cov: Sequence[float], n: int, run: int) -> int:
    """The lag after which ``run`` autocorrelations in a row are within 2 sqrt(log10(n) / n): noise."""
    noise = 2 * math.sqrt(math.log10(n) / n) * cov[0]
    for lag in range(len(cov)):
        following = cov[lag + 1 : lag + 1 + run]
        if all(abs(value) < noise for value in following):
            return lag
    return len(cov) - 1


def resampled_means(
    values: Sequence[float], *, blocks: Blocks, length: float, seed: int, draws: int = DRAWS
) -> list[float]:
    """Sorted means of ``draws`` series of the same length, laid from blocks of ``values``; same seed, same means.

    :param length: of a block, at least 1; rounded except for stationary blocks, where it is the mean length.
    """
    series = numbers(values, at_least=_FEWEST)
    n = len(series)
    if not 1 <= length <= n:
        raise ValueError(f"block length {length!r}; wanted: 1 to {n}, the number of values")
    sums = [0.0, *accumulate(series + series)]
    generator = random.Random(seed)
    whole = round(length)
    starts = n - whole + 1 if blocks is Blocks.MOVING else n

    end_rate = math.log(1 - 1 / length) if blocks is Blocks.STATIONARY and length > 1 else None
    uniform, log = generator.random, math.log

    def draw() -> float:
        total, left = 0.0, n
        while left:
            start = int(uniform() * starts)
            take = min(left, whole if end_rate is None else 1 + int(log(1 - uniform()) / end_rate))
            total += sums[start + take] - sums[start]
            left -= take
        return total / n

    return sorted(draw() for _ in range(draws))


def bootstrap_bounds(
    values: Sequence[float], level: float, *, seed: int, blocks: Blocks = Blocks.STATIONARY, draws: int = DRAWS
) -> tuple[float, float]:
    """Percentile interval of the mean with ``level``, block length by :func:`block_length`."""
    means = resampled_means(values, blocks=blocks, length=block_length(values, blocks), seed=seed, draws=draws)
    tail = (1 - level) / 2
    return means[max(0, math.floor(tail * (draws + 1)) - 1)], means[
        min(draws - 1, math.ceil((1 - tail) * (draws + 1)) - 1)
    ]
