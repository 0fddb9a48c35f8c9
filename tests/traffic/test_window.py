"""The throughput of a receive window: predicted from its size and the round trip; the bounds hold on any bench."""

from __future__ import annotations

import math

import pytest

from niclab.core.decision import Decision
from niclab.traffic.limits.receive_window import limited

WINDOW = 65535


def test_the_figures_of_the_workshop_are_as_predicted() -> None:
    """3998 of 10000 Mbit/s without scaling, 9183 with: 57 % less. Single bytes took 1/10010 s there (case 3)."""
    expected = limited(WINDOW, 1 / 10010, 10_000, 0.9, "SUSE workshop")
    assert expected.low < 100 * (3998 / 9183 - 1) < expected.high
    assert expected.text == (
        "-84 to -36 %: 65535 bytes each round trip of 0.0999 ms are at most 5248 of 10000 Mbit/s, and a third "
        "of that under load (SUSE workshop)"
    )


@pytest.mark.parametrize(
    ("trip_ms", "change", "decision"),
    [
        (0.5, 0.0, Decision.MISSED),  # 1049 Mbit/s at most: a setting without effect was not done
        (0.5, -90.0, Decision.MET),
        (0.5, -99.0, Decision.MISSED),
        (0.01, 0.0, Decision.MET),  # 52 Gbit/s: the window is in nobody's way
        (0.01, -20.0, Decision.MISSED),
    ],
)
def test_a_change_against_the_round_trip(trip_ms: float, change: float, decision: Decision) -> None:
    assert limited(WINDOW, trip_ms / 1000, 10_000, 0.9, "test").decide(change, change) is decision


def test_a_window_that_may_or_may_not_limit_allows_both() -> None:
    expected = limited(WINDOW, 40e-6, 10_000, 0.9, "test")
    assert math.isinf(expected.high) and -61 < expected.low < -60
    assert expected.text.startswith("-61 % or more: ")
