"""Series in time order: correlation, guarded intervals."""

from __future__ import annotations

import math
import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stats_processes import autoregressive

from niclab.stats.interval import guarded, sample_skewness, t_interval
from niclab.stats.series import (
    corrected_lag1,
    effective_size,
    lag1,
    mean_variance_factor,
    numbers,
    widening,
)

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=30)


def test_lag1_of_a_known_series() -> None:
    assert lag1([1, 2, 3, 4]) == pytest.approx(1.25 / 5)
    assert lag1([1, -1, 1, -1]) == pytest.approx(-3 / 4)


def test_lag1_is_not_known_of_three_values_or_of_a_constant() -> None:
    assert lag1([1, 2, 3]) is None
    assert lag1([5.0] * 20) is None
    assert corrected_lag1([5.0] * 20) == 0


@pytest.mark.parametrize("phi", [0.3, 0.6])
def test_corrected_correlation_is_right_on_average(phi: float) -> None:
    rng = random.Random(1)
    found = [lag1(autoregressive(phi)(rng, 60)) for _ in range(300)]
    assert fmean(value for value in found if value is not None) < phi - 0.02  # the bias that is corrected
    rng = random.Random(1)
    assert fmean(corrected_lag1(autoregressive(phi)(rng, 60)) for _ in range(300)) == pytest.approx(phi, abs=0.03)


def test_variance_factor_is_the_sum_it_stands_for() -> None:
    for n, rho in ((2, 0.5), (7, 0.6), (60, 0.9)):
        wanted = 1 + 2 * sum((1 - k / n) * rho**k for k in range(1, n))
        assert mean_variance_factor(n, rho) == pytest.approx(wanted)
    assert mean_variance_factor(5, 0) == widening(5, 0) == 1


def test_effective_size_of_correlated_values_is_smaller() -> None:
    rng = random.Random(2)
    assert effective_size(autoregressive(0.6)(rng, 400)) == pytest.approx(400 * 0.4 / 1.6, rel=0.35)


def test_t_interval_of_a_textbook_sample() -> None:
    found = t_interval([1, 2, 3, 4, 5])
    assert (found.estimate, found.n) == (3, 5)
    assert (found.low, found.high) == pytest.approx((3 - 1.963, 3 + 1.963), abs=1e-3)


@given(VALUES, st.randoms(use_true_random=False))
def test_order_does_not_matter_to_independent_repeats(values: list[float], rng: random.Random) -> None:
    mixed = rng.sample(values, len(values))
    one, other = t_interval(values), t_interval(mixed)
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9, abs=1e-6)


@given(VALUES)
def test_guards_never_make_an_interval_narrower(values: list[float]) -> None:
    critical = 3.0
    low, high = guarded(values, critical).bounds(critical)
    spread = math.sqrt(sum((v - fmean(values)) ** 2 for v in values) / (len(values) - 1) / len(values))
    slack = 1e-6 + 1e-9 * spread
    assert low <= fmean(values) - critical * spread + slack
    assert high >= fmean(values) + critical * spread - slack


def test_long_tail_moves_the_bound_on_its_side_only() -> None:
    tailed = [9, 10, 9, 11, 10, 9, 10, 30.0]
    found = guarded(tailed, 3.0)
    assert sample_skewness(tailed) > 2
    assert found.tail_above > 0 == found.tail_below
    mirrored = guarded([-v for v in tailed], 3.0)
    assert (mirrored.tail_above, mirrored.tail_below) == (0, pytest.approx(found.tail_above))


def test_resolution_keeps_an_interval_open() -> None:
    low, high = guarded([5.0, 5.0, 5.0], 4.0).bounds(4.0, resolution=0.2)
    assert (low, high) == pytest.approx((4.9, 5.1))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([1.0], "1 values; expected at least 2"),
        ([1.0, math.nan], r"values\[1\]: nan"),
        ([1.0, math.inf], r"values\[1\]: inf"),
        ([True, 2.0], r"values\[0\]: True"),
        (["1", 2.0], r"values\[0\]: '1'"),
    ],
)
def test_what_is_no_sample_is_refused(values: list[float], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        t_interval(values)


def test_a_level_is_a_part_of_one() -> None:
    with pytest.raises(ValueError, match="level"):
        t_interval([1.0, 2.0], 95)


def test_a_sample_is_given_as_it_is() -> None:
    assert numbers([1, 2.5], at_least=2) == (1.0, 2.5)
