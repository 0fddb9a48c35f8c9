"""A run that is killed in the middle of a test, and continued."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from fake_bench import FakeBench

from niclab.commands.certifying import certify, resume, robot_process
from niclab.core.abort import ORPHANED, StopOrder
from niclab.core.exit_status import ExitStatus
from niclab.core.undo import Journal
from niclab.core.verdict import BenchFault
from niclab.fleet.reservation import ReservedBench
from niclab.report.allure.allure_results import read_results
from niclab.report.evidence.continued import found_in, make_whole
from niclab.report.evidence.runfolder import read_run
from niclab.report.evidence.test_journal import FILE, EndedTest, RobotMessage, TestJournal, read_so_far
from niclab.report.verdicts import Verdict, lines_to_waive

KILL = (
    f"[__import__('signal').signal({int(ORPHANED)}, 1), "
    "*(__import__('os').kill(each, 9) for each in (__import__('os').getppid(), __import__('os').getpid()))]"
)
"""Kills niclab, which is the parent of Robot Framework, and then Robot Framework, before the death of its parent ends
the tests in good order: that signal is ignored."""
FIRST = "*** Test Cases ***\nGood\n    Log    words    WARN\nBad\n    Fail    CardFailure: dut.p0 is wrong\n"
SECOND = f"*** Test Cases ***\nEarly\n    No Operation\nKills\n    Evaluate    {KILL}\nLate\n    No Operation\n"
ERROR = "__import__('robot.output.logger', fromlist=['x']).LOGGER.error('the kernel log was not read')"
"""As a listener that fails: no test holds the message."""
THIRD = "*** Test Cases ***\nLast\n    No Operation\n"
ABOUT_ANOTHER_CARD = """
cards:
  intel-x520:
    rate_scale: 400
    ports:
      dut.p0: {pci: "0000:81:00.0"}
      dut.p1: {pci: "0000:81:00.1"}
      peer.p0: {pci: "0000:81:00.0"}
      peer.p1: {pci: "0000:81:00.1"}
