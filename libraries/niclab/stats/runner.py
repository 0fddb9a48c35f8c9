"""Measure until the question is decided or the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from niclab.core.decision import Decision
from niclab.core.verdict import Undecided
from niclab.stats.judge import judge_pairs, judge_values
from niclab.stats.precise import repeat_until
from niclab.stats.questions import Expected, Outcome
from niclab.stats.run_plan import SamplingPlan, schedule

Pairs = list[tuple[float, float]]
K = TypeVar("K")


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
) -> tuple[Pairs, Outcome]:
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
    found = measure_effects(
        lambda variant, _: {None: measure(variant)}, variants, {None: expected}, plan, seed=seed, may_go_on=may_go_on
    )
    return found[None]


def measure_effects(
    measure: Callable[[str, Sequence[K]], Mapping[K, float]],
    variants: tuple[str, str],
    expected: Mapping[K, Expected],
    plan: SamplingPlan,
    *,
    seed: int,
    may_go_on: Callable[[], bool] = lambda: True,
) -> dict[K, tuple[Pairs, Outcome]]:
    """Run baseline and setting in turns, for several figures of each turn; return pairs and answer of each figure.

    A figure that is decided is not measured again.

    Args:
        measure: One turn of the variant it is given, with the figures it is given; it sets what the variant needs.
        variants: Names of baseline and setting.
        expected: What is expected of each figure.
        plan: How many runs at least and at most, and the confidence.
        seed: Seed of the order, noted in the log.
        may_go_on: Asked before each pair; false ends the measurement.

    Raises:
        Undecided: When the time was spent before the first look.
    """
    baseline, setting = variants
    block: dict[str, Mapping[K, float]] = {}
    pairs: dict[K, Pairs] = {figure: [] for figure in expected}
    results: dict[K, Outcome] = {}
    left = list(expected)
    for turn in schedule(variants, plan.most, seed=seed, warm_up_runs=plan.warm_up_runs):
        if not left or (not block and turn.counted and not may_go_on()):
            break
        figures = measure(turn.variant, left)
        if not turn.counted:
            continue
        block[turn.variant] = figures
        if len(block) < len(variants):
            continue
        for figure in left:
            pairs[figure].append((block[baseline][figure], block[setting][figure]))
            if len(pairs[figure]) in plan.looks:
                results[figure] = judge_pairs(pairs[figure], expected[figure], plan)
        block.clear()
        left = [each for each in left if each not in results or results[each].decision is Decision.UNDECIDED]
    if len(results) < len(expected):
        made = min(map(len, pairs.values()))
        raise Undecided(f"{made} pairs made when the time was spent; expected at least {plan.first_look}")
    return {figure: (pairs[figure], results[figure]) for figure in expected}
