"""Measuring until an interval is narrow: it stops then and not before, and covers what it says it does."""

from __future__ import annotations

import random
from itertools import cycle

import pytest

from niclab.core.verdict import Undecided
from niclab.stats.precise import estimate, repeat_until
from niclab.stats.run_plan import SamplingPlan

PLAN = SamplingPlan(first_look=3, most=10, warm_up_runs=0)
WIDTH = 0.05


def test_a_steady_figure_is_known_at_the_first_look() -> None:
    found = estimate((100.0, 100.1, 99.9), PLAN, WIDTH)
    assert (found.n, found.narrow) == (3, True)
    assert found.estimate == pytest.approx(100.0) and found.low < 100 < found.high and found.high - found.low < 5


def test_a_restless_figure_is_never_narrow() -> None:
    found = estimate([80.0, 120.0] * 5, PLAN, WIDTH)
    assert (found.n, found.narrow) == (10, False) and found.high - found.low > 5


def test_what_comes_after_a_narrow_look_changes_nothing() -> None:
    assert estimate((100.0, 100.1, 99.9, 500.0), PLAN, WIDTH) == estimate((100.0, 100.1, 99.9), PLAN, WIDTH)


def test_too_few_values_are_refused() -> None:
    with pytest.raises(ValueError, match="2 runs; expected at least 3"):
        estimate((1.0, 2.0), PLAN, WIDTH)


def test_equal_values_are_as_wide_as_their_step() -> None:
    plan = SamplingPlan(first_look=3, most=10, resolution=2.0)
    found = estimate((100.0, 100.0, 100.0), plan, WIDTH)
    assert (found.low, found.high) == (99.0, 101.0)


def test_runs_end_when_it_is_enough_at_a_look() -> None:
    figures = cycle((1.0, 2.0, 3.0))
    assert repeat_until(lambda: next(figures), lambda values: len(values) >= 4, PLAN) == [1.0, 2.0, 3.0, 1.0]


def test_warm_up_is_not_counted_and_the_budget_ends_it() -> None:
    figures = iter(range(100))
    plan = SamplingPlan(first_look=3, most=5, warm_up_runs=2)
    assert repeat_until(lambda: float(next(figures)), lambda _: False, plan) == [2.0, 3.0, 4.0, 5.0, 6.0]


def test_time_that_is_spent_before_the_first_look_is_undecided() -> None:
    with pytest.raises(Undecided, match="0 runs made when the time was spent; expected at least 3"):
        repeat_until(lambda: 1.0, lambda _: True, PLAN, lambda: False)


@pytest.mark.parametrize("spread", [0.005, 0.02])
def test_stopping_at_a_narrow_interval_does_not_flatter(spread: float) -> None:
    """The interval that is shown holds the true mean at least as often as it says: 95 %, less 2 for the simulation."""
    generator, held = random.Random(7), 0
    for _ in range(400):
        values: list[float] = []
        while len(values) < PLAN.most:
            values.append(generator.gauss(100.0, 100.0 * spread))
            if len(values) >= PLAN.first_look and estimate(values, PLAN, WIDTH).narrow:
                break
        found = estimate(values, PLAN, WIDTH)
        held += found.low <= 100.0 <= found.high
    assert held / 400 >= 0.93
