"""The exit status of a run says whose fault it is that a card has no certificate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from robot_runs import make_run

from niclab.commands import cli
from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault, CardFailure
from niclab.report.certificate.certificate import certify, words_of
from niclab.report.evidence.evidence import seal
from niclab.report.evidence.runfolder import RUN_FILE
from niclab.report.own_checks.last_look import keep_last_look

SUITE = """*** Settings ***
Library    ToyCard

*** Test Cases ***
Width
    [Tags]    req:CARD-03/idle    req:CARD-03/loaded
    No Operation

Answer
    [Tags]    req:CARD-04/link
    {answer}
"""
RED = ("Card Fails", "Bench Faults", "Cannot Tell")


def ended(tmp_path: Path, *answers: str, **changes: object) -> ExitStatus:
    """Run a suite with the answers, change what the run noted, and judge it."""
    (tmp_path / "suites").mkdir()
    for number, answer in enumerate(answers):
        (tmp_path / "suites" / f"{number}.robot").write_text(SUITE.format(answer=answer))
    run = make_run(tmp_path, tmp_path / "suites", expected_tests=2 * len(answers))
    seal(run.folder / "evidence", [])
    file = run.folder / RUN_FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    status = certify(run.folder, run.rc)
    verdict = json.loads((run.folder / "certificate.json").read_text())["verdict"]
    assert verdict == words_of(status) and (status is ExitStatus.CERTIFIED) is (verdict == "CERTIFIED")
    return status


@pytest.mark.parametrize(
    ("answers", "changes", "status"),
    [
        (("No Operation",), {}, ExitStatus.CERTIFIED),
        (("Card Fails",), {}, ExitStatus.CARD_FAILURE),
        (("Bench Faults",), {}, ExitStatus.BENCH_FAULT),
        (("Cannot Tell",), {}, ExitStatus.UNDECIDED),
        (("Not Applicable",), {}, ExitStatus.UNDECIDED),  # the plan requires the answer
        (("No Operation",), {"partial": "a suite"}, ExitStatus.PARTIAL),
        (("Not Applicable",), {"partial": "a suite"}, ExitStatus.PARTIAL),
        (RED, {"partial": "a suite"}, ExitStatus.CARD_FAILURE),
        (RED[1:], {"partial": "a suite"}, ExitStatus.BENCH_FAULT),
        (RED[2:], {"partial": "a suite"}, ExitStatus.UNDECIDED),
        (("No Operation",), {"expected_tests": 3}, ExitStatus.BENCH_FAULT),  # it was ended early
        (("No Operation",), {"finished": None}, ExitStatus.BENCH_FAULT),
        (("Cannot Tell",), {"robot_rc": 252}, ExitStatus.BENCH_FAULT),
    ],
)
def test_the_gravest_reason_decides(
    tmp_path: Path, answers: tuple[str, ...], changes: dict[str, object], status: ExitStatus
) -> None:
    assert ended(tmp_path, *answers, **changes) is status


@pytest.mark.parametrize("found", [(CardFailure("dut kernel: oops"), 1), (BenchFault("dut: silent"), 3), (None, 0)])
def test_what_the_kernels_report_after_the_last_test_counts(
    tmp_path: Path, found: tuple[Exception, int] | None
) -> None:
    error, status = found or (None, 0)
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "one.robot").write_text(SUITE.format(answer="No Operation"))
    run = make_run(tmp_path, tmp_path / "suites", expected_tests=2)
    keep_last_look(run.folder / "evidence", [error] if error else [], [], over=True)
    seal(run.folder / "evidence", [])
    assert certify(run.folder, run.rc) == status


def test_a_command_that_cannot_answer_is_no_failure_of_a_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["certify", str(tmp_path / "none.yaml")]) == ExitStatus.BENCH_FAULT
    monkeypatch.setattr(cli.certify, "run", lambda *_, **__: 1 / 0)
    assert cli.main(["certify"]) == ExitStatus.BENCH_FAULT
    assert "ZeroDivisionError" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ending:
        cli.main(["certify", "--no-such-option"])
    assert ending.value.code == ExitStatus.WRONG_USAGE
