"""The order of runs, and measuring until it is decided."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niclab.core.decision import Decision
from niclab.core.verdict import Undecided
from niclab.stats.questions import Expected, at_least, lowers_by
from niclab.stats.run_plan import SamplingPlan, Turn, schedule
from niclab.stats.runner import measure_effect, measure_effects, measure_limit

PLAN = SamplingPlan(first_look=3)
ALIKE = Expected("within 1 % either way", -1, 1)


def test_looks_end_with_the_budget() -> None:
    assert SamplingPlan(first_look=3, most=10, step=3).looks == (3, 6, 9, 10)
    assert SamplingPlan(first_look=4, most=4).looks == (4,)
    assert len(PLAN.boundaries) == len(PLAN.looks) == 10


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("first_look", 2),
        ("most", 4),
        ("step", 0),
        ("level", 95),
        ("level", 0.3),
        ("warm_up_runs", -1),
        ("resolution", -0.1),
        ("resolution", float("nan")),
        ("correlation", 1.0),
        ("correlation", -0.1),
    ],
)
def test_impossible_plans_are_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"plan: {field}: {value}"):
        SamplingPlan(**{field: value})  # type: ignore[arg-type]


@given(st.integers(1, 8), st.integers(1, 9), st.integers(0, 2), st.integers(0, 1000))
def test_every_block_runs_every_arm_once(variants: int, blocks: int, warm_up: int, seed: int) -> None:
    names = [f"arm{i}" for i in range(variants)]
    turns = schedule(names, blocks, seed=seed, warm_up_runs=warm_up)
    assert turns == schedule(names, blocks, seed=seed, warm_up_runs=warm_up)
    assert len(turns) == variants * (blocks + warm_up)
    for block in range(1 - warm_up, blocks + 1):
        assert sorted(turn.variant for turn in turns if turn.block == block) == names
    assert [turn.block for turn in turns] == sorted(turn.block for turn in turns)
    assert sum(turn.counted for turn in turns) == variants * blocks


def test_even_blocks_run_backwards_and_odd_ones_at_random() -> None:
    turns = schedule(["a", "b", "c"], 40, seed=1, warm_up_runs=0)
    orders = [tuple(turn.variant for turn in turns if turn.block == block) for block in range(1, 41)]
    for odd, even in list(pairwise(orders))[::2]:
        assert odd == even[::-1]
    assert len(set(orders[::2])) > 3


def test_a_steady_drift_cancels_over_two_blocks() -> None:
    turns = schedule(["a", "b", "c"], 2, seed=9, warm_up_runs=0)
    places = {variant: sum(place for place, turn in enumerate(turns) if turn.variant == variant) for variant in "abc"}
    assert len(set(places.values())) == 1


@pytest.mark.parametrize(("variants", "blocks"), [([], 1), (["a", "a"], 1), (["a"], 0)])
def test_impossible_schedules_are_refused(variants: list[str], blocks: int) -> None:
    with pytest.raises(ValueError, match="expected different variants"):
        schedule(variants, blocks, seed=1)


def test_measuring_stops_when_decided_and_drops_the_warm_up() -> None:
    rng = random.Random(1)
    made: list[float] = []

    def run() -> float:
        made.append(1.0 if not made else rng.gauss(9400, 10))
        return made[-1]

    values, result = measure_limit(run, at_least(9000), "Mbit/s", PLAN)
    assert result.decision is Decision.MET
    assert values == made[1:]
    assert len(values) == result.n == 12


def test_a_limit_that_is_plainly_missed_ends_at_the_first_look() -> None:
    rng = random.Random(1)
    values, result = measure_limit(lambda: rng.gauss(9400, 10), at_least(9900), "Mbit/s", PLAN)
    assert (len(values), result.decision) == (3, Decision.MISSED)


def test_spent_budget_is_undecided_never_met() -> None:
    rng = random.Random(2)
    values, result = measure_limit(lambda: rng.gauss(100, 10), at_least(100), "", PLAN)
    assert (len(values), result.decision) == (12, Decision.UNDECIDED)


def test_time_that_is_spent_ends_the_measuring() -> None:
    rng, turns = random.Random(3), iter([True] * 5 + [False] * 99)
    values, result = measure_limit(lambda: rng.gauss(100, 10), at_least(100), "", PLAN, lambda: next(turns))
    assert (len(values), result.n, result.decision) == (5, 5, Decision.UNDECIDED)
    with pytest.raises(Undecided, match="0 runs made when the time was spent; expected at least 3"):
        measure_limit(lambda: 1.0, at_least(1), "", PLAN, lambda: False)


def test_effect_is_measured_in_turns() -> None:
    rng = random.Random(4)
    order: list[str] = []

    def run(variant: str) -> float:
        order.append(variant)
        return rng.gauss({"on": 9134, "off": 5842}[variant], 30)

    pairs, result = measure_effect(run, ("on", "off"), lowers_by(20), PLAN, seed=7)
    assert result.decision is Decision.MET
    assert all(on > off for on, off in pairs)
    assert order == [turn.variant for turn in schedule(("on", "off"), 12, seed=7)][: len(order)]
    assert len(order) == 2 * (len(pairs) + 1)


def test_effect_ends_between_blocks_when_the_time_is_spent() -> None:
    rng, asked = random.Random(5), iter([True] * 4 + [False])
    pairs, result = measure_effect(
        lambda _: rng.gauss(100, 10), ("a", "b"), ALIKE, PLAN, seed=1, may_go_on=lambda: next(asked)
    )
    assert (len(pairs), result.decision) == (4, Decision.UNDECIDED)
    with pytest.raises(Undecided, match="0 pairs made"):
        measure_effect(lambda _: 1.0, ("a", "b"), ALIKE, PLAN, seed=1, may_go_on=lambda: False)


def test_figures_of_a_turn_are_measured_until_each_is_decided() -> None:
    rng = random.Random(6)
    asked = list[tuple[str, tuple[str, ...]]]()
    means = {"slower": {"on": 9134, "off": 5842}, "noisy": {"on": 100, "off": 100}}

    def turn(variant: str, figures: Sequence[str]) -> dict[str, float]:
        asked.append((variant, tuple(figures)))
        return {each: rng.gauss(means[each][variant], 30 if each == "slower" else 10) for each in figures}

    expected = {"slower": lowers_by(20), "noisy": ALIKE}
    found = measure_effects(turn, ("on", "off"), expected, PLAN, seed=7)
    assert {each: result.decision for each, (_, result) in found.items()} == {
        "slower": Decision.MET,
        "noisy": Decision.UNDECIDED,
    }
    assert len(found["slower"][0]) == found["slower"][1].n < len(found["noisy"][0]) == PLAN.most
    assert asked[0][1] == ("slower", "noisy") and asked[-1][1] == ("noisy",), "what is decided is not measured again"
    with pytest.raises(Undecided, match="0 pairs made when the time was spent"):
        measure_effects(turn, ("on", "off"), expected, PLAN, seed=1, may_go_on=lambda: False)


def test_a_turn_knows_whether_it_counts() -> None:
    assert [Turn(block, "a").counted for block in (-1, 0, 1)] == [False, False, True]
