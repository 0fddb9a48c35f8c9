"""Every defect of a card that the suites are there for turns exactly the intended tests red, and says what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from card_defects import DEFECTS, Defect
from control_bench import NAME, Bench, only

import cardmodel

pytestmark = [pytest.mark.bench, pytest.mark.slow]


@pytest.fixture(params=sorted(DEFECTS, key=lambda defect: defect.card), ids=str)
def defect(request: pytest.FixtureRequest, bench: Bench) -> Iterator[Defect]:
    """The defect; its card is put in before, and the servers are well again afterwards."""
    wanted: Defect = request.param
    if wanted.card not in bench.vbench("cards"):
        bench.vbench("up", "--card", wanted.card)
        bench.file.write_text(bench.vbench("bench-file"))
    yield wanted
    bench.vbench("fault", "clear")
    if wanted.power_cycle:
        bench.power_cycle("dut")
    elif wanted.reload:
        reload_driver(bench, wanted)


def reload_driver(bench: Bench, defect: Defect) -> None:
    module = cardmodel.read(defect.card)["driver"]
    bench.ssh("dut", f"modprobe -r {module} && modprobe {module} && udevadm settle")


def test_a_defect_turns_exactly_the_intended_tests_red(bench: Bench, defect: Defect) -> None:
    where, what = defect.fault
    options = [option for suite in defect.suites for option in ("--suite", suite)] + only(*defect.tests)
    options += [] if defect.full else ["--exclude", "slow"]
    if defect.into:
        inject = (defect.into, f"fault set --name {NAME} {where} {what}", f"fault clear --name {NAME}")
        run = bench.run(*options, card=defect.card, inject=inject)
    else:
        bench.vbench("fault", "set", where, what)
        if defect.reload:
            reload_driver(bench, defect)
        if defect.cold_start:
            bench.power_cycle("dut")
        run = bench.run(*options, card=defect.card)
    run.should_show(red=defect.red)
    assert all(defect.says in message and message.startswith(f"{defect.verdict}: ") for message in run.red.values()), (
        run.red
    )
    assert run.green or defect.alone
