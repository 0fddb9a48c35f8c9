"""Bench hygiene on a certificate: a check of the lab's own, never a failure of the card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from niclab.report import write_json
from niclab.report.allure.allure_results import TestRecord
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER
from niclab.report.own_checks.hygiene_check import BEFORE, CHECK, RESULT, hygiene_check
from niclab.report.verdicts import Verdict

LEFT = {"text": "dut: enp1s0 mtu: 9000; expected 1500 (state before); left by 'A'; undone"}
RED = TestRecord("1", "A", Verdict.CARD_FAILURE, "CardFailure: x", (), 0, 1.0)


def written(run_dir: Path, **changes: Any) -> Path:
    write_json(run_dir / EVIDENCE_FOLDER / BEFORE, {})
    result = {"format": 1, "over": True, "faults": [], "findings": []}
    write_json(run_dir / EVIDENCE_FOLDER / RESULT, result | changes)
    return run_dir


def test_a_run_that_took_no_state_has_no_such_check(tmp_path: Path) -> None:
    assert hygiene_check(tmp_path) is None


def test_a_clean_bench_passes(tmp_path: Path) -> None:
    check = hygiene_check(written(tmp_path))
    assert check is not None and (check.name, check.verdict, check.message) == (CHECK, Verdict.PASS, "")


@pytest.mark.parametrize("changes", [{"findings": [LEFT]}, {"faults": ["dut: no answer"]}], ids=["left", "fault"])
def test_a_leftover_is_a_fault_of_the_bench(tmp_path: Path, changes: dict[str, Any]) -> None:
    check = hygiene_check(written(tmp_path, **changes))
    assert check is not None and check.verdict is Verdict.BENCH_FAULT and check.message.startswith("BenchFault: dut: ")


@pytest.mark.parametrize("changes", [{"format": 2}, {"findings": None}, {"findings": [{}]}, {"over": False}])
def test_a_result_that_cannot_be_read_is_no_pass(tmp_path: Path, changes: dict[str, Any]) -> None:
    check = hygiene_check(written(tmp_path, **changes))
    assert check is not None and "the state after the run was not compared: " in check.message


def test_a_run_that_ended_before_its_comparison_is_no_pass(tmp_path: Path) -> None:
    (written(tmp_path) / EVIDENCE_FOLDER / RESULT).unlink()
    check = hygiene_check(tmp_path)
    assert check is not None and check.verdict is Verdict.BENCH_FAULT
