"""The time left is reported from how long the runs really took, not only from what they were asked to take."""

from __future__ import annotations

import pytest

from niclab.traffic.runs.progress import Pace, Progress


class Clock:
    """Says what time it is made to be."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def progress(clock: Clock, told: list[str], most: int = 20, most_s: float = 600) -> Progress:
    return Progress("a to b", "Mbit/s", most, 2, Pace(5, clock), most_s, told.append)


def test_runs_that_take_longer_than_asked_make_the_rest_longer() -> None:
    clock, told = Clock(), list[str]()
    way = progress(clock, told)
    clock.now += 14
    way.made(2, 40)
    assert told == ["a to b: run 2 of at most 22 (warm-up): 40.0 Mbit/s, at most 140 s left"]


def test_runs_that_are_told_at_once_are_not_taken_for_faster_than_they_can_be() -> None:
    clock, told = Clock(), list[str]()
    progress(clock, told).made(3, 40)
    assert told[0].endswith("at most 95 s left")


@pytest.mark.parametrize(("elapsed_s", "left"), [(550, "at most 105 s left"), (605, "at most 60 s left")])
def test_no_run_begins_after_the_time_is_spent(elapsed_s: float, left: str) -> None:
    clock, told = Clock(), list[str]()
    way = progress(clock, told)
    clock.now += elapsed_s
    way.made(10, 40)
    assert told[0].endswith(left)


def test_runs_that_turn_out_slow_are_told_of() -> None:
    """Settings that are changed between two short runs take longer than these."""
    clock, told = Clock(), list[str]()
    way = progress(clock, told, most=8)
    clock.now += 7
    way.made(1, 40)
    assert told == ["a to b: run 1 of at most 10 (warm-up): 40.0 Mbit/s, at most 63 s left"]


def test_small_figures_keep_two_digits() -> None:
    """Seconds of CPU a gigabit are parts of one."""
    told = list[str]()
    progress(Clock(), told).made(3, 0.3456)
    assert ": 0.35 Mbit/s, " in told[0]


def test_nothing_is_told_of_what_is_over_soon() -> None:
    clock, told = Clock(), list[str]()
    progress(clock, told, most=8).made(1, 40)
    assert told == []
