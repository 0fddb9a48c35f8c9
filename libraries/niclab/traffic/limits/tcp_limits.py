"""TCP against the sheet's limit, over every path or over the bonds: asked, shown and judged together."""

from __future__ import annotations

from functools import partial

from niclab.bench.records import Role
from niclab.core.profile import Profile
from niclab.links.upper.bonds import Bonds
from niclab.report.reporter import Reporter
from niclab.run.run import Run
from niclab.traffic.limits import limit
from niclab.traffic.limits.limit import BUDGETS, LimitAnswer
from niclab.traffic.runs import experiment
from niclab.traffic.runs.experiment import Ended


def judge_paths(run: Run, sender: Role, profile: Profile, reporter: Reporter) -> None:
    """Judge TCP over every path, each with the addresses of its ports.

    Args:
        run: The current run.
        sender: The server that sends.
        profile: How many runs may be made, and for how long.
        reporter: Where every answer is shown as soon as it is there.

    Raises:
        CardFailure: A limit is missed, and nothing of the bench explains it.
        BenchFault: A run fails, or the bench may be why a limit is missed.
        Undecided: The runs cannot tell.
        NotApplicable: The sheet does not know the limit.
    """
    answers, ended = list[LimitAnswer](), list[Ended]()
    for path in run.bench.paths:
        ask = partial(limit.ask, run, path, sender, BUDGETS[profile], reporter.progress)
        if (answer := experiment.asked(ask, ended)) is not None:
            answers.append(answer)
            experiment.show(answer, reporter)
    experiment.judge(run.notes, answers, ended)


def judge_bonds(run: Run, sender: Role, profile: Profile, reporter: Reporter) -> None:
    """Judge TCP over the links that the bonds use now.

    Args:
        run: The current run.
        sender: The server that sends.
        profile: How many runs may be made, and for how long.
        reporter: Where the answer is shown.

    Raises:
        CardFailure: The limit is missed, and nothing of the bench explains it.
        BenchFault: There are no bonds, a run fails, or the bench may be why the limit is missed.
        Undecided: The runs cannot tell.
        NotApplicable: The sheet does not know the limit.
    """
    bonds = run.part(Bonds)
    over = limit.OverInterfaces(
        interfaces={role: bonds.stack(role).name for role in Role},
        ports={role: bonds.active_port(role) for role in Role},
        words=bonds.described(),
    )
    answer = limit.ask(run, run.bench.paths[0], sender, BUDGETS[profile], reporter.progress, over)
    experiment.show(answer, reporter)
    experiment.judge(run.notes, [answer])