"""
START = """import sys
from pathlib import Path
from niclab.commands.certifying import certify, robot_process
robot_process.SUITES = Path(sys.argv[1])
certify.run(Path(sys.argv[2]), sys.argv[3], "qualification", Path(sys.argv[4]), allow_local_changes=True)
"""
PANIC = """2099-01-01T00:00:00.000Z [   12.000001] BUG: kernel NULL pointer dereference, address: 0000000000000010
2099-01-01T00:00:00.001Z [   12.000002] RIP: 0010:e1000_clean_rx_irq+0x1a/0x2f0 [e1000e]
2099-01-01T00:00:00.002Z password: console-secret
"""


@pytest.fixture
def suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "suites"
    folder.mkdir()
    for number, text in enumerate((FIRST, SECOND, THIRD)):
        (folder / f"file{number}.robot").write_text(text)
    monkeypatch.setattr(robot_process, "SUITES", folder)
    return folder


@pytest.fixture
def killed(bench: FakeBench, suites: Path) -> Path:
    bench.file.write_text(bench.file.read_text() + ABOUT_ANOTHER_CARD)
    results = bench.folder / "results"
    paths = [str(path) for path in (suites, bench.file, bench.sheet, results)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", START, *paths], env=environment, capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    (run_dir,) = results.iterdir()
    return run_dir


@pytest.fixture
def erring(suites: Path) -> None:
    (suites / "file0.robot").write_text(f"{FIRST}Errs\n    Evaluate    {ERROR}\n")


@pytest.fixture
def killed_at_first(suites: Path, request: pytest.FixtureRequest) -> None:
    """Nothing ends before the kill; the setup of the first suite is the parameter."""
    setup = f"*** Settings ***\nSuite Setup    Evaluate    {request.param}\n"
    (suites / "file0.robot").write_text(f"{setup}*** Test Cases ***\nKills first\n    Evaluate    {KILL}\n")
    (suites / "file1.robot").write_text(THIRD)


def verdicts(run_dir: Path) -> dict[str, Verdict]:
    results = read_results(run_dir / "allure-results")
    assert results.problems == []
    return {test.name.rpartition(".")[2]: test.verdict for test in results.tests}


def certificate(run_dir: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run_dir / "certificate.json").read_text())
    return content


def test_a_part_of_the_suites_is_a_partial_run(bench: FakeBench, suites: Path) -> None:
    assert suites.is_dir()
    results = bench.folder / "results"
    assert (
        certify.run(bench.file, str(bench.sheet), "qualification", results, suites=["File2"], allow_local_changes=True)
        is ExitStatus.BENCH_FAULT
    )
    (run_dir,) = {path.resolve() for path in results.iterdir()}
    assert verdicts(run_dir) == {"Last": Verdict.PASS} and read_run(run_dir)["called"]["suites"] == "File2"
    assert "The run is partial: only the suites File2 were asked for." in certificate(run_dir)["reasons"]


def test_another_bench_than_that_of_the_run_is_refused(killed: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchFault, match=r"other\.yaml: is held; expected .*virtual\.yaml"):
        resume.run(killed, held=ReservedBench(tmp_path / "other.yaml", StopOrder()))


def keep_expired_waiver(run_dir: Path) -> None:
    folder = run_dir / "evidence" / "inputs" / "waivers"
    folder.mkdir(exist_ok=True)
    card = read_run(run_dir)["card"]
    (folder / "nic-42.yaml").write_text(
        f"waiver: nic-42\ncard: {card}\nmessage: dut.p0 is wrong\nreason: known\nowner: lab lead\n"
        'expires: "2026-01-31"\n'
    )


def test_a_waiver_that_has_expired_since_stops_it_before_a_test_runs(killed: Path) -> None:
    keep_expired_waiver(killed)
    before = (killed / "run.json").read_bytes()
    with pytest.raises(BenchFault, match=r"nic-42\.yaml: expires: 2026-01-31 has passed; expected a renewal"):
        resume.run(killed)
    assert (killed / "run.json").read_bytes() == before


def test_it_goes_on_after_the_test_that_killed_it(killed: Path) -> None:
    before = {path.name: path.read_bytes() for path in (killed / "allure-results").glob("*-result.json")}
    assert len(before) == 3 and read_so_far(killed / "evidence" / FILE).running == "Qualification.File1.Kills"
    assert resume.run(killed) is ExitStatus.CARD_FAILURE
    assert verdicts(killed) == {
        "Good": Verdict.PASS,
        "Bad": Verdict.CARD_FAILURE,
        "Early": Verdict.PASS,
        "Kills": Verdict.BENCH_FAULT,
        "Late": Verdict.PASS,
        "Last": Verdict.PASS,
    }
    assert all((killed / "allure-results" / name).read_bytes() == content for name, content in before.items())
    root = ElementTree.parse(killed / "output.xml").getroot()
    assert {test.get("name") for test in root.iter("test")} == set(verdicts(killed))
    (total,) = root.iterfind("./statistics/total/stat")
    assert (total.get("pass"), total.get("fail")) == ("4", "2") and read_run(killed)["robot_rc"] == 2
    assert (killed / "log.html").exists() and (killed / "report.html").exists()
    reasons = [each for each in certificate(killed)["reasons"] if not each.startswith("Plan ")]
    assert not any("output.xml" in each or "results" in each or "Evidence" in each for each in reasons), reasons
    (remark,) = [each for each in certificate(killed)["remarks"] if each["about"] == "Continued"]
    assert "continued 1 time" in remark["text"] and "killed during: Qualification.File1.Kills" in remark["details"][0]
    assert remark["text"] in (killed / "certificate.html").read_text()


def test_the_interrupted_test_gets_the_words_of_the_console(killed: Path) -> None:
    (killed / "evidence" / "console-dut.log").write_text(f"2001-01-01T00:00:00.000Z old\n{PANIC}")
    resume.run(killed)
    (test,) = [each for each in certificate(killed)["tests"] if each["name"].endswith("Kills")]
    assert test["verdict"] == "card-failure" and "KernelFailure: the run was killed during this test" in test["message"]
    assert "oops: BUG: kernel NULL pointer" in test["message"] and "old" not in test["message"].splitlines()
    assert "console-secret" not in (killed / "output.xml").read_text() + str(test)


@pytest.fixture
def killed_between(suites: Path) -> None:
    """The kill is in the setup of a suite, before any test of it."""
    setup = f"*** Settings ***\nSuite Setup    Evaluate    {KILL}\n"
    (suites / "file1.robot").write_text(f"{setup}{THIRD}")


@pytest.mark.usefixtures("killed_between")
@pytest.mark.parametrize(
    ("says", "verdict"),
    [
        (PANIC, "card-failure"),
        (PANIC.replace("e1000e", "nvme"), "bench-fault"),
        (PANIC.replace("2099", "2001"), ""),
    ],
    ids=["card", "another device", "before"],
)
def test_words_of_the_console_between_two_tests_are_of_the_run(
    request: pytest.FixtureRequest, suites: Path, says: str, verdict: str
) -> None:
    killed: Path = request.getfixturevalue("killed")
    assert read_so_far(killed / "evidence" / FILE).running == ""
    (killed / "evidence" / "console-dut.log").write_text(f"2001-01-01T00:00:00.000Z old\n{says}")
    (suites / "file1.robot").write_text(THIRD)
    resume.run(killed)
    own = [each for each in certificate(killed)["tests"] if each["name"] == "Last look at both kernels"]
    assert [each["verdict"] for each in own] == [verdict] * bool(verdict)
    if own:
        said = "the run was killed between two tests; dut console since the last one; oops: BUG: kernel NULL"
        assert said in own[0]["message"] and "console-secret" not in str(own)


HARMLESS = """
harmless_messages:
  - text: "Detected Hardware Unit Hang"
    source: "a test"
