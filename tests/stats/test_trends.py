"""Drifts are found where there are some, and hardly ever where there are none, also where neighbours are alike."""

from __future__ import annotations

import random

import pytest

from niclab.core.decision import Decision
from niclab.stats.trends import FEWEST, trend

TIMES = [60.0 * n for n in range(60)]


def noise(seed: int, alike: float = 0.0, n: int = 60) -> list[float]:
    drawn, last, found = random.Random(seed), 0.0, []
    for _ in range(n):
        last = alike * last + drawn.gauss(0, 1)
        found.append(last)
    return found


def test_a_straight_line_is_found_exactly() -> None:
    found = trend(TIMES, [5 + 0.1 * n for n in range(60)])
    assert found.start == pytest.approx(5) and found.change == pytest.approx(5.9)
    assert found.error == pytest.approx(0, abs=1e-9)
    assert [found.decision(limit) for limit in (5, 6)] == [Decision.MISSED, Decision.MET]


@pytest.mark.parametrize("alike", [0.0, 0.6])
def test_what_does_not_drift_is_hardly_ever_called_drifting(alike: float) -> None:
    decisions = [trend(TIMES, noise(seed, alike)).decision(0.0) for seed in range(300)]
    assert decisions.count(Decision.MISSED) <= 1


def test_a_drift_of_five_deviations_is_found() -> None:
    drifting = [[v + 5 * n / 59 for n, v in enumerate(noise(seed))] for seed in range(50)]
    decisions = [trend(TIMES, each).decision(0.5) for each in drifting]
    assert decisions.count(Decision.MISSED) >= 48


def test_a_wide_spread_is_undecided() -> None:
    assert trend(TIMES[:8], noise(1, n=8)).decision(0.1) is Decision.UNDECIDED


@pytest.mark.parametrize(("times", "values"), [([1.0] * 9, [1.0] * 9), (TIMES[:9], [1.0] * 8), (TIMES[:7], [1.0] * 7)])
def test_what_is_no_series_is_refused(times: list[float], values: list[float]) -> None:
    assert FEWEST == 8
    with pytest.raises(ValueError, match="; expected "):
        trend(times, values)
