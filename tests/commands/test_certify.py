"""The run from beginning to end on toy suites, and the command line around it."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from fake_bench import FakeBench

import niclab
from niclab.bench.records import Role
from niclab.commands import cli, restore
from niclab.commands.certifying import certify, resume, robot_process
from niclab.commands.certifying.robot_process import RobotProcess
from niclab.commands.results import report
from niclab.core.abort import StopOrder
from niclab.core.exit_status import ExitStatus
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.report.allure.allure_results import read_results
from niclab.report.allure.allure_tools import Tools
from niclab.report.certificate import certificate
from niclab.report.evidence import runfolder
from niclab.report.evidence.runfolder import read_run
from niclab.report.verdicts import lines_to_waive
from niclab.run import run as runs
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.watching.hygiene import BenchHygiene
from niclab.scope.requirements import load_requirements

PASSING = "*** Test Cases ***\nFirst\n    No Operation\nSecond\n    [Tags]    slow\n    No Operation\n"
FAILING = "*** Test Cases ***\nThird\n    Fail    CardFailure: dut.p0 is wrong\n"
SLOW = """*** Settings ***
Library    OperatingSystem
Suite Teardown    Create File    {undone}

*** Test Cases ***
First
    Create File    {begun}
    Sleep    60s

Second
    Fail    CardFailure: begun after the end
