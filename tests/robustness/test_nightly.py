"""Soak, campaign, kills and matrix: what they plan, and how they judge. None of them runs here."""

from __future__ import annotations

import ast
import json
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE

import pytest
from robot.api import TestSuite

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path += [str(REPOSITORY / "tests" / "controls")]

import campaign  # noqa: E402 - as above
import kills  # noqa: E402
import matrix  # noqa: E402
import nightly  # noqa: E402
import soak  # noqa: E402
from campaign import Met, Processes, Strike, judge, plan, strikes  # noqa: E402
from card_defects import DEFECTS  # noqa: E402
from declared import UNSEEN, Declared, declared  # noqa: E402
from nightly import Outcome  # noqa: E402

import faults  # noqa: E402
from wait import until  # noqa: E402

OWN = dict.fromkeys(nightly.OWN_CHECKS, "pass")
SOUND = Outcome(1, 60, None, {"Q.A": "pass", "Q.B": "not-applicable"} | OWN, {}, ("The run is partial: x.",), True)
MOST_EXEMPT = 11
"""Tests of the suites without a control; it may only become less."""
RED = replace(SOUND, verdicts=SOUND.verdicts | {"Q.A": "bench-fault"}, messages={"Q.A": "BenchFault: dut BMC: away"})


@pytest.mark.parametrize("suite", sorted({*campaign.SUITES, *kills.SUITES}))
def test_each_suite_of_a_run_has_tests(suite: str) -> None:
    """Robot Framework says nothing of a name without tests, as long as another one has some."""
    every = TestSuite.from_file_system(REPOSITORY / "suites")
    every.filter(included_suites=[suite])
    assert every.test_count > 3


def changed(**verdicts: str) -> Outcome:
    names = {name.replace("_", " "): verdict for name, verdict in verdicts.items()}
    return replace(SOUND, verdicts=SOUND.verdicts | names)


def test_a_sound_partial_run_is_clean() -> None:
    assert SOUND.is_clean and SOUND.red == []
    assert replace(SOUND, reasons=(*SOUND.reasons, "Plan quick requires CARD-01 (x): not asked.")).is_clean
    assert not replace(SOUND, reasons=(*SOUND.reasons, "Evidence is missing: x.")).is_clean
    assert not replace(SOUND, partial=False).is_clean
    assert replace(SOUND, partial=False, reasons=()).is_clean


@pytest.mark.parametrize("verdict", nightly.RED)
def test_nothing_red_or_undecided_is_clean(verdict: str) -> None:
    outcome = changed(**{"Q.A": verdict})
    assert not outcome.is_clean and soak.row(3, outcome)[-1] == f"A: {verdict}"


@pytest.mark.parametrize("check", nightly.OWN_CHECKS)
def test_a_run_without_its_own_checks_is_not_clean(check: str) -> None:
    outcome = replace(SOUND, verdicts={name: each for name, each in SOUND.verdicts.items() if name != check})
    assert not outcome.is_clean and f"{check}: missing" in soak.row(1, outcome)[3]
    assert not changed(**{check: "bench-fault"}).is_clean


def test_a_run_is_read_from_its_files(tmp_path: Path) -> None:
    tests = [{"name": "Q.A", "verdict": "undecided", "message": "Undecided: x"}]
    (tmp_path / "certificate.json").write_text(json.dumps({"tests": tests, "reasons": ["r"]}))
    (tmp_path / "run.json").write_text(json.dumps({"partial": "x"}))
    (tmp_path / "output.xml").write_text('<robot><msg level="WARN">w</msg><msg level="INFO">i</msg><torn')
    found = nightly.outcome_of(1, 2.0, tmp_path)
    assert (found.red, found.messages, found.reasons, found.partial) == (["Q.A"], {"Q.A": "Undecided: x"}, ("r",), True)
    assert found.warnings == ("w",)
    nothing = nightly.outcome_of(-9, 2.0, tmp_path / "none")
    assert not nothing.is_clean and soak.why(nothing) == "no certificate (status -9)"
    assert nightly.counts(nothing) == "no certificate"


def test_the_words_of_restore() -> None:
    equal = "bench x: 2 changes undone\nequal to the state before the run\n"
    assert nightly.restored_equal(0, equal, compared=True) == ""
    assert nightly.restored_equal(0, "bench x: nothing to undo\n") == ""
    assert nightly.restored_equal(0, "bench x: nothing to undo\n", compared=True) == "restore compared nothing"
    assert "differs" in nightly.restored_equal(0, "differs from the state before the run:\n  dut: x")
    assert "not compared" in nightly.restored_equal(0, "not compared with the state before the run: x")
    assert "ended with 1" in nightly.restored_equal(1, "niclab: in use")


