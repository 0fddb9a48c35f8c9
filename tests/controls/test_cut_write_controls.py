"""A card that does not survive a loss of power while firmware is written is found, and one that does passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from control_bench import REPOSITORY, Bench, only

pytestmark = [pytest.mark.bench, pytest.mark.slow]

CARD = "emulex-oce11102"
CUT = "A Write Of Firmware That Power Loss Cuts Off Leaves A Card That Can Be Written"
UP = "Every Link Is Up"
SAYS = {
    1: "is missing after a loss of power while oc11-10.6.144.21.ufi was written: ",
    2: "refused firmware image oc11-10.6.144.21.ufi: ",
}
"""Value of the defect -> what the failure says."""


@pytest.fixture(scope="module", autouse=True)
def emulex(bench: Bench) -> Iterator[None]:
    """Servers with a card whose driver writes firmware; the bench is as it was at the end."""
    bench.vbench("up", "--card", CARD)
    yield
    bench.vbench("up", "--card", "intel-82574l")


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    """The card's sheet, which says of the virtual one that it survives: it has two banks."""
    lines = (REPOSITORY / "lab/cards" / f"{CARD}.yaml").read_text().splitlines(keepends=True)
    (place,) = [number for number, line in enumerate(lines) if line.startswith("      survives: ")]
    lines[place] = "      survives: true\n"
    path = tmp_path / f"{CARD}.yaml"
    path.write_text("".join(lines))
    return path


@pytest.fixture
def well_again(bench: Bench) -> Iterator[None]:
    """The card recovers with the next power-on without the defect."""
    yield
    bench.vbench("fault", "clear")
    bench.power_cycle("dut")


def test_a_card_with_two_banks_passes(bench: Bench, sheet: Path) -> None:
    run = bench.run(*only(CUT, UP), card=sheet)
    run.should_show(red=set(), green={CUT, UP})


def test_a_sheet_that_does_not_know_has_no_power_cut(bench: Bench) -> None:
    run = bench.run(*only(CUT, UP), card=REPOSITORY / "lab/cards" / f"{CARD}.yaml")
    run.should_show(red=set(), green={UP})
    assert run.skipped == {CUT}


@pytest.mark.parametrize("value", SAYS)
@pytest.mark.usefixtures("well_again")
def test_a_card_that_does_not_survive_is_seen(bench: Bench, sheet: Path, value: int) -> None:
    bench.vbench("fault", "set", "card:dut.p0", f"flash-cut-bricks={value}")
    run = bench.run(*only(CUT), card=sheet)
    run.should_show(red={CUT})
    assert "CardFailure: " in run.red[CUT] and SAYS[value] in run.red[CUT], run.red
    assert "dut.p0 (" in run.red[CUT]
