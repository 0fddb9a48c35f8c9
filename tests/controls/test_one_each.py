"""Many defects in one run: each test that gets one turns red for it, with the right verdict, and no other test does."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from control_bench import Bench, Run, only
from one_each import BENCH, CABLES, CARD, FUNCTIONS, KINDS, QUICK, STEERED, STEERED_CARD, SWITCH, WRONG, Each

from niclab.report.verdicts import Verdict, classify

pytestmark = pytest.mark.bench

VERDICTS = {CARD: Verdict.CARD_FAILURE, BENCH: Verdict.BENCH_FAULT}
WELL = ("Every Port Is The Card On The Sheet", "Every Link Is Up", "Every Link Carries Traffic")
MEDIUM = "Every Port Has A Medium On The Sheet"
WELL_OF_KINDS = (
    "Every Port Is The Card On The Sheet",
    "A Plugged Cable Carries Traffic Again In Time",
    "A Shut Switch Port Is Seen By The Card In Time",
)


def injected(bench: Bench, table: tuple[Each, ...], card: str | None = None) -> None:
    by_test = {each.red: each for each in table}
    assert len(by_test) == len(table), "two defects for one test"
    run = bench.run(*only(*by_test, *WELL), others=[(each.red, each.inject, each.clear) for each in table], card=card)
    run.should_show(red=set(by_test), green=set(WELL))
    require_verdicts(run, by_test)


def require_verdicts(run: Run, by_test: Mapping[str, Each]) -> None:
    wrong = [
        f"{name}: expected {by_test[name].verdict}, {by_test[name].says!r}: {message}"
        for name, message in run.red.items()
        if name in by_test
        and (classify("FAIL", message) is not VERDICTS[by_test[name].verdict] or by_test[name].says not in message)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_defect_of_each_kind_turns_its_test_red(bench: Bench) -> None:
    """A wrong fact of the sheet among them."""
    by_test, (wrong,) = {each.red: each for each in KINDS}, [each for each in WRONG if each.red == (MEDIUM,)]
    others = [(each.red, each.inject, each.clear) for each in KINDS]
    run = bench.run(
        *only(*by_test, MEDIUM, *WELL_OF_KINDS), others=others, card=bench.sheet(fact=(wrong.old, wrong.new))
    )
    run.should_show(red={*by_test, MEDIUM}, green=set(WELL_OF_KINDS))
    assert run.red[MEDIUM].startswith(f"{CARD}: dut.p0 (0000:01:00.0) connects to twisted-pair")
    require_verdicts(run, by_test)


@pytest.mark.slow
def test_each_defect_turns_its_test_red(bench: Bench) -> None:
    injected(bench, QUICK)


@pytest.mark.slow
def test_each_defect_of_a_cable_turns_its_bond_red(bench: Bench) -> None:
    injected(bench, CABLES)


@pytest.mark.slow
def test_each_defect_turns_its_test_at_the_switch_red(bench: Bench) -> None:
    injected(bench, SWITCH)


@pytest.mark.slow
@pytest.mark.parametrize("table", [STEERED, FUNCTIONS], ids=["steering", "functions"])
def test_each_defect_of_a_card_of_many_queues_turns_its_test_red(bench: Bench, table: tuple[Each, ...]) -> None:
    """On a card whose servers have two processors, and which has virtual functions."""
    bench.vbench("up", "--card", STEERED_CARD)
    bench.file.write_text(bench.vbench("bench-file"))
    try:
        injected(bench, table, STEERED_CARD)
    finally:
        bench.vbench("up", "--card", "intel-82574l")
        bench.file.write_text(bench.vbench("bench-file"))


@pytest.mark.slow
def test_a_card_that_is_not_as_on_its_sheet_fails_the_test_of_each_fact(bench: Bench) -> None:
    reds = {name for wrong in WRONG for name in wrong.red}
    sheet = bench.sheet(**{f"fact{number}": (wrong.old, wrong.new) for number, wrong in enumerate(WRONG)})
    run = bench.run(*only(*reds, *WELL), card=sheet)
    run.should_show(red=reds, green=set(WELL))
    assert all(message.startswith(f"{CARD}: ") for message in run.red.values()), run.red
