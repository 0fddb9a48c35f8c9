"""Every measurement is judged, and what a reader must know of it is noted for the certificate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from niclab.core import marks
from niclab.core.marks import MarkKind
from niclab.report.pages.charts import Chart
from niclab.run.run_notes import RunNotes
from niclab.stats.judge import judge_values
from niclab.stats.questions import at_least
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic.runs.experiment import Answer, Question, judge
from niclab.traffic.runs.traffic_run import TrafficRun


class Toy(Answer):
    """An answer of one question that is met, with a warning."""

    def lines(self) -> list[str]:
        return []

    def charts(self) -> list[Chart]:
        return []

    def made(self) -> list[TrafficRun]:
        return []

    def questions(self) -> list[Question]:
        plan = SamplingPlan(first_look=3, most=8)
        result = judge_values([50.0, 50.1, 49.9, 50.0, 50.1, 49.9, 50.0, 50.1], at_least(40), "Mbit/s", plan)
        return [Question("dut to peer", replace(result, warnings=("run 7 is far below the rest",)))]


def test_a_warning_of_an_answer_that_is_met_is_noted(tmp_path: Path) -> None:
    judge(RunNotes(tmp_path), [Toy()])
    (noted,) = marks.read(tmp_path / marks.FILE)
    assert (noted.kind, noted.subject) == (MarkKind.OUTLIER, "dut to peer: run 7 is far below the rest")
