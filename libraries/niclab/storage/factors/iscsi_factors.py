"""One factor at a time under loads over iSCSI: asked, shown and judged (DEL-02)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, NotApplicable, Undecided, none_applies
from niclab.report.reporter import Reporter
from niclab.run.run import Run
from niclab.storage import damage
from niclab.storage.factors.factor_answer import FactorAnswer, table
from niclab.storage.factors.factor_question import Factor, asking
from niclab.storage.iscsi.iscsi_workloads import require_asked
from niclab.traffic.effects import effect
from niclab.traffic.runs import experiment
from niclab.traffic.runs.experiment import Ended


def judge_sequence(run: Run, profile: Profile, reporter: Reporter) -> None:
    """Judge each step of the sheet's sequence under each load over iSCSI, over the first path.

    Args:
        run: The current run.
        profile: How many runs may be made, and for how long.
        reporter: Where the steps are shown.

    Raises:
        CardFailure: A step does not change a load as predicted, and nothing of the bench explains it; or the card
            damages data, is slower than in accepted runs, or takes a setting and does not show it.
        BenchFault: A session cannot be made, counts disagree, a run fails, or the bench may explain a missing change.
        Undecided: The runs cannot tell, or nobody knows who is at fault.
        NotApplicable: The sheet has no load over iSCSI, no sequence, or no step that can be had here; or a server does
            not run Linux.
    """
    loads, sequence = require_asked(run).workloads, run.card.section(run.card.sequence, "sequence")
    answers, others, ended = list[FactorAnswer](), list[tuple[str, NotApplicable]](), list[Ended]()
    with asking(run, loads, profile, reporter.progress) as ask:
        for number, step in enumerate(sequence.steps, 1):
            try:
                answer = experiment.asked(partial(ask, Factor.of_step(run, sequence, step)), ended)
            except NotApplicable as error:
                others.append((step.name, error))
                reporter.say(f"not applicable: {step.name}: {error}")
                continue
            if answer is None:
                continue
            answers.append(answer)
            reporter.progress(f"step {number} of {len(sequence.steps)}: {step.name}")
            show(run, answer, reporter)
            if answer.damaged:
                experiment.asked(partial(damage.require_undamaged, run, answer, reporter.say), ended)
                break
        if not answers and not ended:
            raise none_applies(others)
        if answers:
            title = "One factor at a time under iSCSI"
            reporter.chart(effect.chart(title, [each for answer in answers for each in answer.answers]))
            reporter.attach(f"{title} table.csv", table(answers), "text/csv")
        judge(run, answers, ended=ended)  # before the target is removed: what fails then hides no failure


def show(run: Run, answer: FactorAnswer, reporter: Reporter) -> None:
    """Show the answer about a factor, and note what nobody predicts for the certificate.

    Args:
        run: The current run.
        answer: The answer.
        reporter: Where it is shown.
    """
    experiment.show(answer, reporter)
    for figure in answer.recorded():
        run.notes.figure(figure)


def judge(run: Run, answers: Sequence[FactorAnswer], stable: Sequence[str] = (), ended: Sequence[Ended] = ()) -> None:
    """End a check: return only when no prediction and no baseline is missed, and nothing has ended without an answer.

    Figures of damaged data, and of counts that disagree, are not judged.

    Args:
        run: The current run.
        answers: The answer about each factor.
        stable: Variants whose sessions must keep their connections; empty: all.
        ended: How factors have ended that have no answer, and those whose data are damaged.

    Raises:
        CardFailure: A prediction or a baseline is missed.
        BenchFault: Counts disagree, or the bench may be why something is missed.
        Undecided: A session lost its connection, or the runs cannot tell.
    """
    ends = list(ended)
    if problems := [f"{answer.subject}, {each}" for answer in answers for each in answer.problems]:
        ends.append(BenchFault("\n".join(problems)))
    if lost := [f"{answer.subject}, {each}" for answer in answers for each in answer.unstable(*stable)]:
        ends.append(Undecided("\n".join(lost)))
    sound = [answer for answer in answers if not answer.problems and not answer.damaged]
    if ends or any(answer.questions() for answer in sound):
        experiment.judge(run.notes, sound, ends)
