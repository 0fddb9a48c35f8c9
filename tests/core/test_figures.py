"""A test that passes says its figures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from niclab.core import figures
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.verdict import BenchFault
from niclab.run.run_notes import RunNotes
from niclab.stats.judge import judge_pairs, judge_values
from niclab.stats.questions import Direction, at_least, not_worse_by
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic.runs.experiment import Question, figure_of

LIBRARIES = Path(__file__).parents[2] / "libraries"
SUITE = """*** Settings ***
Library    Noting.py

*** Test Cases ***
One Figure
    Note    1
Many Figures
    Note    5
No Figure
    No Operation
A Failure
    Note    1
    Fail    CardFailure: too slow
"""
NOTING = """from pathlib import Path
from types import SimpleNamespace

from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.run import run
from niclab.run.run_notes import RunNotes

run._CURRENT.append(SimpleNamespace(notes=RunNotes(Path(__file__).parent / "evidence")))

def note(number):
    for each in range(int(number)):
        run.current().notes.figure(
            NotedFigure(FigureKind.PCIE, f"port {each}", "x4", "x8", "sheet x", Decision.MISSED))
"""


def test_the_message_of_a_passed_test_is_its_figures(tmp_path: Path) -> None:
    (tmp_path / "suite.robot").write_text(SUITE)
    (tmp_path / "Noting.py").write_text(NOTING)
    listener = LIBRARIES / "listeners" / "Figures.py"
    command = [sys.executable, "-m", "robot", "--pythonpath", str(LIBRARIES), "--listener", str(listener)]
    options = ["--console", "none", "--log", "NONE", "--report", "NONE", "--outputdir", str(tmp_path)]
    subprocess.run([*command, *options, str(tmp_path / "suite.robot")], check=False)
    tests = ElementTree.parse(tmp_path / "output.xml").iter("test")
    said = {test.get("name"): (test.find("./status").text or "").strip() for test in tests}  # type: ignore[union-attr]
    assert said["One Figure"] == "port 0: x4; expected x8 (sheet x)"
    assert said["Many Figures"].splitlines()[-1] == "and 2 more figures"
    assert (said["No Figure"], said["A Failure"]) == ("", "CardFailure: too slow")


def test_an_answer_becomes_a_figure() -> None:
    plan = SamplingPlan(first_look=3, met_from=3, most=8)
    outcome = judge_values([940.0, 941.0, 939.0, 940.5], at_least(900, "sheet x"), "Mbit/s", plan)
    figure = figure_of(Question("dut to peer", outcome))
    assert (figure.kind, figure.at_least, figure.at_most) == (FigureKind.THROUGHPUT, 900, None)
    assert figure.outcome == outcome.decision.value and figure.expected == "at least 900 Mbit/s (sheet x)"


def test_a_change_is_no_rest_of_the_baseline() -> None:
    plan = SamplingPlan(first_look=3, met_from=3, most=8)
    outcome = judge_pairs([(100.0, 100.1), (100.0, 99.9), (100.0, 100.0)], not_worse_by(10, Direction.HIGHER), plan)
    figure = figure_of(Question("vlan", outcome))
    assert re.fullmatch(r"\+0\.\d+ % change from baseline, 95% interval -0\.\d+ to \+0\.\d+", figure.found)
    assert figure.expected == "at most 10 % worse (higher is better)"


def test_figures_are_read_back_and_damage_is_found(tmp_path: Path) -> None:
    notes = RunNotes(tmp_path)
    notes.figure(NotedFigure(FigureKind.CARRIER, "a", "b", "c", "d", Decision.MET, unit="ms", high=3.5))
    (found,) = figures.read(tmp_path / figures.FILE)
    assert (found.kind, found.high, found.low) == (FigureKind.CARRIER, 3.5, None) and notes.take_figures() == [found]
    (tmp_path / figures.FILE).write_text('{"kind": "carrier"}\n')
    with pytest.raises(BenchFault, match=r"figures\.jsonl:1: is no note"):
        figures.read(tmp_path / figures.FILE)
