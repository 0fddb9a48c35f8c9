"""Real runs of Robot Framework with the listener: what is on disk afterwards, also when something went wrong."""

from __future__ import annotations

import filecmp
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from robot_runs import HERE, LISTENER, RobotRun, environment, robot_command, run_robot

from niclab.core.wait import until

VERDICTS = {
    "Passes": ("passed", "pass"),
    "Card Fails": ("failed", "card-failure"),
    "Card Fails With Markup": ("failed", "card-failure"),
    "Bench Faults": ("broken", "bench-fault"),
    "Line Is Lost": ("broken", "bench-fault"),
    "Cannot Tell": ("broken", "undecided"),
    "Not Applicable": ("skipped", "not-applicable"),
    "Unknown Keyword": ("broken", "bench-fault"),
    "Times Out": ("broken", "bench-fault"),
    "Plain Assertion": ("broken", "bench-fault"),
    "Teardown Fails Too": ("failed", "card-failure"),
    "Several Failures": ("failed", "card-failure"),
    "Failure Behind A Skip Tag": ("failed", "card-failure"),
    "Failure Behind A Skipping Teardown": ("failed", "card-failure"),
    "Retried": ("failed", "card-failure"),
    "Quoted Card Failure": ("broken", "bench-fault"),
    "Skipped By Tag": ("broken", "undecided"),
    "Never Runs": ("broken", "bench-fault"),
    "Cannot Run With This Card": ("failed", "card-failure"),
    "Good Until The Suite Teardown": ("broken", "bench-fault"),
    "Skipped Before The Suite Teardown": ("broken", "bench-fault"),
    "Card Failed Before The Suite Teardown": ("failed", "card-failure"),
    "Control Structures": ("passed", "pass"),
}


def labels(result: dict[str, Any], name: str) -> list[str]:
    return [label["value"] for label in result["labels"] if label["name"] == name]


def suite_of(folder: Path, *lines: str) -> Path:
    """A suite file with the toy library and the given lines below ``*** Test Cases ***``."""
    file = folder / "suite.robot"
    file.write_text("\n".join(["*** Settings ***", "Library    ToyCard", "*** Test Cases ***", *lines, ""]))
    return file


def test_every_test_has_its_status_and_verdict(verdict_run: RobotRun) -> None:
    found = {name: (result["status"], *labels(result, "verdict")) for name, result in verdict_run.results.items()}
    assert found == VERDICTS
    assert verdict_run.summary["errors"] == []
    assert verdict_run.summary["planned_tests"] == verdict_run.summary["written_results"] == len(VERDICTS)
    assert verdict_run.stderr == ""


def test_message_is_text_without_markup_of_its_own(verdict_run: RobotRun) -> None:
    message = {name: result["statusDetails"].get("message") for name, result in verdict_run.results.items()}
    assert message["Card Fails"] == "CardFailure: dut.<eth0> trained to <b>x4</b> & worse"
    assert message["Card Fails With Markup"] == "CardFailure: dut.p0 is <bad>"
    assert message["Passes"] is None


def test_converted_output_is_the_same_as_the_live_results(verdict_run: RobotRun, tmp_path: Path) -> None:
    live = verdict_run.folder / "allure-results"
    subprocess.run(
        [sys.executable, LISTENER, verdict_run.folder / "output.xml", tmp_path],
        env=environment(),
        check=True,
        timeout=60,
    )
    names = sorted(path.name for path in live.iterdir())
    assert names == sorted(path.name for path in tmp_path.iterdir())
    assert len(names) > len(VERDICTS)
    assert filecmp.cmpfiles(live, tmp_path, names, shallow=False) == (names, [], [])


def test_suite_teardown_flips_results_under_their_names(verdict_run: RobotRun) -> None:
    paths = list((verdict_run.folder / "allure-results").glob("*-result.json"))
    assert len(paths) == len(VERDICTS)
    message = verdict_run.results["Good Until The Suite Teardown"]["statusDetails"]["message"]
    assert message == "Parent suite teardown failed:\nBenchFault: link of dut.p0 was not restored"


