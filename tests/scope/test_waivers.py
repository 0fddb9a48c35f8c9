"""A waiver is shown wherever the failure is, never makes it a pass, and ends with its last day."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from robot_runs import make_run

from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault
from niclab.report.allure.allure_results import TestRecord
from niclab.report.certificate.certificate import certify, verify
from niclab.report.certificate.certificate_record import CertificateRecord
from niclab.report.certificate.waived import keep_waivers, waived
from niclab.report.evidence.evidence import seal
from niclab.report.evidence.runfolder import read_run
from niclab.report.verdicts import ALSO, Verdict
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
    Fail    CardFailure: dut.p0: 256 descriptors; expected 512
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


@pytest.mark.parametrize("what", ["message: 256 descriptors\ntest: The Rings Are Right", "message: 256 descriptors"])
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


@pytest.mark.parametrize("what", ["message: 256 descriptors\ntest: The Speed Is Right", "message: 128 descriptors"])
def test_a_waiver_of_something_else_covers_nothing_and_is_shown(tmp_path: Path, what: str) -> None:
    status, run_dir, record = certified(tmp_path, what)
    assert (
        status is not ExitStatus.CERTIFIED
        and record["verdict"] == "NOT CERTIFIED"
        and record["waivers"][0]["tests"] == []
    )
    assert "nothing in this run" in (run_dir / "certificate.html").read_text()


def test_a_waiver_that_has_expired_is_a_reason_and_covers_nothing(tmp_path: Path) -> None:
    status, _, record = certified(tmp_path, "message: 256 descriptors", expires="2026-01-31")
    assert status is not ExitStatus.CERTIFIED and record["waivers"][0]["tests"] == []
    (said,) = (reason for reason in record["reasons"] if "expires" in reason)
    assert said.endswith("nic-42.yaml: expires: 2026-01-31 has passed; expected a renewal by lab lead, or removal")


def test_the_last_day_still_counts(tmp_path: Path) -> None:
    waivers = load_waivers(written(tmp_path / "waivers", "message: 256 descriptors", "2026-06-30"))
    require_current(waivers, date(2026, 6, 30))
    with pytest.raises(BenchFault, match=r"nic-42\.yaml: expires: 2026-06-30 has passed"):
        require_current(waivers, date(2026, 7, 1))


@pytest.mark.parametrize(
    ("what", "expires", "said"),
    [
        ("message: 256 descriptors\nowner_: x", "2999-01-01", "unknown key"),
        ("test: A", "2999-01-01", "message: missing; expected a part of one line"),
        ("message: is", "2999-01-01", "at least 10 characters"),
        ("message: 256 descriptors", "next year", "a day in quotes"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, what: str, expires: str, said: str) -> None:
    with pytest.raises(BenchFault, match=said):
        load_waivers(written(tmp_path / "waivers", what, expires))


WIDTH = "CardFailure: dut.p0: width is x4; expected x8"


@pytest.mark.parametrize(
    ("message", "covered"),
    [
        (WIDTH, True),
        (f"{WIDTH}\ndut.p1: width is x4; expected x8", True),
        (f"{WIDTH}\ndut.p0: speed is 2.5; expected 5", False),
        (f"{WIDTH}{ALSO}CardFailure: dut.p0: speed is 2.5; expected 5", False),
        (f"KernelFailure: dut: width is x4 reported by the kernel{ALSO}{WIDTH}", False),
        (f"{WIDTH}{ALSO}KernelFailure: dut: NETDEV WATCHDOG", False),
        (f"{WIDTH}{ALSO}BenchFault: rings could not be put back, width is x4", False),
        (f"{WIDTH}{ALSO}Undecided: width is x4", False),
        (f"{WIDTH}{ALSO}width is x4", False),
        (f"{WIDTH}{ALSO}NotApplicable: no second port", True),
    ],
)
def test_a_waiver_covers_its_own_lines_and_no_neighbour(tmp_path: Path, message: str, covered: bool) -> None:
    run_dir = tmp_path / "run"
    waiver = written(tmp_path / "waivers", "message: width is x4")
    (run_dir / "evidence").mkdir(parents=True)
    keep_waivers(run_dir, load_waivers(waiver))
    test = TestRecord("uuid", "Suite.Width", Verdict.CARD_FAILURE, message, (), 0, 1.0)
    assert waived(run_dir, "intel-82574l", "2026-11-25", [test]).tests == (
        {"Suite.Width": ["nic-42"]} if covered else {}
    )


@pytest.mark.parametrize(("day", "covered"), [("2026-06-30T23:59:59", True), ("2026-07-01T00:00:01", False)])
def test_a_test_after_the_last_day_is_not_covered(tmp_path: Path, day: str, covered: bool) -> None:
    """A run may pass midnight, or be continued. The day is that where it began."""
    keep_waivers(tmp_path, load_waivers(written(tmp_path / "waivers", "message: width is x4", "2026-06-30")))
    start_ms = int(datetime.fromisoformat(f"{day}-07:00").timestamp() * 1000)
    test = TestRecord("uuid", "Suite.Width", Verdict.CARD_FAILURE, WIDTH, (), start_ms, 1.0)
    found = waived(tmp_path, "intel-82574l", "2026-06-30T10:00:00-07:00", [test])
    assert found.tests == ({"Suite.Width": ["nic-42"]} if covered else {})
    said = "nic-42.yaml: expires: 2026-06-30 has passed; expected a renewal by lab lead, or removal"
    assert [each.rpartition("/")[2] for each in found.problems] == ([] if covered else [said])


def test_a_test_after_the_last_day_of_another_waiver_is_covered(tmp_path: Path) -> None:
    folder = written(tmp_path / "waivers", "message: width is x4")
    other = (folder / "nic-42.yaml").read_text().replace("nic-42", "nic-41").replace("2999-12-31", "2026-06-30")
    (folder / "nic-41.yaml").write_text(other)
    keep_waivers(tmp_path, load_waivers(folder))
    start_ms = int(datetime.fromisoformat("2026-07-02T12:00:00Z").timestamp() * 1000)
    test = TestRecord("uuid", "Suite.Width", Verdict.CARD_FAILURE, WIDTH, (), start_ms, 1.0)
    found = waived(tmp_path, "intel-82574l", "2026-06-30T10:00:00+00:00", [test])
    assert (found.tests, found.problems) == ({"Suite.Width": ["nic-42"]}, [])


def test_two_waivers_cover_two_lines(tmp_path: Path) -> None:
    folder = written(tmp_path / "waivers", "message: width is x4")
    other = (folder / "nic-42.yaml").read_text().replace("nic-42", "nic-43").replace("width is x4", "speed is 2.5")
    (folder / "nic-43.yaml").write_text(other)
    keep_waivers(tmp_path, load_waivers(folder))
    message = f"{WIDTH}\ndut.p0: speed is 2.5; expected 5"
    test = TestRecord("uuid", "Suite.Width", Verdict.CARD_FAILURE, message, (), 0, 1.0)
    found = waived(tmp_path, "intel-82574l", "2026-11-25", [test])
    assert found.tests == {"Suite.Width": ["nic-42", "nic-43"]}
    assert [each["tests"] for each in found.as_json()] == [["Suite.Width"]] * 2


def test_a_waiver_of_another_card_is_left_alone(tmp_path: Path) -> None:
    assert load_waivers(written(tmp_path / "waivers", "message: 256 descriptors"), "intel-x520") == []
    assert load_waivers(tmp_path / "missing") == []
