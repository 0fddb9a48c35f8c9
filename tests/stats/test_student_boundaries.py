"""Student's t against published tables, and the stopping boundaries against theory and simulation."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niclab.stats.boundaries import Spending, t_boundaries
from niclab.stats.student import t_quantile, t_upper_tail

# Abramowitz & Stegun 1964, table 26.10, and NIST e-Handbook 1.3.6.7.2
PUBLISHED = [
    (0.025, 1, 12.706),
    (0.025, 2, 4.303),
    (0.025, 4, 2.776),
    (0.05, 10, 1.812),
    (0.005, 7, 3.499),
    (0.001, 30, 3.385),
    (0.025, 120, 1.980),
]


@pytest.mark.parametrize(("upper", "df", "t"), PUBLISHED)
def test_quantiles_are_those_of_the_published_tables(upper: float, df: float, t: float) -> None:
    assert t_quantile(upper, df) == pytest.approx(t, abs=6e-4)


def test_two_degrees_of_freedom_have_a_closed_form() -> None:
    for t in (0.0, 0.3, 2.0, 40.0, 1e6):
        exact = 1 / (math.sqrt(t * t + 2) * (math.sqrt(t * t + 2) + t))  # no cancellation far out
        assert t_upper_tail(t, 2) == pytest.approx(exact, rel=1e-10)


@given(st.floats(1e-9, 1 - 1e-9), st.floats(0.5, 300))
def test_the_quantile_is_the_inverse_of_the_tail(upper: float, df: float) -> None:
    assert t_upper_tail(t_quantile(upper, df), df) == pytest.approx(upper, rel=1e-6)


@pytest.mark.parametrize(("upper", "df"), [(0, 3), (1, 3), (-0.1, 3), (float("nan"), 3), (0.1, 0), (0.1, -2)])
def test_impossible_tails_and_degrees_are_refused(upper: float, df: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        t_quantile(upper, df)


@pytest.mark.parametrize("spending", Spending)
def test_spending_rises_to_the_whole_error(spending: Spending) -> None:
    spent = [spending.spent(0.025, fraction / 20) for fraction in range(1, 21)]
    assert all(a < b for a, b in pairwise(spent))
    assert spent[-1] == pytest.approx(0.025)


def test_one_look_is_the_ordinary_t_test() -> None:
    for n in (2, 3, 10):
        (boundary,) = t_boundaries((n,), 0.025, Spending.POCOCK)
        assert boundary == pytest.approx(t_quantile(0.025, n - 1), rel=2e-3)


def test_first_look_spends_exactly_its_part() -> None:
    first, *_ = t_boundaries(tuple(range(3, 13)), 0.025, Spending.POCOCK)
    assert t_upper_tail(first, 2) == pytest.approx(Spending.POCOCK.spent(0.025, 3 / 12), rel=2e-3)


def test_many_repeats_a_look_come_near_the_known_variance() -> None:
    """Five equal looks, one-sided 0.025, O'Brien-Fleming spending, known variance: Lan & DeMets 1983."""
    published = (4.877, 3.357, 2.680, 2.290, 2.031)
    found = t_boundaries((12, 24, 36, 48, 60), 0.025, Spending.OBRIEN_FLEMING)
    for t, n, z in zip(found, (12, 24, 36, 48, 60), published, strict=True):
        assert t == pytest.approx(t_quantile(0.5 * math.erfc(z / math.sqrt(2)), n - 1), rel=0.04)


def test_looks_that_may_spend_next_to_nothing_stay_finite() -> None:
    found = t_boundaries((3, 4, 60), 0.025, Spending.OBRIEN_FLEMING)
    assert found[0] == 1e6
    assert found[0] >= found[1] > 1000 > 3 > found[2] > 1.9


def test_obrien_fleming_hardly_stops_early_and_pocock_does() -> None:
    looks = tuple(range(3, 13))
    late, early = (t_boundaries(looks, 0.025, spending) for spending in Spending)
    assert late[0] > 100 > 10 > early[0]
    assert late[-1] < early[-1]
    assert late[-1] > t_quantile(0.025, 11)  # looking costs something


@pytest.mark.parametrize("spending", Spending)
def test_error_of_all_looks_together_is_as_stated(spending: Spending) -> None:
    """Student's t from three repeats on, 20 000 series: 2.5 % +- 0.33 (three standard errors)."""
    boundaries = t_boundaries(tuple(range(3, 13)), 0.025, spending)
    rng = random.Random(20)
    crossed = sum(_crosses(rng, boundaries) for _ in range(20_000))
    assert crossed / 20_000 == pytest.approx(0.025, abs=0.0033)


def test_looking_without_boundaries_is_found_out() -> None:
    """Negative control: the same count for ordinary t at each look is far beyond 2.5 %."""
    ordinary = [t_quantile(0.025, n - 1) for n in range(3, 13)]
    rng = random.Random(20)
    assert sum(_crosses(rng, ordinary) for _ in range(4000)) / 4000 > 0.06


def _crosses(rng: random.Random, boundaries: tuple[float, ...] | list[float]) -> bool:
    total = squares = 0.0
    for n in range(1, 13):
        value = rng.gauss(0, 1)
        total += value
        squares += value * value
        if n >= 3:
            variance = (squares - total * total / n) / (n - 1)
            if total / math.sqrt(n) > boundaries[n - 3] * math.sqrt(variance):
                return True
    return False


@pytest.mark.parametrize("looks", [(), (1, 2), (3, 3), (5, 4)])
def test_looks_that_do_not_rise_are_refused(looks: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="looks"):
        t_boundaries(looks, 0.025, Spending.POCOCK)


@pytest.mark.parametrize("alpha", [0, 0.5, -1])
def test_impossible_errors_are_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        t_boundaries((3, 4), alpha, Spending.POCOCK)
