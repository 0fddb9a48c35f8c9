"""Times of coalescing: a port that holds frames in proportion is green, one that waits longer or shorter is not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fake_bench import FakeBench
from fake_settings import FakeSettings, settings_of, with_sheet

from niclab.core.verdict import CardFailure, NotApplicable, SheetUnknown, Undecided
from niclab.report.reporter import Reporter
from niclab.run.run import Run
from niclab.traffic.effects import coalescing_steps
from niclab.traffic.effects.coalescing_steps import StepsTurn

BASE_US = 30.0
"""A round trip without coalescing."""
Waits = Callable[[int, int], float]
"""Round trip in us by the time that is set, and by the number of the turn."""


Ask = Callable[[Waits], tuple[str, Any]]


@pytest.fixture
def settings(bench: FakeBench, taken: Run) -> FakeSettings:
    with_sheet(bench, taken)
    bench.edit(bench.sheet, ("default: 18, max: 100", "default: 18, max: 400"))
    taken.card = bench.load()[1]
    return settings_of(bench)


@pytest.fixture
def asked(taken: Run, settings: FakeSettings, monkeypatch: pytest.MonkeyPatch) -> Ask:
    def ask(waits: Waits) -> tuple[str, Any]:
        said, charts, made = list[str](), list[Any](), list[int]()

        def per_second(_run: object, _ends: object, seconds: int) -> float:
            made.append(seconds)
            return 1e6 / waits(settings.ports["enp1s0"].coalescing["rx-usecs"] or 0, (len(made) - 1) // 10)

        monkeypatch.setattr(coalescing_steps.round_trips, "per_second", per_second)
        coalescing_steps.require_steps(taken, cast(Reporter, SimpleNamespace(say=said.append, chart=charts.append)))
        return "\n".join(said), charts[0]

    return ask


@pytest.mark.parametrize(
    "waits",
    [
        lambda usecs, _: BASE_US + usecs,  # counted from the frame
        lambda usecs, _: max(BASE_US, usecs),  # counted from the interrupt before
        lambda usecs, turn: BASE_US + usecs + 40 * turn,
    ],
)
def test_times_in_proportion_are_green_and_put_back(
    settings: FakeSettings, taken: Run, asked: Ask, waits: Waits
) -> None:
    before, pending = copy.deepcopy(vars(settings.ports["enp1s0"])), taken.journal.pending()
    said, chart = asked(waits)
    after = vars(settings.ports["enp1s0"])
    assert (after["coalescing"], after["adaptive"]) == (before["coalescing"], before["adaptive"])
    assert taken.journal.pending() == pending and said.count("round trips by rx-usecs: 0: ") == 3
    assert [point.x for point in chart.lines[0].points] == [0, 50, 100, 200, 400] and "<svg" in chart.svg()


def test_a_time_that_is_held_longer_than_its_share_is_the_cards_failure(
    asked: Ask,
) -> None:
    with pytest.raises(CardFailure) as caught:
        asked(lambda usecs, _: BASE_US + (400 if usecs >= 100 else usecs))
    assert str(caught.value).splitlines() == [
        f"dut.p0 (0000:01:00.0): rx-usecs {usecs} holds frames for 1.00 of what 400 adds; expected at most {most}"
        for usecs, most in ((100, "0.25"), (200, "0.50"))
    ]


def test_a_longer_time_that_holds_less_is_the_cards_failure(asked: Ask) -> None:
    said = r"rx-usecs 200 holds frames for 0\.00 of what 400 adds; expected at least 0\.27 as with 100$"
    with pytest.raises(CardFailure, match=said):
        asked(lambda usecs, _: BASE_US + {100: 108, 200: 0}.get(usecs, usecs))


def test_a_time_that_is_wrong_in_some_turns_is_undecided(asked: Ask) -> None:
    with pytest.raises(Undecided, match=r"in some turns rx-usecs 100 holds frames for 1\.00 of what 400 adds"):
        asked(lambda usecs, turn: BASE_US + (400 if usecs == 100 and turn else usecs))


def test_a_longest_time_that_shows_in_no_turn_proves_nothing(asked: Ask) -> None:
    with pytest.raises(NotApplicable, match="the longest time does not show; expected 2 times as long"):
        asked(lambda usecs, _: 5000 + usecs)
    with pytest.raises(Undecided, match="shows in some turns alone"):
        asked(lambda usecs, turn: (5000 if turn else BASE_US) + usecs)


def test_a_driver_that_takes_two_times_has_no_curve(asked: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    put = coalescing_steps.coalescing.put
    monkeypatch.setattr(
        coalescing_steps.coalescing, "put", lambda host, shown, name, usecs: put(host, shown, name, 400 if usecs else 0)
    )
    with pytest.raises(NotApplicable, match=r"rx-usecs is 0, 400 when 0, 50, 100, 200, 400 are set"):
        asked(lambda usecs, _: BASE_US + usecs)


@pytest.mark.usefixtures("settings")
def test_a_sheet_without_a_longest_time_is_one_that_does_not_know(bench: FakeBench, taken: Run, asked: Ask) -> None:
    bench.edit(bench.sheet, (", max: 400", ""))
    taken.card = bench.load()[1]
    with pytest.raises(SheetUnknown, match="does not know the longest rx-usecs"):
        asked(lambda usecs, _: BASE_US + usecs)


def test_equal_round_trips_of_a_turn_do_not_show() -> None:
    assert not StepsTurn({0: 1e-3, 10: 1e-3, 20: 1e-3}).shows
