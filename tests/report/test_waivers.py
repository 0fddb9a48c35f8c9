"""A waiver is shown wherever the failure is, never makes it a pass, and ends with its last day."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from robot_runs import make_run

from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault
from niclab.report.certificate import certify, verify
from niclab.report.certificate_record import CertificateRecord
from niclab.report.evidence import seal
from niclab.report.runfolder import read_run
from niclab.report.waived import keep_waivers
from niclab.scope.waivers import load_waivers, require_current

WAIVER = """waiver: nic-42
card: intel-82574l
{what}
reason: The vendor corrects it
owner: lab lead
expires: "{expires}"
"""
SUITE = """*** Test Cases ***
The Link Trains
    [Tags]    req:CARD-03/idle    req:CARD-03/loaded
    No Operation

The Speed Is Right
    [Tags]    req:CARD-04/link
    No Operation

The Rings Are Right
    [Tags]    req:CARD-03/idle
    Fail    CardFailure: dut.p0: 256 descriptors; expected: 512
"""


def written(folder: Path, what: str, expires: str = "2999-12-31") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "nic-42.yaml").write_text(WAIVER.format(what=what, expires=expires))
    return folder


def certified(tmp_path: Path, what: str, expires: str = "2999-12-31") -> tuple[ExitStatus, Path, dict[str, Any]]:
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "toy.robot").write_text(SUITE)
    run = make_run(tmp_path, tmp_path / "suites")
    keep_waivers(run.folder, load_waivers(written(tmp_path / "waivers", what, expires), "intel-82574l"))
    seal(run.folder / "evidence", [])
    status = certify(run.folder, run.rc)
    assert verify(run.folder) == []
    text = (run.folder / "certificate.json").read_text()
    CertificateRecord.model_validate_json(text)
    return status, run.folder, json.loads(text)


@pytest.mark.parametrize("what", ["test: The Rings Are Right", "message: 256 descriptors"])
def test_a_waived_failure_stays_a_failure_and_is_on_every_page(tmp_path: Path, what: str) -> None:
    status, run_dir, record = certified(tmp_path, what)
    assert status is ExitStatus.WAIVED and record["verdict"] == "CERTIFIED WITH WAIVERS"
    (test,) = (each for each in record["tests"] if each["waiver"])
    assert test["verdict"] == "card-failure" and test["waiver"] == "nic-42" and read_run(run_dir)["robot_rc"] == 1
    assert record["counts"]["card-failure"] == 1 and record["waivers"][0]["tests"] == [test["name"]]
    page = (run_dir / "certificate.html").read_text()
    for said in ("CERTIFIED WITH WAIVERS", "nic-42", "until 2999-12-31, by lab lead", "The vendor corrects it"):
        assert said in page
    assert 'class="verdict good"' not in page


@pytest.mark.parametrize("what", ["test: The Speed Is Right", "message: 128 descriptors"])
def test_a_waiver_of_something_else_covers_nothing_and_is_shown(tmp_path: Path, what: str) -> None:
    status, run_dir, record = certified(tmp_path, what)
    assert (
        status is not ExitStatus.CERTIFIED
        and record["verdict"] == "NOT CERTIFIED"
        and record["waivers"][0]["tests"] == []
    )
    assert "nothing in this run" in (run_dir / "certificate.html").read_text()


def test_a_waiver_that_has_expired_is_a_reason_and_covers_nothing(tmp_path: Path) -> None:
    status, _, record = certified(tmp_path, "test: The Rings Are Right", expires="2026-01-31")
    assert status is not ExitStatus.CERTIFIED and record["waivers"][0]["tests"] == []
    (said,) = (reason for reason in record["reasons"] if "expires" in reason)
    assert said.endswith("nic-42.yaml: expires: 2026-01-31 has passed; expected: renewed by lab lead, or removed")


def test_the_last_day_still_counts(tmp_path: Path) -> None:
    waivers = load_waivers(written(tmp_path / "waivers", "test: A", "2026-06-30"))
    require_current(waivers, date(2026, 6, 30))
    with pytest.raises(BenchFault, match=r"nic-42\.yaml: expires: 2026-06-30 has passed"):
        require_current(waivers, date(2026, 7, 1))


@pytest.mark.parametrize(
    ("what", "expires", "said"),
    [
        ("owner_: x", "2999-01-01", "unknown key"),
        ("", "2999-01-01", "names neither test nor message"),
        ("test: A", "next year", "a day in quotes"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, what: str, expires: str, said: str) -> None:
    with pytest.raises(BenchFault, match=said):
        load_waivers(written(tmp_path / "waivers", what, expires))


def test_a_waiver_of_another_card_is_left_alone(tmp_path: Path) -> None:
    assert load_waivers(written(tmp_path / "waivers", "test: A"), "intel-x520") == []
    assert load_waivers(tmp_path / "missing") == []
