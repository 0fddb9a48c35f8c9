"""A good run is certified; each way a run can fall short of that is found and named."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from robot_runs import HERE, RobotRun, make_run

from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault
from niclab.report.certificate.certificate import certify, verify
from niclab.report.evidence.evidence import seal
from niclab.report.evidence.runfolder import plan_run
from niclab.report.pages.page import certificate_page

Change = Callable[[Path], None]


@pytest.fixture
def run_dir(good_run: RobotRun, tmp_path: Path) -> Path:
    """A copy of the good run, to be spoilt."""
    return Path(shutil.copytree(good_run.folder, tmp_path / good_run.folder.name))


def certificate_of(run_dir: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run_dir / "certificate.json").read_text())
    return content


def reasons_apart_from_the_plan(run_dir: Path) -> list[str]:
    """Return the other reasons; the toy run of a test hardly fulfils a plan."""
    return [reason for reason in certificate_of(run_dir)["reasons"] if not reason.startswith("Plan ")]


def rewrite(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def in_run(**changes: object) -> Change:
    return lambda run_dir: rewrite(run_dir / "run.json", lambda run: run.update(changes))


def in_summary(**changes: object) -> Change:
    return lambda run_dir: rewrite(
        run_dir / "allure-results" / "niclab-summary.json", lambda summary: summary.update(changes)
    )


def result_of(run_dir: Path, name: str) -> Path:
    (path,) = (
        path
        for path in (run_dir / "allure-results").glob("*-result.json")
        if json.loads(path.read_text())["name"] == name
    )
    return path


def in_result(change: Callable[[dict[str, Any]], object]) -> Change:
    return lambda run_dir: rewrite(result_of(run_dir, "The Link Comes Up"), change)


def with_verdict(verdict: str, status: str, message: str = "") -> Change:
    """The middle test ends like this instead, in the result, the summary and the output."""

    def change(result: dict[str, Any]) -> None:
        result.update(status=status, statusDetails={"message": message})
        next(label for label in result["labels"] if label["name"] == "verdict")["value"] = verdict

    return in_result(change)


def in_text(name: str, old: str, new: str) -> Change:
    def change(run_dir: Path) -> None:
        text = (run_dir / name).read_text()
        assert old in text
        (run_dir / name).write_text(text.replace(old, new))

    return change


def without(name: str) -> Change:
    def change(run_dir: Path) -> None:
        (path,) = run_dir.glob(name)
        path.unlink()

    return change


def added(name: str, text: str = "x") -> Change:
    def change(run_dir: Path) -> None:
        (run_dir / name).write_text(text)

    return change


def test_good_run_is_certified(run_dir: Path) -> None:
    assert certify(run_dir, 0) is ExitStatus.CERTIFIED
    certificate = certificate_of(run_dir)
    assert (certificate["verdict"], certificate["reasons"]) == ("CERTIFIED", [])
    assert (certificate["card"], certificate["bench"]) == ("intel-82574l", "virtual")
    assert certificate["facts"] == {"driver": "e1000e 6.1.0", "firmware": "1.8-0", "kernel": "6.1.0-28-amd64"}
    assert [(test["name"], test["verdict"]) for test in certificate["tests"]] == [
        ("Good.Card.The Card Trains To Its Width", "pass"),
        ("Good.Card.The Link Comes Up", "pass"),
        ("Good.Card.The Switch Port Comes Back", "not-applicable"),
    ]
    assert verify(run_dir) == []


def test_a_physical_card_is_no_demonstration(run_dir: Path) -> None:
    certify(run_dir, 0)
    page = (run_dir / "certificate.html").read_text()
    assert certificate_of(run_dir)["subject"] == "physical card" and "<dd>physical card</dd>" in page
    assert "DEMONSTRATION" not in page and 'class="verdict good"' in page


@pytest.mark.parametrize(("robot_rc", "verdict"), [(0, "CERTIFIED"), (1, "NOT CERTIFIED")])
def test_a_demonstration_says_so_wherever_a_person_looks(run_dir: Path, robot_rc: int, verdict: str) -> None:
    in_run(subject="DEMONSTRATION, emulated card")(run_dir)
    certify(run_dir, robot_rc)
    page = (run_dir / "certificate.html").read_text()
    assert certificate_of(run_dir)["subject"] == "DEMONSTRATION, emulated card"
    assert "<title>DEMONSTRATION, emulated card: " in page
    assert '<p class="demonstration">DEMONSTRATION, emulated card</p>' in page
    assert f"<strong>{verdict} (DEMONSTRATION, emulated card)</strong>" in page
    assert "<dd>DEMONSTRATION, emulated card</dd>" in page and 'class="verdict good"' not in page


def test_requirements_are_traced_to_tests(run_dir: Path) -> None:
    with_verdict("card-failure", "failed", "CardFailure: no carrier")(run_dir)
    certify(run_dir, 1)
    requirements = certificate_of(run_dir)["requirements"]
    parts = {part["id"]: part for each in requirements for part in each["parts"]}
    traced = {name: (part["status"], len(part["tests"])) for name, part in parts.items() if part["tests"]}
    assert traced == {
        "CARD-03/idle": ("verified", 1),
        "CARD-03/loaded": ("failed", 1),
        "CARD-04/link": ("failed", 1),
        "CARD-05/access": ("not applicable", 1),
    }
    assert len(requirements) == 54
    assert {part["status"] for part in parts.values() if not part["tests"]} == {"not tested"}


def test_the_scope_is_on_the_page(run_dir: Path) -> None:
    certify(run_dir, 0)
    scope = certificate_of(run_dir)["scope"]
    assert scope.startswith("plan toy: 0 of 54 requirements verified, 2 in part; not asked: EMX-01, EMX-02, ")
    page = (run_dir / "certificate.html").read_text()
    assert scope.partition("; ")[0][1:] in page and "Not asked: EMX-01, EMX-02, " in page
    assert "verified: Width and speed when idle, by 1 test: The Card Trains To Its Width" in page
    assert "not tested: 3 of 5 parts" in page and "Width and speed after a warm restart" in page
    assert re.search(r"Left out of this run: \d+ parts \(profile quick\)", page)
    assert "<small>Charter of this lab (2026)</small>" in page and "<small>charter<br>" in page


SHORTCOMINGS: dict[str, tuple[Change, str]] = {
    # The plan
    "no plan": (in_run(plan=None), "run.json: plan: "),
    "unknown plan": (in_run(plan="none"), "no such plan; expected one of toy"),
    "unfulfilled plan": (
        in_text("evidence/inputs/plan/toy.yaml", "[CARD", "[EMX-01, CARD"),
        "Plan toy requires EMX-01",
    ),
    # The verdicts
    "card failure": (
        with_verdict("card-failure", "failed", "CardFailure: x"),
        "1 test found the card wrong: Good.Card",
    ),
    "bench fault": (
        with_verdict("bench-fault", "broken", "BenchFault: x"),
        "1 test met a fault of the bench: Good.Card",
    ),
    "undecided": (with_verdict("undecided", "broken", "Undecided: x"), "1 test could not decide: Good.Card"),
    "unknown subject": (in_run(subject=None), "run.json does not say whether the card is physical or emulated."),
    # The results
    "verdict against status": (with_verdict("pass", "failed"), "contradicts the verdict label pass"),
    "verdict against Robot": (
        with_verdict("not-applicable", "skipped", "NotApplicable: x"),
        "Robot Framework said PASS",
    ),
    "unknown verdict": (with_verdict("fine", "passed"), "is no complete result"),
    "no verdict": (in_result(lambda result: result.update(labels=[])), "is no complete result"),
    "lost result": (lambda run_dir: result_of(run_dir, "The Link Comes Up").unlink(), "2 can be read"),
    "foreign result": (
        lambda run_dir: rewrite(result_of(run_dir, "The Link Comes Up"), lambda result: result.update(uuid="other")),
        "are not those that the summary of the run names",
    ),
    "same name twice": (
        in_result(lambda result: result.update(fullName="Good.Card.The Switch Port Comes Back")),
        "More than one result has the name: Good.Card.The Switch Port Comes Back",
    ),
    "no summary": (without("allure-results/niclab-summary.json"), "The run has not ended"),
    "summary of another shape": (in_summary(format=9), "format 9 is not known"),
    "summary with a hole": (in_summary(tests=None), "is not complete"),
    "error of the listener": (in_summary(errors=["disk full"]), "The results are not complete: disk full"),
    "fewer tests than planned": (in_summary(planned_tests=4), "4 tests were planned, 3 ended"),
    "selection": (
        in_summary(selection={"include": ["req:CARD-03"], "exclude": [], "skip": []}),
        "Only a selection of the tests was run: --include req:CARD-03",
    ),
    # run.json
    "no run.json": (without("run.json"), "run.json: cannot be read"),
    "torn run.json": (added("run.json", '{"format"'), "run.json: is not JSON"),
    "not finished": (in_run(finished=None), "does not say that the run has finished"),
    "partial": (in_run(partial="only suites/50__link"), "The run is partial: only suites/50__link"),
    "no copy of the requirements": (without("evidence/inputs/requirements/*"), "holds 0 files; expected the copy"),
    "marks that cannot be read": (added("evidence/marks.jsonl", "{"), "marks.jsonl:1: is no note"),
    "other exit status noted": (in_run(robot_rc=3), "notes exit status 3 of robot, not 0"),
    "no expectation": (in_run(expected_tests=None), "does not say how many tests"),
    "expectation of nothing": (in_run(expected_tests=0), "does not say how many tests"),
    "more tests expected": (in_run(expected_tests=4), "There are 3 results; a complete run has 4 tests"),
    "fewer tests expected": (in_run(expected_tests=2), "There are 3 results; a complete run has 2 tests"),
    "no card": (in_run(card=""), "does not name: card"),
    "no bench": (in_run(bench=None), "does not name: bench"),
    "no versions": (in_run(versions={}), "does not name: versions"),
    "no firmware": (
        in_run(facts={"driver": "e1000e", "kernel": "6.1"}),
        "does not record what was qualified: firmware",
    ),
    "no facts": (in_run(facts={}), "driver, firmware, kernel"),
    # output.xml
    "no output": (without("output.xml"), "output.xml cannot be read"),
    "torn output": (in_text("output.xml", "</robot>", ""), "output.xml is not whole"),
    "no statistics": (added("output.xml", "<robot/>"), "output.xml holds no statistics"),
    "output of another run": (
        in_text(
            "output.xml", '<stat pass="2" fail="0" skip="1">All Tests', '<stat pass="3" fail="0" skip="1">All Tests'
        ),
        "output.xml counts 3 PASS, 0 FAIL, 1 SKIP; the results are 2 PASS, 0 FAIL, 1 SKIP",
    ),
    "error next to the tests": (
        in_text("output.xml", "<errors>", '<errors><msg level="ERROR">Importing library failed</msg>'),
        "Robot Framework reported 1 errors while running: Importing library failed",
    ),
    # Evidence
    "no index": (without("evidence/index.json"), "index.json: cannot be read"),
    "evidence missing": (without("evidence/lspci*"), "Evidence is missing: lspci.txt"),
    "evidence changed": (
        added("evidence/lspci.txt", "Width x8"),
        "Evidence has changed since it was stored: lspci.txt",
    ),
    "run stopped": (in_run(stopped="bench lost"), "The run was stopped before its end: bench lost."),
    "evidence slipped in": (added("evidence/new.txt"), "Evidence is not in the index: new.txt"),
}


@pytest.mark.parametrize("name", SHORTCOMINGS)
def test_run_that_falls_short_is_not_certified(run_dir: Path, name: str) -> None:
    change, reason = SHORTCOMINGS[name]
    change(run_dir)
    assert certify(run_dir, 0) is not ExitStatus.CERTIFIED
    certificate = certificate_of(run_dir)
    assert certificate["verdict"] == "NOT CERTIFIED"
    assert any(reason in each for each in certificate["reasons"]), certificate["reasons"]
    assert_page_says_why_first((run_dir / "certificate.html").read_text())


def assert_page_says_why_first(page: str) -> None:
    body = re.sub(r"<[^>]+>|\s+", " ", page.split("</header>")[1])
    assert re.match(r"\W*NOT CERTIFIED\W+\w", body)
    assert page.index("NOT CERTIFIED") < page.index("<li>") < page.index("<h2>")


def test_torn_result_is_not_certified(run_dir: Path) -> None:
    path = result_of(run_dir, "The Link Comes Up")
    path.write_text(path.read_text()[:100])
    assert certify(run_dir, 0) is not ExitStatus.CERTIFIED
    assert any(f"{path}: is not JSON" in reason for reason in certificate_of(run_dir)["reasons"])


@pytest.mark.parametrize("robot_rc", [1, 250, 252, 255, -9])
def test_exit_status_of_robot_counts(run_dir: Path, robot_rc: int) -> None:
    assert certify(run_dir, robot_rc) is not ExitStatus.CERTIFIED
    assert f"robot ended with exit status {robot_rc}; expected 0." in certificate_of(run_dir)["reasons"]


def test_run_without_a_single_pass_is_not_certified(tmp_path: Path) -> None:
    suite = tmp_path / "none.robot"
    suite.write_text("*** Settings ***\nLibrary    ToyCard\n*** Test Cases ***\nOne\n    Not Applicable\n")
    run = make_run(tmp_path / "results", suite, expected_tests=1)
    assert run.rc == 0
    assert certify(run.folder, run.rc) is not ExitStatus.CERTIFIED
    assert reasons_apart_from_the_plan(run.folder) == ["No test has passed; expected at least one."]


@pytest.mark.parametrize(
    "options",
    [["--include", "req:CARD-03/*"], ["--exclude", "req:CARD-05/*"], ["--test", "*Link*"], ["--skip", "req:CARD-04/*"]],
)
def test_selection_of_tests_is_not_certified(tmp_path: Path, options: list[str]) -> None:
    run = make_run(tmp_path, options=options)
    assert run.rc == 0
    assert certify(run.folder, run.rc) is not ExitStatus.CERTIFIED


def test_dry_run_is_not_certified(tmp_path: Path) -> None:
    run = make_run(tmp_path, options=["--dryrun"])
    assert run.rc == 0
    assert certify(run.folder, run.rc) is not ExitStatus.CERTIFIED
    assert "No test has passed; expected at least one." in certificate_of(run.folder)["reasons"]


def test_every_verdict_at_once(tmp_path: Path) -> None:
    run = make_run(tmp_path, HERE / "suites", expected_tests=23)
    assert certify(run.folder, run.rc) is not ExitStatus.CERTIFIED
    assert [reason.split(":")[0] for reason in reasons_apart_from_the_plan(run.folder)] == [
        "9 tests found the card wrong",
        "9 tests met a fault of the bench",
        "2 tests could not decide",
        "robot ended with exit status 16; expected 0.",
    ]
    assert verify(run.folder) == []


def test_partial_run_says_so_before_it_starts(run_dir: Path) -> None:
    plan_run(run_dir, expected_tests=3, plan="toy", partial="--suite 50__link")
    assert certify(run_dir, 0) is not ExitStatus.CERTIFIED
    assert reasons_apart_from_the_plan(run_dir) == ["The run is partial: --suite 50__link."]


def test_page_escapes_everything_and_loads_nothing(run_dir: Path) -> None:
    certify(run_dir, 0)
    certificate = certificate_of(run_dir)
    nasty = "<script>alert('x')</script>&"
    certificate.update(card=nasty, reasons=[nasty], verdict="NOT CERTIFIED", requirements=[])
    certificate["facts"]["driver"] = nasty
    certificate["tests"][0].update(name=nasty, message=nasty)
    page = certificate_page(certificate)
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;") >= 5
    assert not re.search(r"(?:src|href)=|url\(|@import", page)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (in_text("certificate.json", '"CERTIFIED"', '"VERY CERTIFIED"'), "certificate.json: verdict"),
        (in_text("certificate.html", "CERTIFIED", "VERY CERTIFIED"), "certificate.html: is not the file"),
        (in_text("output.xml", "</robot>", "</robot> "), "output.xml: sha256"),
        (in_run(card="x710"), "run.json: sha256"),
        (added("evidence/lspci.txt", "Width x8"), "Evidence has changed"),
        (in_text("evidence/index.json", "lspci.txt", "lspci.txT"), "evidence/index.json: sha256"),
        (in_result(lambda result: result.update(description="better")), "allure-results: sha256"),
        (without("certificate.html"), "certificate.html: is missing"),
        (without("output.xml"), "output.xml: is missing"),
    ],
    ids=["verdict", "page", "output", "run", "evidence", "index", "result", "page lost", "output lost"],
)
def test_verify_finds_what_was_changed_afterwards(run_dir: Path, change: Change, said: str) -> None:
    assert certify(run_dir, 0) is ExitStatus.CERTIFIED
    assert verify(run_dir) == []
    change(run_dir)
    assert any(said in problem for problem in verify(run_dir)), verify(run_dir)


@pytest.mark.parametrize("name", ["certificate.json", "certificate.sha256"])
def test_verify_wants_a_certificate(run_dir: Path, name: str) -> None:
    certify(run_dir, 0)
    (run_dir / name).unlink()
    with pytest.raises(BenchFault, match=name):
        verify(run_dir)


def test_emptied_list_of_sums_is_an_error(run_dir: Path) -> None:
    certify(run_dir, 0)
    (run_dir / "certificate.sha256").write_text("")
    with pytest.raises(BenchFault, match="expected the sums of both"):
        verify(run_dir)


def test_sums_can_be_checked_by_anyone(run_dir: Path) -> None:
    certify(run_dir, 0)
    command = ["sha256sum", "--check", "--strict", "certificate.sha256"]
    done = subprocess.run(command, cwd=run_dir, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0
    files = [file for file in run_dir.rglob("*") if file.is_file()]
    assert done.stdout.count(": OK") == len(files) - 2  # the sums themselves, and the lock of the evidence


def test_folder_that_is_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BenchFault, match="expected the folder of a run"):
        certify(tmp_path / "missing", 0)
    assert certify(tmp_path, 0) is not ExitStatus.CERTIFIED
    assert len(certificate_of(tmp_path)["reasons"]) >= 5


def test_a_leftover_on_the_bench_is_a_failed_check_of_the_lab(run_dir: Path) -> None:
    """Never a failure of the card; the files of the comparison are evidence like any other."""
    left = {"text": "dut: enp1s0 mtu: 9000; expected 1500 (state before); left by 'A'; undone"}
    for name, content in {
        "state-before": {},
        "hygiene": {"format": 1, "over": True, "faults": [], "findings": [left]},
    }.items():
        (run_dir / "evidence" / f"{name}.json").write_text(json.dumps(content))
    seal(run_dir / "evidence")
    assert certify(run_dir, 0) is not ExitStatus.CERTIFIED
    after = certificate_of(run_dir)
    (check,) = [test for test in after["tests"] if test["name"] == "Bench hygiene"]
    assert check["verdict"] == "bench-fault" and left["text"] in check["message"]
    assert any(reason.startswith("Bench hygiene: BenchFault: dut: enp1s0 mtu: 9000") for reason in after["reasons"])
    assert after["lab_counts"]["bench-fault"] == 1 and after["counts"]["card-failure"] == 0
    assert "Bench hygiene" in (run_dir / "certificate.html").read_text() and verify(run_dir) == []


def test_a_clean_bench_is_a_passed_check_of_the_lab(run_dir: Path) -> None:
    for name, content in {
        "state-before": {},
        "hygiene": {"format": 1, "over": True, "faults": [], "findings": []},
    }.items():
        (run_dir / "evidence" / f"{name}.json").write_text(json.dumps(content))
    seal(run_dir / "evidence")
    certify(run_dir, 0)
    assert reasons_apart_from_the_plan(run_dir) == []
    assert certificate_of(run_dir)["lab_counts"]["pass"] >= 1