def test_fixtures_of_tests_and_suites_are_containers(verdict_run: RobotRun) -> None:
    by_fixture = {
        (kind, step["name"]): container["children"]
        for container in verdict_run.containers
        for kind in ("befores", "afters")
        for step in container[kind]
    }
    uuid = {name: result["uuid"] for name, result in verdict_run.results.items()}
    assert by_fixture["befores", "Log  before"] == by_fixture["afters", "Log  after"] == [uuid["Control Structures"]]
    suite = {uuid[name] for name in VERDICTS if name.endswith("The Suite Teardown")}
    assert set(by_fixture["befores", "Log  taking the bench"]) == suite
    assert set(by_fixture["afters", "Bench Faults  link of dut.p0 was not restored"]) == suite


def test_tags_and_documentation(verdict_run: RobotRun) -> None:
    card, control = verdict_run.results["Card Fails"], verdict_run.results["Control Structures"]
    assert sorted(labels(card, "requirement")) == ["CARD-03", "CARD-04"]
    assert sorted(labels(card, "tag")) == ["needs:bmc", "req:CARD-03", "req:CARD-04"]
    assert (labels(control, "feature"), labels(control, "severity")) == (["PCIe"], ["blocker"])
    assert control["links"] == [{"type": "tms", "name": "TC-1", "url": "https://tests.example/1"}]
    assert control["parameters"] == [{"name": "MTU", "value": "9000"}]
    assert control["descriptionHtml"] == "<p>Reads <b>width</b> of &lt;eth0&gt;.</p>"
    assert labels(control, "suite") == ["Steps"]
    assert control["titlePath"] == ["Suites", "Steps"]


def test_steps_have_the_names_of_the_suite(verdict_run: RobotRun) -> None:
    steps = verdict_run.results["Control Structures"]["steps"]
    assert [(step["name"], step["status"]) for step in steps] == [
        ("FOR  ${x}  IN  1  2", "passed"),
        ("TRY", "failed"),
        ("EXCEPT  CardFailure*  type=GLOB", "passed"),
        ("FINALLY", "passed"),
        ("WHILE  True  limit=2  on_limit=pass", "passed"),
        ("VAR  ${width}  4", "passed"),
        ("${speed} = Set Variable  8 GT/s", "passed"),
        ("GROUP  Look twice", "passed"),
    ]
    assert [(step["name"], step["status"]) for step in steps[0]["steps"][0]["steps"]] == [
        ("IF  ${x} == 1", "passed"),
        ("ELSE", "skipped"),
    ]
    assert [step["name"] for step in steps[4]["steps"]] == ["Iteration", "Iteration"]


def test_messages_and_evidence_are_attachments_of_their_keyword(verdict_run: RobotRun) -> None:
    steps = verdict_run.results["Control Structures"]["steps"]
    (log,) = steps[0]["steps"][0]["steps"][0]["steps"][0]["attachments"]
    assert (log["name"], log["type"]) == ("log", "text/plain")
    assert verdict_run.attachment(log["source"]).endswith("INFO   <script>alert(1)</script> & <eth0>")
    (evidence,) = steps[-1]["steps"][0]["attachments"]
    assert (evidence["name"], evidence["type"]) == ("ethtool <eth0>.txt", "text/plain")
    assert verdict_run.attachment(evidence["source"]) == "Speed: 1000Mb/s"


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    run = run_robot(tmp_path, HERE / "good", ["--dryrun"])
    assert run.rc == 0
    assert not (tmp_path / "allure-results").exists()


