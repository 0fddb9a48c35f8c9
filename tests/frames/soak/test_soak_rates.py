"""Rates of a soak: a port that carries nothing or too little from first to last, or that stalls in one cycle."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from niclab.core.verdict import Undecided
from niclab.frames.load.load_rates import WantedLoad
from niclab.frames.soak.soak_rates import PLAN, findings
from niclab.frames.soak.soak_series import Cycle, SoakFigure, SoakMeasure

RATE = SoakMeasure(SoakFigure.RATE, "dut.p0 sends")
WANTED = WantedLoad(560.0, 1000.0, "sheet", PLAN)


def cycles(at: Callable[[int], float], count: int = 60) -> list[Cycle]:
    """The rates of cycles; those that flow differ a little."""
    return [Cycle(60.0 * n, {RATE: at(n) * (1 + n % 3 / 100)}) for n in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_an_emulated_server_is_unsteady_and_sound(seed: int) -> None:
    noise = random.Random(seed)
    assert findings(cycles(lambda _: 900 * noise.uniform(0.7, 1.3), count=27), WANTED) == []


@pytest.mark.parametrize("wanted", [None, WANTED])
def test_no_traffic_at_all_is_no_pass(wanted: WantedLoad | None) -> None:
    found = findings(cycles(lambda _: 0.0), wanted)
    assert found and all(isinstance(each, Undecided) for each in found)
    assert str(found[0]).startswith("dut.p0 sends, Mbit/s: 60 of 60 cycles stalled, the worst with 0, 0 s after")
    assert str(found[0]).endswith("the card, the peer's port, or a cable or switch between them")


@pytest.mark.parametrize(("cycle", "part"), [(30, 0.45), (30, 0.0), (0, 0.0), (59, 0.2)])
def test_one_cycle_that_stalls_is_found(cycle: int, part: float) -> None:
    (found,) = findings(cycles(lambda n: 900 * (part if n == cycle else 1)), WANTED)
    assert "1 of 60 cycles stalled" in str(found) and f"{60 * cycle} s after the begin" in str(found)
    assert "expected at least 0.5 of the median, 909 (assumption)" in str(found)


def test_a_slow_warm_up_is_no_stall() -> None:
    assert findings(cycles(lambda n: 10.0 if n < 5 else 900.0), WANTED) == []


def test_a_trickle_from_first_to_last_is_less_than_the_sheet_wants() -> None:
    (found,) = findings(cycles(lambda _: 45.0), WANTED)
    assert "missed" in str(found) and "at least 560 Mbit/s (sheet)" in str(found)
    assert findings(cycles(lambda _: 45.0), None) == []


def test_few_cycles_say_nothing_of_the_sheets_rate() -> None:
    assert findings(cycles(lambda _: 45.0, count=5), WANTED) == []
    assert findings([], WANTED) == []