"""


def interrupted(killed: Path, said: str) -> dict[str, Any]:
    """The test during which the run was killed, after a line of the dut's console."""
    (killed / "evidence" / "console-dut.log").write_text(f"2099-01-01T00:00:00.000Z [   12.000001] {said}\n")
    resume.run(killed)
    (test,) = [each for each in certificate(killed)["tests"] if each["name"].endswith("Kills")]
    return dict(test)


@pytest.fixture
def with_harmless(bench: FakeBench) -> None:
    bench.sheet.write_text(bench.sheet.read_text() + HARMLESS)


@pytest.mark.usefixtures("with_harmless")
def test_what_the_sheet_calls_harmless_does_not_fail_the_card(request: pytest.FixtureRequest) -> None:
    said = "e1000e 0000:01:00.0 enp1s0: Detected Hardware Unit Hang:"
    assert interrupted(request.getfixturevalue("killed"), said)["verdict"] == "bench-fault"


def test_what_a_kernel_said_of_the_card_cannot_be_waived(killed: Path) -> None:
    said = "e1000e 0000:01:00.0 enp1s0: Detected Hardware Unit Hang:"
    test = interrupted(killed, said)
    assert test["verdict"] == "card-failure" and lines_to_waive(test["message"]) is None


def test_it_can_be_killed_again(killed: Path, suites: Path) -> None:
    (suites / "file2.robot").write_text(THIRD.replace("No Operation", f"Evaluate    {KILL}"))
    script = START.replace(
        "certify.run(", "from niclab.commands.certifying import resume; resume.run(Path(sys.argv[5])) #"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [str(suites), "", "", "", str(killed)]
    done = subprocess.run([sys.executable, "-c", script, *arguments], env=environment, capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    assert read_so_far(killed / "evidence" / FILE).running == "Qualification.File2.Last"
    (suites / "file2.robot").write_text(THIRD + "More\n    No Operation\n")
    resume.run(killed)
    assert verdicts(killed)["Kills"] is verdicts(killed)["Last"] is Verdict.BENCH_FAULT
    assert [each["interrupted"] for each in read_run(killed)["continued"]] == [
        "Qualification.File1.Kills",
        "Qualification.File2.Last",
    ]
    assert "continued 2 times" in str(certificate(killed)["remarks"])


def errors_of(output: Path) -> list[tuple[str | None, str | None]]:
    return [(each.get("level"), each.text) for each in ElementTree.parse(output).getroot().iterfind("./errors/msg")]


@pytest.mark.usefixtures("erring")
def test_errors_that_no_test_holds_are_kept_each_once(request: pytest.FixtureRequest) -> None:
    killed: Path = request.getfixturevalue("killed")
    assert [each.level for each in read_so_far(killed / "evidence" / FILE).messages] == ["WARN", "ERROR"]
    resume.run(killed)
    assert errors_of(killed / "output.xml") == [("WARN", "words"), ("ERROR", "the kernel log was not read")]
    (reason,) = [each for each in certificate(killed)["reasons"] if "Robot Framework reported" in each]
    assert "1 errors while running: the kernel log was not read" in reason


@pytest.mark.usefixtures("killed_at_first")
@pytest.mark.parametrize(("killed_at_first", "count"), [(ERROR, 1), ("0", 0)], indirect=["killed_at_first"])
def test_a_run_that_was_killed_in_its_first_test(request: pytest.FixtureRequest, count: int) -> None:
    killed: Path = request.getfixturevalue("killed")
    assert read_so_far(killed / "evidence" / FILE).ended == {}
    resume.run(killed)
    assert verdicts(killed) == {"Kills first": Verdict.BENCH_FAULT, "Last": Verdict.PASS}
    expected = [("ERROR", "the kernel log was not read")] * 2 * count  # the setup has run twice
    assert errors_of(killed / "output.xml") == expected
    said = "Robot Framework reported 2 errors"
    assert any(said in each for each in certificate(killed)["reasons"]) is bool(count)


def test_what_is_refused(killed: Path, bench: FakeBench) -> None:
    with (
        Journal.for_bench("virtual").hold(),
        pytest.raises(BenchFault, match="in use"),
    ):
        resume.run(killed)
    for each in (bench.sheet, bench.file):
        text = each.read_text()
        each.write_text(text + "# changed\n")
        with pytest.raises(BenchFault, match=rf"{each.name}: has changed since the run began"):
            resume.run(killed)
        each.write_text(text)
    file = killed / "run.json"
    content = json.loads(file.read_text())
    for change, words in (
        ({"git": {"commit": "1"}}, "as when the run began"),
        ({"finished": "2026"}, "has finished at"),
    ):
        (killed / "certificate.json").touch()
        file.write_text(json.dumps(content | change))
        with pytest.raises(BenchFault, match=words):
            resume.run(killed)


@pytest.fixture
def all_ended(bench: FakeBench, suites: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose niclab was killed after the last test and before the certificate."""
    (suites / "file1.robot").write_text("*** Test Cases ***\nEarly\n    No Operation\n")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(certify, "finish_run", killed)
        certify.run(bench.file, str(bench.sheet), "qualification", bench.folder / "results", allow_local_changes=True)
    (run_dir,) = (bench.folder / "results").iterdir()
    assert not (run_dir / "certificate.json").exists()
    return run_dir


@pytest.mark.parametrize("killed_in", ["finish_run", "certificate", "merge", "robot"])
def test_a_run_that_has_only_its_certificate_left_gets_it(
    all_ended: Path, killed_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = {test.name: test.message for test in read_so_far(all_ended / "evidence" / FILE).ended.values()}

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    if killed_in == "robot":
        (all_ended / "allure-results" / "niclab-summary.json").unlink()
    elif killed_in != "finish_run":
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(
                *((certify.certificate, "certify") if killed_in == "certificate" else (resume, "_merge")), killed
            )
            resume.run(all_ended)
        assert bool(read_run(all_ended)["finished"]) is (killed_in == "certificate")
    assert resume.run(all_ended) is ExitStatus.CARD_FAILURE
    found = verdicts(all_ended)
    assert found == {name: Verdict.CARD_FAILURE if name == "Bad" else Verdict.PASS for name in messages}
    root = ElementTree.parse(all_ended / "output.xml").getroot()
    statuses = {str(test.get("name")): (test.find("status").text or "") for test in root.iter("test")}  # type: ignore[union-attr]
    assert statuses == messages
    assert "The run was killed before Robot Framework wrote" not in (all_ended / "output.xml").read_text()
    reasons = [each for each in certificate(all_ended)["reasons"] if not each.startswith("Plan ")]
    assert not any("output.xml" in each or "results" in each or "Evidence" in each for each in reasons), reasons
    with pytest.raises(BenchFault, match="has finished at"):
        resume.run(all_ended)


def test_a_waiver_that_has_expired_since_keeps_no_certificate_back(all_ended: Path) -> None:
    keep_expired_waiver(all_ended)
    assert resume.run(all_ended) is ExitStatus.CARD_FAILURE
    assert "nic-42.yaml: expires: 2026-01-31 has passed" in str(certificate(all_ended)["reasons"])


def test_options_of_the_environment_take_no_test_out_of_a_continued_run(
    all_ended: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REBOT_OPTIONS", "--exclude * --name Other")
    resume.run(all_ended)
    root = ElementTree.parse(all_ended / "output.xml").getroot()
    assert len([*root.iter("test")]) == 4
    assert "Bad" in (all_ended / "junit.xml").read_text()


def test_a_program_that_hangs_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robot_process, "OFFLINE_WITHIN_S", 0.1)
    with pytest.raises(BenchFault, match=r"^suites: the dry run: did not end within 0\.1 s"):
        certify.look_ahead([])
    with pytest.raises(BenchFault, match=r"^rebot: did not end within 0\.1 s"):
        robot_process.bounded(["sleep", "10"], "rebot", {})


def ended(name: str, suites: tuple[str, ...] = ("Top", "Inner"), status: str = "PASS") -> EndedTest:
    return EndedTest(name, suites, status, "", ("slow",), "2026-01-01T00:00:00", 1.5)


@pytest.mark.parametrize("cut", [*range(0, 420, 35), None])
def test_an_output_that_is_torn_anywhere_is_made_whole(tmp_path: Path, cut: int | None) -> None:
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<robot><suite id="s1" name="Top"><kw name="Setup"><msg level="WARN">'
        "é"
        '</msg><status status="PASS"/></kw><suite name="Inner"><test name="A"><kw name="X"><status status="PASS"/></kw>'
        '<status status="PASS"/></test><test name="B"><kw name="Y"><msg>torn</msg></kw><status status="FAIL"/>'
        "</test></suite></suite></robot>\n"
    )
    torn, whole = tmp_path / "torn.xml", tmp_path / "whole.xml"
    torn.write_bytes(text.encode()[:cut])
    make_whole(torn, {"Top.Inner.A": ended("A"), "Top.Inner.B": ended("B", status="FAIL")}, whole)
    root = ElementTree.parse(whole).getroot()
    assert [test.get("name") for test in root.iter("test")] == ["A", "B"]
    assert [test.find("status").get("status") for test in root.iter("test")] == ["PASS", "FAIL"]  # type: ignore[union-attr]


def test_messages_of_a_torn_output(tmp_path: Path) -> None:
    """The journal has those that no keyword logged; one that it lacks is taken from the log; no one comes twice."""
    text = (
        '<robot><suite name="Top"><test name="A"><kw name="X"><msg level="WARN" time="T1">a</msg>'
        '<msg level="WARN" time="T0">old</msg><msg level="INFO" time="T2">b</msg></kw><status status="PASS"/></test>'
    )
    torn, whole = tmp_path / "torn.xml", tmp_path / "whole.xml"
    torn.write_text(text)
    noted = [
        RobotMessage("WARN", "a", "T1"),
        RobotMessage("ERROR", "\x1b[1m<c>\x00", "T1"),
        RobotMessage("WARN", "a", "T1"),
    ]
    make_whole(torn, {"Top.A": ended("A", ("Top",))}, whole, noted)
    expected = [("WARN", "old"), ("WARN", "a"), ("ERROR", "[1m<c>"), ("WARN", "a")]
    assert errors_of(whole) == expected
    assert found_in([whole]) == ({"Top.A"}, {("T0", "WARN"), ("T1", "WARN"), ("T1", "ERROR")})
    make_whole(whole, {}, whole, [*noted, RobotMessage("ERROR", "late", "T3", html=True)])
    assert errors_of(whole) == [*expected, ("ERROR", "late")]
    assert ElementTree.parse(whole).getroot().find("./errors/msg[@html='true']") is not None


def test_a_part_in_which_no_test_has_ended_adds_its_messages_to_the_part_before(tmp_path: Path) -> None:
    """Its output may be that of all parts, merged."""
    evidence, journal = tmp_path / "evidence", TestJournal(tmp_path / "evidence" / FILE)
    (tmp_path / "output.xml").write_text(
        '<robot><suite name="Top"><test name="A"><status status="PASS"/></test></suite>'
    )
    journal.end("Top.A", ended("A", ("Top",)))
    journal.message(RobotMessage("WARN", "first", "T1"))
    for _ in range(2):
        resume._keep_part(tmp_path, evidence, read_so_far(evidence / FILE))
        journal.message(RobotMessage("ERROR", "second", "T2"))
    resume._keep_part(tmp_path, evidence, read_so_far(evidence / FILE))
    (part,) = (evidence / "outputs").iterdir()
    assert errors_of(part) == [("WARN", "first"), ("ERROR", "second")]


def test_a_torn_journal_of_tests(tmp_path: Path) -> None:
    journal = TestJournal(tmp_path / FILE)
    journal.begin("Top.Inner.A")
    journal.end("Top.Inner.A", ended("A"))
    journal.end("Top.Inner.A", ended("A", status="FAIL"))
    journal.begin("Top.Inner.B")
    journal.message(RobotMessage("ERROR", "words", "T", html=True))
    with (tmp_path / FILE).open("a") as file:
        file.write('{"event": "en')
    found = read_so_far(tmp_path / FILE)
    assert found.messages == (RobotMessage("ERROR", "words", "T", html=True),)
    assert found.running == "Top.Inner.B" and found.ended["Top.Inner.A"].status == "FAIL" and found.since is not None
    (tmp_path / FILE).write_text("nonsense\n")
    with pytest.raises(BenchFault, match="is no journal of tests"):
        read_so_far(tmp_path / FILE)
