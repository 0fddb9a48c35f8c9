"""Measure until the question is decided or the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from niclab.core.decision import Decision
from niclab.core.verdict import Undecided
from niclab.stats.judge import judge_pairs, judge_values
from niclab.stats.precise import repeat_until
from niclab.stats.questions import Expected, Outcome
from niclab.stats.run_plan import SamplingPlan, schedule


def measure_limit(
    measure: Callable[[], float],
    expected: Expected,
    unit: str,
    plan: SamplingPlan,
    may_go_on: Callable[[], bool] = lambda: True,
    also: Callable[[Sequence[float]], bool] | None = None,
) -> tuple[list[float], Outcome]:
    """Run ``measure`` until ``expected`` is decided or the budget is spent; return the counted values and the answer.

    ``also``: asked of the values once the limit is decided; runs go on while it is false.

    Raises:
        Undecided: When the time was spent before the first look.
    """

    def enough(values: Sequence[float]) -> bool:
        is_clear = judge_values(values, expected, unit, plan).decision is not Decision.UNDECIDED
        return is_clear and (also is None or also(values))

    values = repeat_until(measure, enough, plan, may_go_on)
    return values, judge_values(values, expected, unit, plan)


def measure_effect(
    measure: Callable[[str], float],
    variants: tuple[str, str],
    expected: Expected,
    plan: SamplingPlan,
    *,
    seed: int,
    may_go_on: Callable[[], bool] = lambda: True,
) -> tuple[list[tuple[float, float]], Outcome]:
    """Run baseline and setting in turns (:func:`~niclab.stats.run_plan.schedule`); return the pairs and the answer.

    Args:
        measure: One run of the variant it is given; it sets what the variant needs, and proves it.
        variants: Names of baseline and setting.
        expected: What is expected.
        plan: How many runs at least and at most, and the confidence.
        seed: Seed of the order, noted in the log.
        may_go_on: Asked before each run; false ends the measurement.

    Raises:
        Undecided: When the time was spent before the first look.
    """
    baseline, setting = variants
    block: dict[str, float] = {}
    pairs: list[tuple[float, float]] = []
    result: Outcome | None = None
    for turn in schedule(variants, plan.most, seed=seed, warm_up_runs=plan.warm_up_runs):
        if not block and turn.counted and not may_go_on():
            break
        figure = measure(turn.variant)
        if not turn.counted:
            continue
        block[turn.variant] = figure
        if len(block) < len(variants):
            continue
        pairs.append((block[baseline], block[setting]))
        block.clear()
        if len(pairs) in plan.looks:
            result = judge_pairs(pairs, expected, plan)
            if result.decision is not Decision.UNDECIDED:
                break
    if result is None:
        raise Undecided(f"{len(pairs)} pairs made when the time was spent; expected at least {plan.first_look}")
    return pairs, result
