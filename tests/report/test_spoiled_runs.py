"""The number of traffic runs that a server may spoil by standing still, in a certificate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from niclab.report.allure.allure_results import TestRecord
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER
from niclab.report.own_checks.spoiled_runs import FILE, exceeds, spoiled_runs_check
from niclab.report.verdicts import Verdict


def check(folder: Path, good: int, *, dut: int = 0, peer: int = 0, idle: int | None = None) -> TestRecord:
    stood = [[]] * good + [["dut"]] * dut + [["peer"]] * peer
    lines = [json.dumps({"stood": each, "bound_percent": 10.0}) for each in stood]
    lines += [] if idle is None else [json.dumps({"idle_s": 40.0, "stood_idle": idle})]
    file = folder / EVIDENCE_FOLDER / FILE
    file.parent.mkdir()
    file.write_text("\n".join(lines) + "\n")
    found = spoiled_runs_check(folder)
    assert found is not None
    return found


def test_a_run_without_traffic_has_no_such_check(tmp_path: Path) -> None:
    assert spoiled_runs_check(tmp_path) is None


@pytest.mark.parametrize(("good", "dut", "peer"), [(9, 1, 0), (1, 1, 0), (90, 10, 0), (80, 10, 10)])
def test_a_tenth_is_allowed_of_each_server(tmp_path: Path, good: int, dut: int, peer: int) -> None:
    assert check(tmp_path, good, dut=dut, peer=peer).verdict is Verdict.PASS


@pytest.mark.parametrize("share", [11, 30, 40])
def test_a_driver_that_stops_the_dut_is_undecided_with_the_comparison(tmp_path: Path, share: int) -> None:
    found = check(tmp_path, 100 - share, dut=share, idle=0)
    assert found.verdict is Verdict.UNDECIDED
    assert f"dut stood still in {share} of 100 traffic runs; expected at most 10 % (bench file); not once in 40 s" in (
        found.message
    )


def test_a_dut_that_stands_still_without_traffic_too_is_the_benchs(tmp_path: Path) -> None:
    found = check(tmp_path, 70, dut=30, idle=2)
    assert found.verdict is Verdict.BENCH_FAULT and "it did so 2 times in 40 s without traffic" in found.message


def test_a_peer_that_stands_still_is_the_benchs(tmp_path: Path) -> None:
    assert check(tmp_path, 70, peer=30).verdict is Verdict.BENCH_FAULT


def test_a_line_that_is_none_is_no_pass(tmp_path: Path) -> None:
    check(tmp_path, 10)
    with (tmp_path / EVIDENCE_FOLDER / FILE).open("a") as file:
        file.write("{}\n")
    found = spoiled_runs_check(tmp_path)
    assert found is not None and found.verdict is Verdict.BENCH_FAULT


def test_one_run_is_allowed_however_few_there_are() -> None:
    assert not exceeds(1, 2, 10.0) and exceeds(2, 2, 10.0)
