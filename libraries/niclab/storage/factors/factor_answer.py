"""The answer about a factor: the change of each load over iSCSI in percent, with what both variants have cost."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from niclab.bench.records import Role
from niclab.card import StorageLoad
from niclab.core.decision import Decision
from niclab.core.figures import NotedFigure
from niclab.storage.disk_counts import DiskCounts
from niclab.storage.disk_figures import LoadFigures, figures_of
from niclab.traffic.effects.effect import EffectAnswers
from niclab.traffic.runs.experiment import Question, figure_of
from niclab.traffic.runs.traffic_run import TrafficRun


@dataclass(frozen=True)
class Cost:
    """The cost of one variant of a load.

    ``waiting``: part 0..1 of the time of the dut's CPUs that waited for I/O, None where the system does not say;
    ``counts``: those of each run.
    """

    variant: str
    found: LoadFigures
    waiting: float | None
    counts: tuple[DiskCounts, ...]

    @classmethod
    def of(cls, variant: str, runs: Sequence[TrafficRun], counts: Sequence[DiskCounts]) -> Cost:
        """Return what runs have cost.

        Args:
            variant: Name of the variant.
            runs: Its runs, at least one.
            counts: What was counted in each.
        """
        waiting = [each for run in runs if (each := run.dut.cpu.mean_waiting) is not None]
        found = figures_of(runs)
        return cls(variant, found, median(waiting) if waiting else None, tuple(counts))

    @property
    def dut_resent(self) -> int:
        return sum(each.dut_resent for each in self.counts)

    @property
    def peer_resent(self) -> int:
        return sum(each.peer_resent for each in self.counts)

    @property
    def resent_much(self) -> dict[Role, int]:
        """The segments that a server has sent again in runs with many of them."""
        found = dict[Role, int]()
        for each in self.counts:
            for role, again in each.resent_much.items():
                found[role] = found.get(role, 0) + again
        return found

    def __str__(self) -> str:
        waits = "" if self.waiting is None else f", the dut's CPUs waited for I/O {100 * self.waiting:.0f} %"
        resent = f"TCP segments sent again: dut {self.dut_resent}, peer {self.peer_resent}"
        return f"{self.variant} it: {self.found}{waits}, {resent}"


@dataclass(frozen=True)
class FactorAnswer(EffectAnswers):
    """The answer about one factor.

    Attributes:
        loads: The loads, in the order of ``answers``.
        costs: What both variants of each load have cost.
        damaged: Data that were not those written, and operations that failed, in words.
        problems: Where counts disagree, in words.
        lost: How often a session lost its connection, by variant.
    """

    loads: tuple[StorageLoad, ...]
    costs: tuple[tuple[Cost, Cost], ...]
    damaged: tuple[str, ...]
    problems: tuple[str, ...]
    lost: dict[str, int]

    @property
    def subject(self) -> str:
        """The factor."""
        return self.title

    def lines(self) -> list[str]:
        lines = super().lines()
        for answer, costs in zip(self.answers, self.costs, strict=True):
            lines += [f"{answer.subject}, {cost}" for cost in costs]
        lines += [f"{self.subject}, {each}" for each in (*self.problems, *self.damaged, *self.unstable())]
        return lines

    def unstable(self, *variants: str) -> list[str]:
        """Return that sessions lost their connections, in words.

        Args:
            variants: Names of the variants that are asked for; none: all.
        """
        return [
            f"{variant} it {count} sessions lost the TCP connection that they began with; expected none"
            for variant, count in self.lost.items()
            if not variants or variant in variants
        ]

    def recorded(self) -> list[NotedFigure]:
        """Return the changes that nobody predicts, as figures of the certificate."""
        figures = list[NotedFigure]()
        for answer, costs in zip(self.answers, self.costs, strict=True):
            if not answer.judged:
                figure = figure_of(Question(answer.subject, answer.result))
                found = "; ".join([figure.found, *map(str, costs)])
                recorded = replace(figure, found=found, expected="no prediction: recorded", outcome=Decision.MET)
                figures.append(replace(recorded, at_least=None, at_most=None))
        return figures


def table(answers: Sequence[FactorAnswer]) -> str:
    """Return factors as a table: a line for each load, the change in percent of the baseline, and both costs.

    Args:
        answers: The answer about each factor.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    variants = ["baseline", "factor"]
    names = ["operations/s", "Mbyte/s", "dut CPU %", "dut I/O wait %", "peer CPU %", "dut resent", "peer resent"]
    heading = ["factor", "load", "change %", "low %", "high %", "pairs", "answer"]
    writer.writerow(heading + [f"{variant} {name}" for variant in variants for name in names])
    for each in answers:
        for load, answer, costs in zip(each.loads, each.answers, each.costs, strict=True):
            result, decision = answer.result, answer.result.decision.value if answer.judged else "not judged"
            change = [f"{value:.2f}" for value in (result.estimate, result.low, result.high)]
            writer.writerow([each.title, load.value, *change, result.n, decision, *_cells(costs[0]), *_cells(costs[1])])
    return text.getvalue()


def _cells(cost: Cost) -> list[str]:
    found = cost.found
    waits = "" if cost.waiting is None else f"{100 * cost.waiting:.1f}"
    figures = [f"{found.operations_per_s:.1f}", f"{found.data_per_s / 1e6:.2f}"]
    shares = [f"{100 * found.dut_busy:.1f}", waits, f"{100 * found.peer_busy:.1f}"]
    return [*figures, *shares, str(cost.dut_resent), str(cost.peer_resent)]
