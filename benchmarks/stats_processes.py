"""Series of known mean 0 and standard deviation 1 to try statistics on, and the rules others stop by."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable

from niclab.stats.student import t_quantile

Process = Callable[[random.Random, int], list[float]]


def independent(rng: random.Random, n: int) -> list[float]:
    return [rng.gauss(0, 1) for _ in range(n)]


def autoregressive(phi: float) -> Process:
    """x(i+1) = phi x(i) + noise, begun in its steady state."""

    def draw(rng: random.Random, n: int) -> list[float]:
        value, values = rng.gauss(0, 1), []
        for _ in range(n):
            values.append(value)
            value = phi * value + math.sqrt(1 - phi * phi) * rng.gauss(0, 1)
        return values

    return draw


def long_tail(rng: random.Random, n: int) -> list[float]:
    """Exponential, skewness 2; the long tail is above."""
    return [rng.expovariate(1) - 1 for _ in range(n)]


def some_tail(rng: random.Random, n: int) -> list[float]:
    """Gamma of shape 16, skewness 0.5; about what means of 60 skewed seconds have."""
    return [(rng.gammavariate(16, 1) - 16) / 4 for _ in range(n)]


def mirrored(process: Process) -> Process:
    """The long tail is below: throughput that dips."""
    return lambda rng, n: [-value for value in process(rng, n)]


PROCESSES: dict[str, Process] = {
    "independent normal": independent,
    "AR(1) 0.3": autoregressive(0.3),
    "AR(1) 0.6": autoregressive(0.6),
    "skewed 0.5": some_tail,
    "skewed -0.5": mirrored(some_tail),
    "skewed 2": long_tail,
    "skewed -2": mirrored(long_tail),
}


def netperf_loop(values: list[float], mean: float) -> tuple[int, float, float]:
    """Return what ``netperf -i 10,3 -I 95,5`` does with runs of ``mean`` + values: when it stops, and its interval.

    It looks after each run from the third on and stops as soon as the 95 % t interval is within +- 2.5 % of the mean,
    at the latest after ten. Returns runs used, low and high.
    """
    for n in range(3, 11):
        used = [mean + value for value in values[:n]]
        middle = statistics.fmean(used)
        half = t_quantile(0.025, n - 1) * statistics.stdev(used) / math.sqrt(n)
        if half <= 0.025 * middle:
            break
    return n, middle - half, middle + half
