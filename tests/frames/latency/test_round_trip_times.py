"""Percentiles of round trips, and the server at which a datagram was late."""

from __future__ import annotations

from typing import Any

import pytest

from niclab.frames.latency.round_trip_times import LateAt, LateTrip, RoundTrips, read_round_trips
from niclab.hosts.errors import ReadError


def test_percentiles_are_times_that_were_measured() -> None:
    trips = RoundTrips(tuple(map(float, range(1, 1001))), (), 0)
    found = [trips.percentile(percent) for percent in (50, 90, 99, 99.9, 100)]
    assert found == [500.0, 900.0, 990.0, 999.0, 1000.0]


def test_a_percentile_that_was_late_or_lost_is_no_time() -> None:
    trips = RoundTrips((1.0, 2.0, 3.0, 4.0), (LateTrip(0.7, LateAt.ASKER),), 1)
    assert trips.count == 6 and trips.percentile(50) == 3.0 and trips.percentile(90) is None
    missed = ", ".join(f"p{percent} late or lost" for percent in (90, 99, 99.9))
    assert str(trips) == f"p50 3 us, {missed}, longest 4 us of 6; 1 late, 1 without an answer"


@pytest.mark.parametrize(
    ("apart_s", "at"),
    [(0.0001, LateAt.ANSWERER), (0.2, LateAt.ANSWERER), (0.501, LateAt.ASKER), (None, LateAt.UNKNOWN)],
)
def test_where_a_datagram_was_late(apart_s: float | None, at: LateAt) -> None:
    apart_ns = None if apart_s is None else int(apart_s * 1e9)
    said = {"trips_ns": [2000, 1000], "late": [{"ns": 700_000_000, "apart_ns": apart_ns}], "lost": 0}
    found = read_round_trips(said, 0.5, "dut")
    assert (found.trips_us, found.late) == ((1.0, 2.0), (LateTrip(0.7, at),))


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"trips_ns": ["x"], "late": [], "lost": 0},
        {"trips_ns": [1], "late": [{}], "lost": 0},
        {"trips_ns": [], "late": [], "lost": 0},
    ],
)
def test_other_words_are_refused(said: dict[str, Any]) -> None:
    with pytest.raises(ReadError, match="; expected "):
        read_round_trips(said, 0.5, "dut: ping-pong program")
