"""The one place that asks for traffic runs until a question is decided, or its budget is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from niclab.core.verdict import Undecided
from niclab.core.wait import Deadline
from niclab.stats.precise import repeat_until
from niclab.stats.questions import Expected, Outcome
from niclab.stats.run_plan import SamplingPlan
from niclab.stats.runner import Pairs, measure_effect, measure_effects, measure_limit
from niclab.traffic.runs import discarded
from niclab.traffic.runs.progress import Pace, Progress, Tell
from niclab.traffic.runs.traffic_run import TrafficRun

K = TypeVar("K")
Enough = Callable[[Sequence[float]], bool]
"""Do these values suffice?"""


class Asker:
    """Asks for the runs of one question, and keeps them. Every answer counts the runs that were discarded for it.

    Each method that asks raises Undecided, with the subject, when the time was spent before the first look.

    Args:
        subject: What is measured, for messages.
        plan: How many runs at least and at most, and the confidence.
        time: No counted run begins after it.
        shared_by: The questions that have the time together, such as ``all points``; empty: it is for this one alone.

    Attributes:
        runs: Every run that was made and not discarded, warm-up included.
    """

    def __init__(self, subject: str, plan: SamplingPlan, time: Deadline, shared_by: str = "") -> None:
        self._subject, self._plan, self._time, self._shared_by = subject, plan, time, shared_by
        self.runs = list[TrafficRun]()

    def keep(self, run: TrafficRun) -> TrafficRun:
        """Keep a run, and return it."""
        self.runs.append(run)
        return run

    def limit(
        self, one_run: Callable[[], float], expected: Expected, unit: str, also: Enough | None = None
    ) -> tuple[list[float], Outcome]:
        """Ask until a limit is decided.

        Args:
            one_run: Makes a run, and returns its figure.
            expected: The limit.
            unit: Of the figures.
            also: What has to be known besides.

        Returns:
            The counted figures, and the answer.
        """
        with self._named():
            values, result = measure_limit(one_run, expected, unit, self._plan, self._may_go_on, also)
        return values, discarded.bounded(result, self.runs)

    def values(self, one_run: Callable[[], float], enough: Enough) -> list[float]:
        """Ask until there are figures enough, where there is no limit to decide.

        Args:
            one_run: Makes a run, and returns its figure.
            enough: Do they suffice?

        Returns:
            The counted figures.
        """
        with self._named():
            return repeat_until(one_run, enough, self._plan, self._may_go_on)

    def effect(
        self, one_run: Callable[[str], float], variants: tuple[str, str], expected: Expected, seed: int
    ) -> tuple[list[tuple[float, float]], Outcome]:
        """Ask for runs of two variants in turns until their difference is decided.

        Args:
            one_run: Makes a run of a variant, and returns its figure.
            variants: Names of baseline and setting.
            expected: The difference.
            seed: Seed of the order.

        Returns:
            The counted pairs of figures, and the answer.
        """
        with self._named():
            pairs, result = measure_effect(
                one_run, variants, expected, self._plan, seed=seed, may_go_on=self._may_go_on
            )
        return pairs, discarded.bounded(result, self.runs)

    def effects(
        self,
        one_turn: Callable[[str, Sequence[K]], Mapping[K, float]],
        variants: tuple[str, str],
        expected: Mapping[K, Expected],
        seed: int,
    ) -> dict[K, tuple[Pairs, Outcome]]:
        """Ask for turns of two variants until the difference of each figure of a turn is decided.

        Args:
            one_turn: Makes the runs of a variant for the figures that are left, and returns these.
            variants: Names of baseline and setting.
            expected: The difference of each figure.
            seed: Seed of the order.

        Returns:
            The counted pairs, and the answer, of each figure.
        """
        with self._named():
            found = measure_effects(one_turn, variants, expected, self._plan, seed=seed, may_go_on=self._may_go_on)
        return {each: (pairs, discarded.bounded(result, self.runs)) for each, (pairs, result) in found.items()}

    def bounded(self, result: Outcome | None) -> Outcome | None:
        """Return another answer from the same runs, with the number of those that were discarded."""
        return discarded.bounded(result, self.runs)

    def counted(self, values: Sequence[float]) -> list[TrafficRun]:
        """Return the runs behind counted figures, without the warm-up."""
        return self.runs[-len(values) :]

    def _may_go_on(self) -> bool:
        return not self._time.expired

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except Undecided as error:
            shared = f"; {self._shared_by} together may take {self._time.seconds:g} s" if self._shared_by else ""
            raise Undecided(f"{self._subject}: {error}{shared}") from error


class ToldAsker(Asker):
    """Asks one question that has its time to itself, and reports progress where the runs may last long.

    Args:
        subject: What is measured, for messages.
        unit: Of its figures.
        plan: How many figures at least and at most, and the confidence.
        run_s: Time of a run in s, with the seconds that its tool leaves out.
        most_s: No counted run begins later than this after the first, in s.
        tell: Takes the progress.
        runs_each: Runs behind one counted figure: 2 where it is a pair.

    Attributes:
        plan: The plan.
    """

    def __init__(
        self, subject: str, unit: str, plan: SamplingPlan, run_s: float, most_s: float, tell: Tell, runs_each: int = 1
    ) -> None:
        super().__init__(subject, plan, Deadline(most_s))
        self.plan, self._made = plan, 0
        most, warm_up_runs = runs_each * plan.most, runs_each * plan.warm_up_runs
        self._progress = Progress(subject, unit, most, warm_up_runs, Pace(run_s), most_s, tell)

    def told(self, figure: float) -> float:
        """Report the figure of the next run, and return it."""
        self._made += 1
        self._progress.made(self._made, figure)
        return figure
