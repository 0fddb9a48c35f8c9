"""Measure until the interval is narrow enough to show a figure, where no limit is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from niclab.core.verdict import Undecided
from niclab.stats.interval import guarded
from niclab.stats.run_plan import SamplingPlan


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval, in the unit of the values. ``narrow``: the interval is as narrow as was asked for."""

    estimate: float
    low: float
    high: float
    n: int
    narrow: bool


def estimate(values: Sequence[float], plan: SamplingPlan, width: float) -> Estimate:
    """The first look of ``plan`` at which high - low is at most ``width`` times the mean; else the last one.

    The bounds hold over all looks together, so that stopping at a narrow one does not flatter.

    Raises:
        ValueError: For less values than the first look needs.
    """
    if len(values) < plan.first_look:
        raise ValueError(f"{len(values)} runs; expected at least {plan.first_look}")
    found: Estimate | None = None
    for n, critical in zip(plan.looks, plan.boundaries, strict=True):
        if n > len(values) or (found is not None and found.narrow):
            break
        look = guarded(values[:n], critical, plan.correlation)
        low, high = look.bounds(critical, plan.resolution)
        found = Estimate(look.mean, low, high, n, high - low <= width * abs(look.mean))
    assert found is not None  # the first look is among the values
    return found


def repeat_until(
    measure: Callable[[], float],
    enough: Callable[[Sequence[float]], bool],
    plan: SamplingPlan,
    may_go_on: Callable[[], bool] = lambda: True,
) -> list[float]:
    """Run ``measure`` until ``enough`` says so at a look of ``plan``, or the budget is spent: the counted values.

    The plan's warm-up runs come first and are not counted.

    Raises:
        Undecided: When the time was spent before the first look.
    """
    for _ in range(plan.warm_up_runs):
        measure()
    values: list[float] = []
    while len(values) < plan.most and may_go_on():
        values.append(measure())
        if len(values) in plan.looks and enough(values):
            break
    if len(values) < plan.first_look:
        raise Undecided(f"{len(values)} runs made when the time was spent; expected at least {plan.first_look}")
    return values
