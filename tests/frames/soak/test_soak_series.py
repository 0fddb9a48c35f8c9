"""Drifts of a soak: whose they are, and that a server which slows down is not taken for its card."""

from __future__ import annotations

import random

import pytest

from niclab.core.verdict import Undecided
from niclab.frames.soak.soak_series import Cycle, SoakFigure, SoakMeasure, drifts, findings

RATE, TRIP = SoakMeasure(SoakFigure.RATE, "dut.p0 sends"), SoakMeasure(SoakFigure.ROUND_TRIP, "path a")
PACE, MEMORY = SoakMeasure(SoakFigure.OWN_PACE, "dut"), SoakMeasure(SoakFigure.FREE_MEMORY, "dut")
HEAT = SoakMeasure(SoakFigure.TEMPERATURE, "dut")
GOOD = {RATE: 900.0, TRIP: 200.0, PACE: 50.0, MEMORY: 1500.0, HEAT: 40.0}


def cycles(count: int = 60, **drift: float) -> list[Cycle]:
    """Figures that change by parts of themselves over the soak, with a spread of 1 %."""
    noise, parts = random.Random(1), {measure.quantity.name: measure for measure in GOOD}
    changes = {parts[name]: part for name, part in drift.items()}

    def at(n: int) -> dict[SoakMeasure, float]:
        parts = {each: 1 + changes.get(each, 0.0) * n / count + noise.gauss(0, 0.01) for each in GOOD}
        return {each: value * parts[each] for each, value in GOOD.items()}

    return [Cycle(60.0 * n, at(n)) for n in range(count)]


def test_a_steady_soak_has_nothing_to_say() -> None:
    assert findings(drifts(cycles())) == []


@pytest.mark.parametrize(("name", "part"), [("RATE", -0.4), ("ROUND_TRIP", 1.0)])
def test_a_drift_on_servers_that_kept_their_pace_may_be_the_peers(name: str, part: float) -> None:
    """The peer's port, or a switch that slows down, gives the same figures as the card."""
    (found,) = findings(drifts(cycles(**{name: part})))
    assert isinstance(found, Undecided) and SoakFigure[name].value in str(found) and "expected at most" in str(found)
    assert "both servers kept their pace: the card, the peer's port, or a cable or switch" in str(found)


def test_a_server_that_slows_down_is_not_its_card() -> None:
    found = findings(drifts(cycles(RATE=-0.4, ROUND_TRIP=1.0, OWN_PACE=1.0)))
    assert len(found) == 2 and all(isinstance(each, Undecided) and "inside the server" in str(each) for each in found)


def test_memory_that_goes_is_undecided() -> None:
    (found,) = findings(drifts(cycles(FREE_MEMORY=-0.3)))
    assert isinstance(found, Undecided) and "a driver may keep it" in str(found)


def test_what_gets_better_is_no_finding() -> None:
    assert findings(drifts(cycles(RATE=0.4, ROUND_TRIP=-0.4, FREE_MEMORY=0.3))) == []


def test_heat_is_recorded() -> None:
    found = drifts(cycles(TEMPERATURE=1.0))
    (heat,) = (each for each in found if each.measure is HEAT)
    assert findings(found) == [] and str(heat).endswith("; recorded")


def test_the_warm_up_is_left_out() -> None:
    warm = [Cycle(each.at_s, {**each.found, RATE: 10.0}) if n < 5 else each for n, each in enumerate(cycles())]
    assert findings(drifts(warm)) == []


def test_too_few_cycles_are_undecided() -> None:
    found = findings(drifts(cycles(5)))
    assert found and all(isinstance(each, Undecided) and "too few cycles" in str(each) for each in found)
