"""The common form of everything that is measured: it is asked, gives an answer, is shown, and is judged.

A module of traffic (limit, sweep, connections, frames, effect) asks, and returns an :class:`Answer` that holds all it
found. :func:`show` puts it into the log and the evidence. :func:`judge` ends the check.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.marks import MarkKind
from niclab.core.plain import as_json
from niclab.core.verdict import BenchFault, CardFailure, KernelFailure, NotApplicable, Undecided
from niclab.report.pages.charts import Chart
from niclab.report.reporter import Reporter
from niclab.run.run_notes import RunNotes
from niclab.stats.conclude import conclude
from niclab.stats.questions import Outcome, rounded
from niclab.traffic.runs import traffic_run
from niclab.traffic.runs.traffic_run import TrafficRun

T = TypeVar("T")
Ended = CardFailure | BenchFault | Undecided
_KINDS: tuple[type[Ended], ...] = (KernelFailure, CardFailure, BenchFault, Undecided)
"""The first that there is ends the check."""


@dataclass(frozen=True)
class Question:
    """One question that is judged.

    Attributes:
        subject: What was measured.
        result: The answer.
        hindrances: What of the bench may explain that it is missed.
        doubts: What else may explain it, so that nobody knows who is at fault.
    """

    subject: str
    result: Outcome
    hindrances: Sequence[str] = ()
    doubts: Sequence[str] = ()


class Answer(ABC):
    """All that was found. Runs and figures are there whether or not they are judged."""

    @abstractmethod
    def lines(self) -> list[str]:
        """Return the answer as sentences for the log."""

    @abstractmethod
    def charts(self) -> list[Chart]:
        """Return the charts; the title of the first one is the name of the runs behind them."""

    @abstractmethod
    def made(self) -> list[TrafficRun]:
        """Return every run that was made."""

    @abstractmethod
    def questions(self) -> list[Question]:
        """Return the questions that are judged."""

    def why_ended(self) -> Ended | None:
        """Return what has ended it before all was asked; None where all was."""
        return None

    def why_not_judged(self) -> str:
        """Return why there is no question, where there is none."""
        raise AssertionError(f"{type(self).__name__} always has a question")


def show(answer: Answer, reporter: Reporter) -> None:
    """Show an answer: its sentences, every run, its charts with their numbers, and the runs as a file.

    Args:
        answer: What was found.
        reporter: Where it is shown. A remarkable run is a warning.

    Raises:
        BenchFault: A file cannot be written.
    """
    for line in answer.lines():
        reporter.say(line)
    runs = answer.made()
    for run in runs:
        (reporter.warn if run.remarkable else reporter.say)(traffic_run.described(run))
    charts = answer.charts()
    for chart in charts:
        reporter.chart(chart)
    text = json.dumps(as_json(runs), indent=2, ensure_ascii=False)
    if charts:  # there are none where nothing could be measured
        reporter.attach(f"{charts[0].title}.json", text, "application/json")


def asked(question: Callable[[], T], ended: list[Ended]) -> T | None:
    """Ask one of several things that are judged together, so that none of them hides what was found of another.

    Args:
        question: Asks, and returns the answer.
        ended: How those before have ended that have no answer; it takes how this one does, for :func:`judge`. Where a
            fault of the bench is among them nothing more is asked.

    Returns:
        The answer; None where there is none.
    """
    if any(isinstance(each, BenchFault) for each in ended):
        return None
    try:
        return question()
    except (CardFailure, BenchFault, Undecided) as error:
        ended.append(error)
        return None


def judge(notes: RunNotes, answers: Sequence[Answer], ended: Sequence[Ended] = ()) -> None:
    """End the check: return only when there is a question, every one is met, and all was asked.

    Warnings of the answers are noted for the certificate, whatever the end.

    Args:
        notes: Those of the run.
        answers: What was found.
        ended: How those have ended that have no answer.

    Raises:
        CardFailure: A question is missed, and nothing of the bench explains it.
        BenchFault: A question is missed, and the bench may be why.
        Undecided: The runs cannot tell, or a question is missed, and nobody knows why.
        NotApplicable: There is no question.
    """
    questions = [question for answer in answers for question in answer.questions()]
    ends = [*ended, *(end for answer in answers if (end := answer.why_ended()) is not None)]
    if not questions and not ends:
        raise NotApplicable("; ".join(answer.why_not_judged() for answer in answers))
    try:
        if questions:
            judge_questions(notes, questions)
    except (CardFailure, BenchFault, Undecided) as error:
        ends.insert(0, error)
    if len(ends) == 1:
        raise ends[0]
    for kind in _KINDS:
        if any(isinstance(each, kind) for each in ends):
            raise kind("\n".join(map(str, ends)))


def judge_questions(notes: RunNotes, asked: Sequence[Question]) -> None:
    """End the check: return only when every question is met. Each is noted as a figure, with its warnings.

    Args:
        notes: Those of the run.
        asked: The questions, at least one.

    Raises:
        CardFailure: A question is missed, and nothing of the bench explains it.
        BenchFault: A question is missed, and the bench may be why.
        Undecided: The runs cannot tell, or a question is missed, and nobody knows why.
    """
    for each in asked:
        notes.figure(figure_of(each))
        for warning in each.result.warnings:
            notes.mark(MarkKind.OUTLIER, f"{each.subject}: {warning}")
    missed = [each for each in asked if each.result.decision is Decision.MISSED]
    hindered = [each for each in missed if each.hindrances]
    doubtful = [each for each in missed if each.doubts and not each.hindrances]
    others = {each.subject: each.result for each in asked if each not in (*hindered, *doubtful)}
    faults = [
        f"{each.subject}: {each.result.reason}; the bench may be why: {'; '.join(each.hindrances)}" for each in hindered
    ]
    unknown = [f"{each.subject}: {each.result.reason}; {'; '.join(each.doubts)}" for each in doubtful]
    if others:
        try:
            conclude(others)
        except CardFailure as error:
            raise CardFailure("\n".join([str(error), *faults, *unknown])) from error
        except Undecided as error:
            unknown.append(str(error))
    if faults:
        raise BenchFault("\n".join([*faults, *unknown]))
    if unknown:
        raise Undecided("\n".join(unknown))


def figure_of(question: Question) -> NotedFigure:
    """Return the answer to a question as a figure of the certificate.

    Args:
        question: What was asked, and its answer.
    """
    result, expected = question.result, question.result.expected
    estimate, low, high = rounded(result.estimate, result.low, result.high, signed=result.unit.startswith("%"))
    # the region of a change is in percent of the baseline, not in the unit of the figure
    bounds = (expected.low, expected.high) if result.change is None else (-math.inf, math.inf)
    at_least, at_most = (each if math.isfinite(each) else None for each in bounds)
    return NotedFigure(
        kind=FigureKind.THROUGHPUT if result.unit == "Mbit/s" else FigureKind.TRAFFIC,
        subject=question.subject,
        found=f"{estimate} {result.unit}, {result.level:.0%} interval {low} to {high}",
        expected=expected.said,
        source="",
        outcome=result.decision,
        unit=result.unit,
        value=result.estimate,
        low=result.low,
        high=result.high,
        runs=result.n,
        at_least=at_least,
        at_most=at_most,
    )