"""
UNKNOWN = "*** Test Cases ***\nFourth\n    There Is No Such Keyword\n"


@pytest.fixture
def suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "suites"
    folder.mkdir()
    (folder / "passing.robot").write_text(PASSING)
    monkeypatch.setattr(robot_process, "SUITES", folder)
    return folder


class TestCounting:
    def test_every_test_is_counted(self, suites: Path) -> None:
        (suites / "failing.robot").write_text(FAILING)
        assert certify.look_ahead([]).tests == 3

    def test_the_profile_counts(self, suites: Path) -> None:
        assert suites.is_dir()
        counts = {
            name: certify.look_ahead(["--prerunmodifier", f"{certify.MODIFIER}:{name}"]).tests
            for name in ("quick", "full")
        }
        assert counts == {"quick": 1, "full": 2}

    def test_an_unknown_keyword_stops_the_run(self, suites: Path) -> None:
        (suites / "unknown.robot").write_text(UNKNOWN)
        with pytest.raises(BenchFault, match=r"^suites: the dry run fails \(status 1\)"):
            certify.look_ahead([])

    def test_no_test_at_all_stops_the_run(self, suites: Path) -> None:
        (suites / "passing.robot").unlink()
        with pytest.raises(BenchFault, match=r"^suites: the dry run fails \(status 25\d\)"):
            certify.look_ahead([])


class TestRun:
    @pytest.fixture
    def bench(self, bench: FakeBench) -> FakeBench:
        """A bench of real cards."""
        bench.make_real()
        return bench

    @pytest.fixture(autouse=True)
    def is_committed(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
        """The lab as committed, whatever lies in this repository."""
        state: dict[str, object] = {"commit": "1" * 40, "local_changes": False}
        for each in (runfolder, resume):
            monkeypatch.setattr(each, "git_state", lambda _: state)
        return state

    def test_a_real_card_is_not_tested_by_edited_files(
        self, bench: FakeBench, suites: Path, asked: dict[str, object], is_committed: dict[str, object]
    ) -> None:
        assert suites.is_dir()
        is_committed["local_changes"] = True
        with pytest.raises(BenchFault, match=r"files differ from commit 1{12}; expected .* --allow-local-changes"):
            self.run(bench)
        assert "run_dir" not in asked and not (bench.folder / "results").exists()
        results = bench.folder / "results"
        certify.run(bench.file, str(bench.sheet), "qualification", results, allow_local_changes=True)
        run_dir = asked["run_dir"]
        assert isinstance(run_dir, Path)
        noted = json.loads((run_dir / "run.json").read_text())
        assert noted["local_changes_allowed"] and noted["git"]["local_changes"]

    def test_a_real_card_is_not_tested_by_files_that_git_does_not_compare(
        self, bench: FakeBench, suites: Path, asked: dict[str, object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Git answers nothing about a repository of another user, and nothing in time on a slow disk."""
        assert suites.is_dir()
        monkeypatch.setattr(runfolder, "git_state", lambda _: None)
        lab = tmp_path / "lab"
        (lab / ".git").mkdir(parents=True)
        monkeypatch.setattr(certify, "REPOSITORY", lab)
        with pytest.raises(BenchFault, match=r"git does not say .* expected .* --allow-local-changes"):
            self.run(bench)
        assert "run_dir" not in asked
        (lab / ".git").rmdir()
        certify.require_committed()

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
        """Certificate and Allure report are made elsewhere; here only what they are asked with."""
        asked: dict[str, object] = {"ended": ExitStatus.CERTIFIED}

        def certified(run_dir: Path, robot_rc: int) -> ExitStatus:
            asked.update(run_dir=run_dir, robot_rc=robot_rc)
            ended = asked["ended"]
            assert isinstance(ended, ExitStatus)
            return ended

        monkeypatch.setattr(certificate, "certify", certified)
        monkeypatch.setattr(report.allure, "generate", lambda *paths: asked.update(allure=paths[1]))
        monkeypatch.setattr(report.allure_tools, "find", lambda: Tools(Path("node"), Path("cli.js")))
        return asked

    def run(self, bench: FakeBench, plan: str = "qualification") -> int:
        return certify.run(bench.file, str(bench.sheet), plan, bench.folder / "results")

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_a_run_that_is_ended_puts_the_bench_back(
        self, bench: FakeBench, suites: Path, asked: dict[str, object], number: signal.Signals
    ) -> None:
        before = signal.getsignal(number)
        begun, undone = suites / "begun", suites / "undone"
        (suites / "passing.robot").write_text(SLOW.format(begun=begun, undone=undone))
        asked["ended"] = ExitStatus.BENCH_FAULT

        def end() -> None:
            until(begun.exists, within=20, what="the first test to begin", every=0.05)
            os.kill(os.getpid(), number)

        ender = threading.Thread(target=end)
        ender.start()
        assert self.run(bench) is ExitStatus.BENCH_FAULT
        ender.join()
        assert undone.exists() and asked["robot_rc"] == 2  # both failed: the second never began
        assert signal.getsignal(number) is before

    @pytest.mark.parametrize("early", [False, True])
    def test_a_run_that_is_ordered_to_stop_puts_the_bench_back(
        self,
        bench: FakeBench,
        suites: Path,
        asked: dict[str, object],
        capsys: pytest.CaptureFixture[str],
        early: bool,
    ) -> None:
        begun, undone, stop = suites / "begun", suites / "undone", StopOrder()
        (suites / "passing.robot").write_text(SLOW.format(begun=begun, undone=undone))
        asked["ended"] = ExitStatus.BENCH_FAULT

        def end() -> None:
            until(begun.exists, within=20, what="the first test to begin", every=0.05)
            stop.give("the bench was lost: bench1")
            stop.give("for another reason")

        ender = threading.Thread(target=end)
        if early:
            stop.give("the bench was lost: bench1")
        else:
            ender.start()
        results = bench.folder / "results"
        if early:
            with pytest.raises(BenchFault, match="the bench was lost: bench1"):
                certify.run(bench.file, str(bench.sheet), "quick", results, stop=stop)
            assert not results.exists() and not begun.exists()
            return
        certify.run(bench.file, str(bench.sheet), "quick", results, stop=stop)
        ender.join()
        assert undone.exists() and asked["robot_rc"] == 2
        run_dir = asked["run_dir"]
        assert isinstance(run_dir, Path) and read_run(run_dir)["stopped"] == "the bench was lost: bench1"
        assert "niclab: the bench was lost: bench1; the run stops" in capsys.readouterr().err

    def test_a_dry_run_says_what_to_expect_and_runs_nothing(
        self, bench: FakeBench, suites: Path, asked: dict[str, object], capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = "*** Settings ***\nLibrary    {}\n*** Test Cases ***\nBoots\n    Reboot    dut\n    Power Cycle    DUT\n"
        (suites / "boots.robot").write_text(text.format(certify.LISTENERS.parent / "Power.py"))
        results = bench.folder / "results"
        assert certify.run(bench.file, str(bench.sheet), "quick", results, dry_run=True) == 0
        within_s, requirements = 120, load_requirements().requirements
        assert capsys.readouterr().out.splitlines() == [
            f"2 tests; boots: dut at most 2 (each within {within_s} s), peer at most 0 (each within {within_s} s)",
            "duration: unknown; no finished run of this card, bench and plan",
            "equipment: no switch; 0 of 2 tests cannot be asked",
            *(f"the bench {how} (0): none" for how in ("can decide", "can decide in part", "cannot decide")),
            f"without a test in this run ({len(requirements)}): {', '.join(requirements)}",
        ]
        assert not results.exists() and "run_dir" not in asked
        assert self.run(bench, "quick") == 0
        assert "duration: unknown" in capsys.readouterr().out
        assert certify.run(bench.file, str(bench.sheet), "quick", results, dry_run=True) == 0
        assert "duration: about 0 min by 1 earlier run; boots then: none noted\n" in capsys.readouterr().out

    def test_a_passed_run(
        self, bench: FakeBench, suites: Path, asked: dict[str, object], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert suites.is_dir()
        assert self.run(bench) == 0
        run_dir = asked["run_dir"]
        assert isinstance(run_dir, Path) and asked["robot_rc"] == 0 and asked["allure"] == run_dir / "allure-report"
        run = read_run(run_dir)
        assert (run["expected_tests"], run["robot_rc"], run["partial"]) == (2, 0, None)
        assert run["facts"]["profile"] == "full" and run["finished"]
        assert (run_dir / "output.xml").exists() and list((run_dir / "allure-results").glob("*-result.json"))
        assert capsys.readouterr().out.splitlines()[-1] == f"CERTIFIED: {run_dir}"

    def test_a_bench_may_make_its_secrets_when_it_is_switched_on(
        self, bench: FakeBench, suites: Path, asked: dict[str, object]
    ) -> None:
        assert suites.is_dir()
        (bench.home / ".local/state/niclab/vbench/virtual/secrets.env").unlink()
        assert self.run(bench) == 0 and asked["robot_rc"] == 0

    def test_secrets_that_nobody_makes_are_missed_before_the_run(self, bench: FakeBench, suites: Path) -> None:
        assert suites.is_dir()
        bench.write(commands=False, cables=True)
        (bench.home / ".local/state/niclab/vbench/virtual/secrets.env").unlink()
        with pytest.raises(BenchFault, match="secret BMC_PASSWORD is missing"):
            self.run(bench)
        assert not list((bench.folder / "results").glob("*"))

    def test_the_log_says_what_a_requirement_is(self, bench: FakeBench, suites: Path, asked: dict[str, object]) -> None:
        (suites / "passing.robot").write_text(
            "*** Test Cases ***\nFirst\n    [Tags]    req:CARD-03/cold\n    No Operation\n"
        )
        assert self.run(bench) == 0
        run_dir = asked["run_dir"]
        assert isinstance(run_dir, Path)
        shown = "Width and speed after a power cycle (Charter of this lab (2026), charter)"
        assert shown in (run_dir / "output.xml").read_text()
        inputs = read_run(run_dir)["inputs"]
        assert inputs["plan"] == "lab/plans/qualification.yaml" and inputs["card"] == str(bench.sheet)
        assert (run_dir / "evidence" / "inputs" / "bench" / bench.file.name).is_file()
        assert read_run(run_dir)["ports"] == {"card": 2, "bench": 2}

    def test_a_run_on_an_emulated_card_says_so(
        self, bench: FakeBench, suites: Path, asked: dict[str, object], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert suites.is_dir()
        bench.edit(bench.file, ("emulated: false\n", "emulated: true\n"))
        assert self.run(bench) == 0
        run_dir = asked["run_dir"]
        assert isinstance(run_dir, Path) and read_run(run_dir)["subject"] == "DEMONSTRATION, emulated card"
        last = capsys.readouterr().out.splitlines()[-1]
        assert last == f"CERTIFIED (DEMONSTRATION, emulated card): {run_dir}"
        for page in ("log", "report"):
            assert f"DEMONSTRATION, emulated card: {page} of intel-82574l" in (run_dir / f"{page}.html").read_text()

    def test_the_driver_is_asked_for_in_the_run_and_when_it_is_resumed(
        self, bench: FakeBench, suites: Path, asked: dict[str, object]
    ) -> None:
        assert suites.is_dir()
        results = bench.folder / "results"
        with pytest.raises(
            BenchFault, match=r"^driver vendor: sheet intel-82574l names no package of e1000e for linux"
        ):
            certify.run(bench.file, str(bench.sheet), "quick", results, dry_run=True, driver="vendor")
        assert not results.exists()
        certify.run(bench.file, str(bench.sheet), "quick", results, allow_local_changes=True, driver="inbox")
        run_dir = asked["run_dir"]
        assert isinstance(run_dir, Path) and read_run(run_dir)["called"]["driver"] == "inbox"
        assert "DRIVER:inbox" in resume._call(run_dir).options

    def test_a_failed_run(self, bench: FakeBench, suites: Path, asked: dict[str, object]) -> None:
        (suites / "failing.robot").write_text(FAILING)
        asked["ended"] = ExitStatus.CARD_FAILURE
        assert self.run(bench, "quick") is ExitStatus.CARD_FAILURE
        assert asked["robot_rc"] == 1
        run_dir = asked["run_dir"]
        assert isinstance(run_dir, Path) and read_run(run_dir)["expected_tests"] == 2

    def test_a_failure_of_many_lines_is_kept_whole(
        self, bench: FakeBench, suites: Path, asked: dict[str, object]
    ) -> None:
        """A waiver has to cover each line, and a line that Robot Framework cuts is covered by none."""
        said = [f"dut.p0 offload {number}: not settable; expected settable" for number in range(60)]
        lines = r"\n".join(said)
        (suites / "failing.robot").write_text(f"*** Test Cases ***\nBad\n    Fail    CardFailure: {lines}\n")
        self.run(bench)
        run_dir = asked["run_dir"]
        assert isinstance(run_dir, Path)
        (bad,) = [each for each in read_results(run_dir / "allure-results").tests if each.name.endswith("Bad")]
        assert lines_to_waive(bad.message) == said

    def test_missing_report_tools_are_a_warning_before_the_first_test(
        self,
        bench: FakeBench,
        suites: Path,
        asked: dict[str, object],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        assert suites.is_dir()
        warned: list[str] = []

        def missing() -> Tools:
            raise BenchFault("report tools: cli.js: missing; expected what make setup installs")

        def robot(runner: RobotProcess, options: list[str], stop: StopOrder) -> int:
            warned.append(capsys.readouterr().err)
            return real(runner, options, stop)

        real = RobotProcess.run
        monkeypatch.setattr(report.allure_tools, "find", missing)
        monkeypatch.setattr(RobotProcess, "run", robot)
        assert self.run(bench) == 0
        assert warned == [
            "niclab: warning: this run will have no Allure report: "
            "report tools: cli.js: missing; expected what make setup installs\n"
        ]
        said = capsys.readouterr()
        assert said.out.splitlines()[-1] == f"CERTIFIED: {asked['run_dir']}"
        assert said.err.splitlines()[-1] == f"make it later with: niclab report {asked['run_dir']}"
        assert "allure" not in asked

    @pytest.mark.parametrize("error", [BenchFault("Allure report: exit status 3"), OSError("No space left on device")])
    @pytest.mark.parametrize("certified", [True, False])
    def test_a_report_that_fails_changes_no_verdict(
        self,
        bench: FakeBench,
        suites: Path,
        asked: dict[str, object],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        error: Exception,
        certified: bool,
    ) -> None:
        assert suites.is_dir()
        asked["ended"] = ended = ExitStatus.CERTIFIED if certified else ExitStatus.UNDECIDED
        printed: list[str] = []

        def generate(*_: object) -> Path:
            printed.append(capsys.readouterr().out.splitlines()[-1])
            raise error

        monkeypatch.setattr(report.allure, "generate", generate)
        assert self.run(bench) is ended
        assert printed == [f"{'CERTIFIED' if certified else 'NOT CERTIFIED'}: {asked['run_dir']}"]
        assert f"niclab: warning: no Allure report: {error}\n" in capsys.readouterr().err

    def test_a_report_is_made_later(
        self,
        bench: FakeBench,
        suites: Path,
        asked: dict[str, object],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        assert suites.is_dir() and self.run(bench) == 0
        run_dir, page = asked["run_dir"], bench.folder / "index.html"
        monkeypatch.setattr(report.allure_tools, "install", lambda: Tools(Path("node"), Path("cli.js")))
        monkeypatch.setattr(report.allure, "generate", lambda *paths: asked.update(later=paths[1]) or page)
        capsys.readouterr()
        assert cli.main(["report", str(run_dir)]) == 0
        assert asked["later"] == asked["allure"] and capsys.readouterr().out == f"{page}\n"
        assert cli.main(["report", str(bench.folder)]) == ExitStatus.BENCH_FAULT
        assert capsys.readouterr().err.startswith(f"niclab: {bench.folder / 'run.json'}: cannot be read")

    @pytest.mark.parametrize("selection", ["--test First", "--suite passing", "--skip third"])
    def test_options_of_the_environment_select_no_tests(
        self, bench: FakeBench, suites: Path, monkeypatch: pytest.MonkeyPatch, selection: str
    ) -> None:
        (suites / "failing.robot").write_text(FAILING.replace("Fail", "[Tags]    third\n    Fail", 1))
        log = suites / "syslog.txt"
        monkeypatch.setattr(report.allure, "generate", lambda *_: None)
        monkeypatch.setenv("ROBOT_OPTIONS", selection)
        monkeypatch.setenv("ROBOT_SYSLOG_FILE", str(log))
        monkeypatch.setenv("ROBOT_SYSLOG_LEVEL", "DEBUG")
        assert self.run(bench) == 1
        (run_file,) = (bench.folder / "results").glob("2*/run.json")
        assert read_run(run_file.parent)["expected_tests"] == 3 and not log.exists()

    def test_a_suite_without_tests_is_refused_by_its_name(
        self, bench: FakeBench, suites: Path, asked: dict[str, object]
    ) -> None:
        (suites / "20__two_words.robot").write_text(FAILING)
        results = bench.folder / "results"
        with pytest.raises(BenchFault, match=r"^suites: 20__two_words, slow: no test in this run; expected the name"):
            certify.run(bench.file, str(bench.sheet), "quick", results, suites=["passing", "20__two_words", "slow"])
        assert not results.exists() and "run_dir" not in asked
        ahead = certify.look_ahead(certify.only(["Two Words", "Suites.passing"]))
        ahead.require_each(["two_words", "Suites.Passing", "Two*", "suites"])

    @pytest.mark.parametrize("end", ["changed", "gone"])
    def test_a_secret_that_is_changed_or_gone_during_the_run_is_masked(
        self, bench: FakeBench, suites: Path, asked: dict[str, object], end: str
    ) -> None:
        file = bench.home / ".local/state/niclab/vbench/virtual/secrets.env"
        step = {"changed": f"Create File    {file}    CONSOLE_PASSWORD=another-one", "gone": f"Remove File    {file}"}
        (suites / "passing.robot").write_text(
            "*** Settings ***\nLibrary    OperatingSystem\n\n*** Test Cases ***\nFirst\n"
            "    Create File    ${OUTPUT_DIR}/evidence/console-dut.log    console-secret\n"
            f"    {step[end]}\n"
        )
        assert self.run(bench) == 0
        run_dir = asked["run_dir"]
        assert isinstance(run_dir, Path)
        log = (run_dir / "evidence" / "console-dut.log").read_text()
        assert log and "console-secret" not in log

    def test_a_failing_dry_run_leaves_no_run_folder(
        self, bench: FakeBench, suites: Path, asked: dict[str, object]
    ) -> None:
        (suites / "unknown.robot").write_text(UNKNOWN)
        with pytest.raises(BenchFault, match=r"dry run"):
            self.run(bench)
        assert not (bench.folder / "results").exists() and "run_dir" not in asked


class TestCommand:
    def test_the_version_is_that_of_the_package(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as caught:
            cli.main(["--version"])
        assert caught.value.code == 0 and capsys.readouterr().out == f"niclab {niclab.__version__}\n"
        pyproject = (robot_process.SUITES.parent / "pyproject.toml").read_text()
        assert 'version = { attr = "niclab.__version__" }' in pyproject and niclab.__version__ not in pyproject

    def test_a_package_without_its_repository_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(cli, "REPOSITORY", tmp_path)
        assert cli.main(["baseline", "list"]) == ExitStatus.BENCH_FAULT
        assert capsys.readouterr().err == (
            f"niclab: {tmp_path}: holds no suites, resources, lab; "
            "expected an installation that brings them: pip install .\n"
        )

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["qualify"],
            ["certify", "--profile", "fast"],
            ["certify", "--profile", "full", "--plan", "quick"],
            ["doctor", "--fix"],
            ["restore", "a", "b"],
        ],
    )
    def test_wrong_usage_is_status_2(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        assert caught.value.code == 2 and "usage: niclab" in capsys.readouterr().err

    @pytest.mark.parametrize("command", ["certify", "restore"])
    def test_a_bench_that_is_not_there_is_status_1(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main([command, "/no/such/bench.yaml"]) == ExitStatus.BENCH_FAULT
        assert capsys.readouterr().err.startswith("niclab: /no/such/bench.yaml")

    @pytest.mark.parametrize("status", [0, 1])
    def test_certify_returns_what_the_run_does(self, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[object] = []

        def run(*arguments: object, stop: StopOrder, **chosen: object) -> int:
            asked.extend([*arguments, chosen, stop.reason])
            return status

        monkeypatch.setattr(certify, "run", run)
        assert cli.main(["certify", "x.yaml", "--card", "c", "--profile", "full", "--results", "r"]) == status
        chosen = {"dry_run": False, "suites": [], "allow_local_changes": False, "driver": ""}
        assert asked == [Path("x.yaml"), "c", "qualification", Path("r"), {}, None, chosen, ""]

    def test_a_killed_run_is_continued_by_its_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[object] = []
        monkeypatch.setattr(resume, "run", lambda *arguments: asked.extend(arguments) or 3)
        assert cli.main(["certify", "--resume", "results/x", "--sign", "key"]) == 3
        assert asked == [Path("results/x"), Path("key")]

    @pytest.mark.parametrize(
        ("options", "plan"),
        [([], "quick"), (["--plan", "qualification"], "qualification"), (["--plan", "mine.yaml"], "mine.yaml")],
    )
    def test_a_plan_is_chosen_by_name_or_file(
        self, monkeypatch: pytest.MonkeyPatch, options: list[str], plan: str
    ) -> None:
        asked: list[object] = []
        monkeypatch.setattr(certify, "run", lambda *arguments, **_: asked.append(arguments[2]) or 0)
        assert cli.main(["certify", *options]) == 0
        assert asked == [plan]

    def test_other_systems_are_chosen_by_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[object] = []
        monkeypatch.setattr(certify, "run", lambda *arguments, **_: asked.append(arguments[4]) or 0)
        assert cli.main(["certify", "x.yaml", "--dut-os", "freebsd"]) == 0
        assert asked == [{Role.DUT: "freebsd"}]

    def test_the_driver_is_chosen_by_a_word(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[object] = []
        monkeypatch.setattr(certify, "run", lambda *_, **options: asked.append(options["driver"]) or 0)
        assert cli.main(["certify", "x.yaml"]) == cli.main(["certify", "x.yaml", "--driver", "vendor"]) == 0
        assert asked == ["", "vendor"]

    def test_restore_undoes_what_a_killed_run_left(self, bench: FakeBench, capsys: pytest.CaptureFixture[str]) -> None:
        bench.nic("dut.p0").admin_up = True
        with Journal.for_bench("virtual", "killed").hold() as journal:
            journal.register("dut.p0", "set up", Action(ActionKind.SHELL, "dut", "ip link set dev enp1s0 down"))
        assert cli.main(["restore", str(bench.file)]) == 0
        assert not bench.nic("dut.p0").admin_up
        first, last = capsys.readouterr().out.splitlines()
        assert first.startswith("undone: dut.p0: set up") and last == "bench virtual: 1 changes undone"
        assert cli.main(["restore", str(bench.file)]) == 0
        assert capsys.readouterr().out == "bench virtual: nothing to undo\n"

    def test_restore_waits_for_a_run_that_is_ending(self, bench: FakeBench) -> None:
        """A pipeline that was aborted cleans up while the run may still drive the bench."""
        with Journal.for_bench("virtual", "ending").hold(), pytest.raises(BenchFault, match="the end of its run"):
            restore.run(bench.file, wait_s=0.2)
        held, ended = threading.Event(), threading.Event()

        def run() -> None:
            with Journal.for_bench("virtual", "ending").hold():
                held.set()
                time.sleep(0.5)
                ended.set()

        running = threading.Thread(target=run)
        running.start()
        held.wait(10)
        assert cli.main(["restore", str(bench.file), "--wait", "30"]) == 0
        assert ended.is_set()
        running.join()

    @pytest.mark.parametrize("mtu", [1500, 9000])
    def test_restore_compares_with_the_state_before_the_killed_run(
        self, bench: FakeBench, mtu: int, capsys: pytest.CaptureFixture[str]
    ) -> None:
        killed = bench.take("killed")
        killed.part(BenchHygiene).begin()
        killed.part(PreparedPorts).prepare()
        runs._CURRENT.clear()
        killed._stack.close()
        bench.dut.nics[0].mtu = mtu
        status = ExitStatus.CERTIFIED if mtu == 1500 else ExitStatus.BENCH_FAULT
        assert cli.main(["restore", str(bench.file)]) == status
        said = capsys.readouterr().out
        if mtu == 1500:
            assert said.endswith("\nequal to the state before the run\n")
        else:
            assert "differs from the state before the run:\n  dut: enp1s0 mtu: 9000; expected 1500 (state" in said
        assert cli.main(["restore", str(bench.file)]) == status
        assert ("state before the run" in capsys.readouterr().out) is (mtu != 1500)

    def test_a_bench_that_differs_is_accepted_for_a_reason(
        self, bench: FakeBench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        killed = bench.take("killed")
        killed.part(BenchHygiene).begin()
        runs._CURRENT.clear()
        killed._stack.close()
        bench.dut.sysctls["net/core/rmem_max"] = "1"
        assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT
        accept = ["restore", str(bench.file), "--forget", "state"]
        assert cli.main(accept) == ExitStatus.BENCH_FAULT and "the reason is empty" in capsys.readouterr().err
        assert cli.main([*accept, "--reason", "the administrator has set it"]) == 0
        assert "the administrator has set it" in killed.journal.path.read_text()
        assert cli.main(["restore", str(bench.file)]) == 0
        assert cli.main([*accept, "--reason", "again"]) == ExitStatus.BENCH_FAULT

    def test_a_state_that_cannot_be_compared_is_status_3(self, bench: FakeBench) -> None:
        killed = bench.take("killed")
        killed.part(BenchHygiene).begin()
        runs._CURRENT.clear()
        killed._stack.close()
        bench.set_state(up=False)
        assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT

    def test_a_state_that_cannot_be_read_keeps_nothing_from_being_undone(
        self, bench: FakeBench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bench.nic("dut.p0").admin_up = True
        with Journal.for_bench("virtual", "killed").hold() as journal:
            journal.register("dut.p0", "set up", Action(ActionKind.SHELL, "dut", "ip link set dev enp1s0 down"))
        journal.state_file.write_text('{"states": 3}')
        assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT
        assert not bench.nic("dut.p0").admin_up
        assert "not compared with the state before the run: " in capsys.readouterr().out

    def test_restore_masks_what_a_killed_run_left(self, bench: FakeBench, capsys: pytest.CaptureFixture[str]) -> None:
        run_dir = runfolder.new_run(bench.folder / "results", "intel-82574l", "virtual")
        log = run_dir / "evidence" / "console-dut.log"
        log.write_text("Password: console-secret\n")
        journal = Journal.for_bench("virtual", "killed")
        journal.folder = run_dir
        with journal.hold():
            pass
        assert cli.main(["restore", str(bench.file)]) == 0
        assert log.read_text() == "Password: ********\n"
        assert f"{run_dir}: the evidence of this run, which has not finished, is masked" in capsys.readouterr().out
        assert not (run_dir / "evidence" / "index.json").exists()  # it may be continued

    def test_restore_compares_before_it_stops_a_bench_that_was_down(
        self, bench: FakeBench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bench.set_state(up=False)
        killed = bench.take("killed")
        killed.part(BenchHygiene).begin()
        killed.part(PreparedPorts).prepare()
        runs._CURRENT.clear()
        killed._stack.close()
        assert cli.main(["restore", str(bench.file)]) == 0
        assert "equal to the state before the run" in capsys.readouterr().out and not bench.state["up"]

    def test_restore_forgets_what_cannot_be_undone_for_a_reason(
        self, bench: FakeBench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with Journal.for_bench("virtual", "killed").hold() as journal:
            entry = journal.register("dut", "kernel replaced", Action(ActionKind.SHELL, "dut", "cannot be done"))
        forget = ["restore", str(bench.file), "--forget", entry.short_id]
        assert cli.main(forget) == ExitStatus.BENCH_FAULT
        assert "the reason is empty" in capsys.readouterr().err and journal.pending() == [entry]
        assert cli.main([*forget, "--reason", "the disk was replaced"]) == 0
        assert capsys.readouterr().out == f"forgotten: {entry}\n" and entry.short_id in str(entry)
        assert journal.pending() == [] and "the disk was replaced" in journal.path.read_text()
        assert cli.main([*forget, "--reason", "again"]) == ExitStatus.BENCH_FAULT
        assert "expected one of: none is pending" in capsys.readouterr().err