def test_a_plan_is_that_of_its_seed_and_leaves_no_strike_out() -> None:
    first = plan(1, 100)
    assert first == plan(1, 100) and first != plan(2, 100) and len(first) == 100
    counted = Counter(str(each) for each in first)
    assert set(counted) == {str(each) for each in strikes()} and max(counted.values()) - min(counted.values()) <= 1
    assert all(each.first or 0 < each.moment < 1 for each in first)


def test_every_strike_breaks_something_that_there_is() -> None:
    names = [str(each) for each in strikes()]
    assert len(set(names)) == len(names)
    known = {(str(each.kind), each.name): each for each in faults.FAULTS}
    for each in strikes():
        assert (
            each.vbench
            or each.shell
            or each.part
            or each.signals
            or each.secret
            or each.fills_results
            or (each.second_run)
        )
        if each.vbench:
            kind, setting = each.vbench[2].partition(":")[0], each.vbench[3].partition("=")
            assert (known[kind, setting[0]].value is not None) == bool(setting[1])


BMC = Strike("BMC dead", "dut BMC", role="dut", vbench=campaign.fault("bmc:dut", "drop"))
KILLED = Strike("server killed", "dut", role="dut", part="qemu-dut", must_show=True)


def test_a_strike_that_is_taken_well() -> None:
    assert judge(Met(BMC, SOUND, 100)) == [] and judge(Met(BMC, RED, 100)) == []
    assert campaign.row(1, Met(BMC, RED, 100))[-3:] == ("equal", "yes", "well")
    gone = Outcome(-9, 10, None)
    assert judge(Met(Strike("SIGKILL", "", signals=(signal.SIGKILL,), must_show=True), gone, 100)) == []
    assert judge(Met(Strike("second run", "in use", second_run=True), SOUND, 100, second="dut: in use by x")) == []


@pytest.mark.parametrize(
    ("met", "words"),
    [
        (Met(BMC, changed(**{"Q.A": "card-failure"}), 100), "charged to the card: Q.A"),
        (Met(KILLED, SOUND, 100), "a false pass"),
        (Met(BMC, replace(SOUND, seconds=101), 100), "took 101 s; expected at most 100 s"),
        (Met(BMC, SOUND, 100, restored="differs"), "the bench is not as before: differs"),
        (Met(BMC, Outcome(1, 1, None), 100), "no certificate"),
        (Met(BMC, replace(SOUND, reasons=("Evidence is missing: x.",)), 100), "evidence is not complete"),
        (Met(BMC, replace(RED, messages={"Q.A": "BenchFault: dut: away"}), 100), "no message names the culprit"),
        (
            Met(Strike("second run", "in use", second_run=True), SOUND, 100, second="went on"),
            "second run was not refused",
        ),
    ],
)
def test_a_strike_that_is_not(met: Met, words: str) -> None:
    assert any(words in problem for problem in judge(met)), judge(met)


def test_a_strike_that_left_no_trace_was_not_felt() -> None:
    usual = frozenset({"the switch agrees late"})
    warned = replace(SOUND, warnings=("the switch agrees late",))
    assert not Met(BMC, warned, 100, usual=usual).felt and not Met(BMC, SOUND, 100).felt
    assert Met(BMC, replace(SOUND, warnings=("dut: BMC does not answer",)), 100, usual=usual).felt
    assert Met(BMC, RED, 100).felt and Met(BMC, Outcome(-9, 1, None), 100).felt


def test_the_strikes_are_counted() -> None:
    rows = [campaign.row(number, met) for number, met in enumerate([Met(BMC, SOUND, 100), Met(BMC, RED, 1)], 1)]
    assert campaign.summary(rows) == [("BMC dead dut", "2", "1", "1")]


def test_a_signal_reaches_whom_it_is_for() -> None:
    with subprocess.Popen([sys.executable, "-c", "import subprocess, sys; subprocess.run(['cat'])"], stdin=PIPE) as run:
        until(lambda: campaign.children(run.pid) != [], within_s=30, every_s=0.05)
        robot = campaign.children(run.pid)
        assert campaign.pids(run.pid, Processes.ROBOT) == robot and len(robot) == 1
        assert campaign.pids(run.pid, Processes.NICLAB) == [run.pid]
        assert campaign.pids(run.pid, Processes.BOTH) == [run.pid, *robot]


