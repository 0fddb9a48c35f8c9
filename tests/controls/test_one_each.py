"""Many defects in one run: each test that gets one turns red for it, with the right verdict, and no other test does."""

from __future__ import annotations

import pytest
from control_bench import Bench, only
from one_each import BENCH, CABLES, CARD, KINDS, QUICK, SWITCH, WRONG, Each

from niclab.report.verdicts import Verdict, classify

pytestmark = pytest.mark.bench

VERDICTS = {CARD: Verdict.CARD_FAILURE, BENCH: Verdict.BENCH_FAULT}
WELL = ("Every Port Is The Card On The Sheet", "Every Link Is Up", "Every Link Carries Traffic")
WELL_OF_KINDS = (
    "Every Port Is The Card On The Sheet",
    "A Plugged Cable Carries Traffic Again In Time",
    "A Shut Switch Port Is Seen By The Card In Time",
)


def injected(bench: Bench, table: tuple[Each, ...], well: tuple[str, ...] = WELL) -> None:
    by_test = {each.red: each for each in table}
    assert len(by_test) == len(table), "two defects for one test"
    run = bench.run(*only(*by_test, *well), others=[(each.red, each.inject, each.clear) for each in table])
    run.should_show(red=set(by_test), green=set(well))
    wrong = [
        f"{name}: expected {by_test[name].verdict}, {by_test[name].says!r}: {message}"
        for name, message in run.red.items()
        if classify("FAIL", message) is not VERDICTS[by_test[name].verdict] or by_test[name].says not in message
    ]
    assert not wrong, "\n".join(wrong)


def test_a_defect_of_each_kind_turns_its_test_red(bench: Bench) -> None:
    injected(bench, KINDS, WELL_OF_KINDS)


@pytest.mark.slow
def test_each_defect_turns_its_test_red(bench: Bench) -> None:
    injected(bench, QUICK)


@pytest.mark.slow
def test_each_defect_of_a_cable_turns_its_bond_red(bench: Bench) -> None:
    injected(bench, CABLES)


@pytest.mark.slow
def test_each_defect_turns_its_test_at_the_switch_red(bench: Bench) -> None:
    injected(bench, SWITCH)


def test_a_card_that_is_not_as_on_its_sheet_fails_the_test_of_each_fact(bench: Bench) -> None:
    reds = {name for wrong in WRONG for name in wrong.red}
    sheet = bench.sheet(**{f"fact{number}": (wrong.old, wrong.new) for number, wrong in enumerate(WRONG)})
    run = bench.run(*only(*reds, *WELL), card=sheet)
    run.should_show(red=reds, green=set(WELL))
    assert all(message.startswith(f"{CARD}: ") for message in run.red.values()), run.red