def test_killed_run_keeps_the_finished_tests(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    suite = suite_of(
        tmp_path,
        *("One", "    No Operation", "Two", "    Card Fails"),
        *("Three", f"    Tell And Hang    {begun}", "Four", "    No Operation"),
    )
    process = subprocess.Popen(robot_command(tmp_path, suite), env=environment(), stdout=subprocess.DEVNULL)
    try:
        until(begun.exists, within=30, what="third test of the run begins")
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
    run = RobotRun(tmp_path, -signal.SIGKILL, "")
    assert {name: result["status"] for name, result in run.results.items()} == {"One": "passed", "Two": "failed"}
    assert not (tmp_path / "allure-results" / "niclab-summary.json").exists()


def test_test_that_cannot_be_written_in_full_is_broken_and_told(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "Good", "    No Operation", "Lost Evidence", "    Link Lost Evidence")
    run = run_robot(tmp_path, suite)
    assert run.rc == 0  # Robot Framework itself saw nothing wrong
    result = run.results["Lost Evidence"]
    assert (result["status"], labels(result, "verdict")) == ("broken", ["bench-fault"])
    assert "Robot Framework said PASS" in result["statusDetails"]["message"]
    assert run.results["Good"]["status"] == "passed"
    (error,) = run.summary["errors"]
    assert "Suite.Lost Evidence: BenchFault: evidence 'evidence/gone.txt'" in error
    assert error in run.stderr
    assert "evidence/gone.txt" in (tmp_path / "output.xml").read_text().split("<errors>")[1]


def test_evidence_outside_of_the_run_is_refused(tmp_path: Path) -> None:
    link = '<a class="evidence" type="text/plain" href="../secret.txt">x</a>'
    (tmp_path / "secret.txt").write_text("secret")
    run = run_robot(tmp_path / "out", suite_of(tmp_path, "Reaches Out", f"    Log    {link}    html=True"))
    assert run.results["Reaches Out"]["status"] == "broken"
    assert "lies outside" in run.summary["errors"][0]


def test_lost_result_is_counted(tmp_path: Path) -> None:
    suite = tmp_path / "suite.robot"
    suite.write_text(
        "*** Settings ***\nLibrary    OperatingSystem\n*** Test Cases ***\nOne\n    No Operation\n"
        "Two\n    Remove Files    ${OUTPUT DIR}/allure-results/*-result.json\n"
    )
    run = run_robot(tmp_path, suite)
    assert run.summary["errors"] == [
        "2 tests were planned, 2 ended, 1 results are written; expected three times the same number"
    ]
    assert "1 results are written" in run.stderr


def test_results_that_cannot_be_written_at_all_are_told(tmp_path: Path) -> None:
    (tmp_path / "allure-results").touch()
    run = run_robot(tmp_path, HERE / "good")
    assert run.stderr.count("cannot be written") >= 3


def test_unknown_severity_is_told(tmp_path: Path) -> None:
    run = run_robot(tmp_path, suite_of(tmp_path, "One", "    [Tags]    allure.severity:fatal", "    No Operation"))
    assert run.summary["errors"] == [
        "Suite.One: tag: severity 'fatal' is not known; expected blocker, critical, normal, minor, trivial"
    ]


def test_equal_names_do_not_share_a_result(tmp_path: Path) -> None:
    run = run_robot(tmp_path, suite_of(tmp_path, "One", "    No Operation", "One", "    Card Fails"))
    assert len(list((tmp_path / "allure-results").glob("*-result.json"))) == 2
    assert run.summary["errors"] == []


@pytest.mark.parametrize("content", [None, "", "<robot/>", "not xml"])
def test_unreadable_output_is_an_error(tmp_path: Path, content: str | None) -> None:
    output = tmp_path / "output.xml"
    if content is not None:
        output.write_text(content)
    command = [sys.executable, str(LISTENER), str(output), str(tmp_path / "results")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(f"AllureResults: {output}")


def test_converter_tells_of_evidence_that_is_gone(verdict_run: RobotRun, tmp_path: Path) -> None:
    shutil.copy(verdict_run.folder / "output.xml", tmp_path)
    command = [sys.executable, str(LISTENER), str(tmp_path / "output.xml"), str(tmp_path / "results")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Control Structures: BenchFault: evidence" in done.stderr


def test_converter_wants_two_arguments() -> None:
    done = subprocess.run([sys.executable, LISTENER], env=environment(), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr[:6]) == (2, "usage:")