def test_a_password_is_wrong_before_the_run_reads_it() -> None:
    found = [each for each in plan(3, 200) if each.secret]
    assert found and all(each.first and each.must_show and each.moment == 0 for each in found)


def test_the_moments_of_kills_are_spread_over_the_run() -> None:
    found = kills.moments(1, 20, 200.0)
    assert found == kills.moments(1, 20, 200.0) != kills.moments(2, 20, 200.0)
    assert sorted(int(each // 10) for each in found) == list(range(20)) and found != sorted(found)


def test_the_test_that_was_running() -> None:
    begun, ended = '{"event": "begin", "test": "Q.A"}\n', '{"event": "end", "test": "Q.A"}\n'
    said = '{"event": "message", "level": "WARN", "text": "", "time": "", "html": false}\n'
    assert nightly.last_begun(begun) == nightly.last_begun(begun + said) == "Q.A"
    assert nightly.last_begun(said) == nightly.last_begun(begun + ended + '{"eve') == ""


def test_every_row_of_the_matrix_has_its_control_and_names_tests_of_the_suites() -> None:
    tests = matrix.tests_of_suites()
    for row in declared():
        file, _, rest = row.control.partition("::")
        function = rest.partition("[")[0].rpartition("::")[2]
        tree = ast.parse((matrix.CONTROLS / file).read_text())
        assert function in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, row.control
        assert {matrix.of_every_row(red) for red in row.red} <= tests, row


def test_no_two_defects_of_cards_have_the_same_control() -> None:
    names = [str(defect) for defect in DEFECTS]
    assert sorted(set(names)) == sorted(names)


def test_every_fault_has_a_row_or_is_named() -> None:
    rows = declared()
    known = {(row.kind, row.fault) for row in rows}
    without = {fault.name for fault in faults.FAULTS if (str(fault.kind), fault.name) not in known}
    assert without == set(UNSEEN)


def test_every_test_of_the_suites_has_a_control_or_is_named_with_the_reason() -> None:
    rows, tests = declared(), matrix.tests_of_suites()
    assert matrix.never_red(rows, tests) == []
    assert set(matrix.EXEMPT) <= tests
    assert {matrix.of_every_row(red) for row in rows for red in row.red} & set(matrix.EXEMPT) == set(), "has a control"
    assert len(matrix.EXEMPT) <= MOST_EXEMPT


def test_the_matrix_runs_as_a_program(tmp_path: Path) -> None:
    command = [sys.executable, str(REPOSITORY / "tests/robustness/matrix.py"), "--table"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "card:dut.p0 rx-flip=50" in done.stdout and "tests are turned red by a defect" in done.stdout


def test_the_matrix_names_what_nothing_turns_red() -> None:
    row = Declared("card:dut x=1", frozenset({"Offload tso4 Can Be Switched As On The Sheet"}), "CardFailure", "c")
    tests = ["Every Offload Can Be Switched As On The Sheet", "Every Link Is Up"]
    assert matrix.never_red([row], tests) == ["Every Link Is Up"]


def test_the_table_shows_what_was_seen(tmp_path: Path) -> None:
    report = tmp_path / "controls.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.controls.test_a.TestB" name="test_c[x y]" time="3.4"/>'
        '<testcase classname="tests.controls.test_a" name="test_d" time="2"><failure/></testcase>'
        "</testsuite></testsuites>"
    )
    seen = matrix.read_results(report)
    rows = [
        Declared("cable:a silent", frozenset({"A", "B"}), "CardFailure", "test_a.py::TestB::test_c[x y]"),
        Declared("cable:b silent", frozenset({"A"}), "CardFailure", "test_a.py::test_d"),
        Declared("cable:c silent", frozenset({"A"}), "CardFailure", "test_a.py::test_e"),
    ]
    head, first, second, failed, missing = matrix.table(rows, seen).splitlines()
    assert head.split() == ["defect", "card", "turns", "red", "verdict", "seen", "s"]
    assert first.split()[-2:] == ["yes", "3"] and second.strip() == "B"
    assert failed.split()[-2:] == ["NO", "2"] and missing.split()[-3:] == ["not", "run", "-"]
