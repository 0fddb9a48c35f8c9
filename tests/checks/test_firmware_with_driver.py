"""The firmware of each port is judged by what the sheet pairs with the driver that runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_bench import FakeBench
from fake_parts import KERNEL

from Card import Card
from niclab.card.driver_choice import DriverChoice
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetUnknown, Undecided
from niclab.run.run import Run

PAIRS = """firmware:
  with_driver:
    - {{os: linux, driver: ["{driver}"], firmware: ["{firmware}"], source: "manual, page 1"}}
    - {{os: freebsd, driver: [">=1"], firmware: ["1.0-0"], source: test}}
"""


def _paired(bench: FakeBench, taken: Run, driver: str = KERNEL, firmware: str = "2.1-0", more: str = "") -> None:
    bench.edit(bench.sheet, ("firmware:\n", PAIRS.format(driver=driver, firmware=firmware) + more))
    taken.card = bench.load()[1]


@pytest.mark.parametrize(
    ("driver", "firmware"), [(KERNEL, "2.1-0"), (">=6.1, <6.2", ">=2.1-0"), (">=6.1.0-20", "2.1-0")]
)
def test_firmware_that_the_sheet_pairs_with_the_driver_fits(
    bench: FakeBench, taken: Run, driver: str, firmware: str
) -> None:
    _paired(bench, taken, driver, firmware)
    Card().firmware_should_fit_the_driver()


def test_other_firmware_of_one_port_is_wrong(bench: FakeBench, taken: Run) -> None:
    _paired(bench, taken)
    bench.dut.nics[1].info = replace(bench.dut.nics[1].info, firmware="2.2-0")
    with pytest.raises(CardFailure) as caught:
        Card().firmware_should_fit_the_driver()
    found = f"dut.p1 (0000:02:00.0) runs firmware 2.2-0, expected 2.1-0 with driver e1000e {KERNEL} "
    assert str(caught.value) == f"{found}(sheet intel-82574l: manual, page 1)"


def test_a_sheet_without_pairs_is_not_applicable(bench: FakeBench, taken: Run) -> None:
    assert taken.card.firmware.with_driver == ()
    said = "^sheet intel-82574l pairs no firmware with versions of driver e1000e$"
    with pytest.raises(NotApplicable, match=said):
        Card().firmware_should_fit_the_driver()
    freebsd = "    - {os: freebsd, driver: ['1'], firmware: ['1'], source: test}\n"
    bench.edit(bench.sheet, ("firmware:\n", f"firmware:\n  with_driver:\n{freebsd}"))
    taken.card = bench.load()[1]
    with pytest.raises(NotApplicable, match=said):
        Card().firmware_should_fit_the_driver()


def test_a_driver_that_no_pair_has_is_unknown(bench: FakeBench, taken: Run) -> None:
    _paired(bench, taken, "6.2.0-1-amd64")
    said = f"^the sheet pairs no firmware with version {KERNEL} of driver e1000e$"
    with pytest.raises(SheetUnknown, match=said):
        Card().firmware_should_fit_the_driver()


def test_a_driver_that_the_sheet_does_not_want_decides_nothing_about_the_card(bench: FakeBench, taken: Run) -> None:
    _paired(bench, taken, ">=1", "9.9-9")
    for nic in bench.dut.nics:
        nic.info = replace(nic.info, version="6.0.0-1-amd64")
    with pytest.raises(Undecided, match=r"runs driver 6\.0\.0-1-amd64; expected one that may run before its firmware"):
        Card().firmware_should_fit_the_driver()


def test_a_driver_that_the_run_does_not_qualify_is_the_benchs(bench: FakeBench, taken: Run) -> None:
    _paired(bench, taken, ">=1", "9.9-9")
    taken.driver_choice = DriverChoice("vendor")
    with pytest.raises(BenchFault, match="expected that of the package, which this run qualifies"):
        Card().firmware_should_fit_the_driver()


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("version", None, "reports no driver version, with which its firmware would have to fit"),
        ("version", "odd", "runs driver odd; expected one that may run"),
        ("firmware", None, "reports no firmware version"),
        ("firmware", "0x1", "cannot be judged"),
    ],
)
def test_what_cannot_be_compared_is_undecided(
    bench: FakeBench, taken: Run, field: str, text: str | None, said: str
) -> None:
    _paired(bench, taken, ">=1", ">=2.1-0")
    bench.dut.nics[0].info = replace(bench.dut.nics[0].info, **{field: text})  # type: ignore[arg-type]
    with pytest.raises(Undecided, match=said):
        Card().firmware_should_fit_the_driver()


def test_a_driver_of_two_pairs_is_undecided(bench: FakeBench, taken: Run) -> None:
    _paired(bench, taken, ">=6", "2.1-0", "    - {os: linux, driver: ['>=5'], firmware: ['2.1-0'], source: test}\n")
    with pytest.raises(Undecided, match=f"2 pairs of the sheet are of driver {KERNEL}; expected one"):
        Card().firmware_should_fit_the_driver()


def test_wrong_firmware_counts_more_than_a_port_that_reports_none(bench: FakeBench, taken: Run) -> None:
    _paired(bench, taken, firmware="9.9-9")
    bench.dut.nics[0].info = replace(bench.dut.nics[0].info, firmware=None)
    with pytest.raises(CardFailure, match=r"^dut\.p1 \(\S+\) runs firmware 2\.1-0, expected 9\.9-9"):
        Card().firmware_should_fit_the_driver()
