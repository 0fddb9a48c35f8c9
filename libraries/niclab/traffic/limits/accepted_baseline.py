"""Figures of a run against the accepted baseline of the same conditions.

Only what became worse is a failure: an improvement is reported and never fails. Without a baseline nothing is judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from niclab.core.decision import Decision
from niclab.report.pages.charts import TrendChart, TrendPoint
from niclab.run.run import Run
from niclab.stats.baselines import FOLDER, Baseline, BaselineStore
from niclab.stats.interval import t_interval
from niclab.stats.judge import judge_against_baseline
from niclab.stats.measurements import Measurement
from niclab.stats.questions import Direction, Outcome
from niclab.stats.run_plan import SamplingPlan

TOLERANCE_PERCENT = 5.0
"""Assumption: the bench is the same and so is the load, but servers warm up; what users notice is more."""


@dataclass(frozen=True)
class Against:
    """The baseline of a measurement, if there is one. ``nearest``: in words, one of other conditions."""

    baseline: Baseline | None
    nearest: str
    plan: SamplingPlan

    @classmethod
    def stored(cls, run: Run, measurement: Measurement, plan: SamplingPlan) -> Against:
        """From ``baselines`` next to the folder of the run.

        Raises:
            BenchFault: When the file of the baseline is damaged.
        """
        store = BaselineStore(run.run_dir.resolve().parent / FOLDER)
        found, nearest = store.find(measurement), ""
        if found is None and (other := store.nearest(measurement)) is not None:
            kept, differences = other
            nearest = f"{kept.mean:.6g} {kept.unit} in run {kept.days[-1].run}, with {'; '.join(differences)}"
        return cls(found, nearest, plan)

    def result(self, values: Sequence[float]) -> Outcome | None:
        """Is the figure at most ``TOLERANCE_PERCENT`` worse than its baseline? None without one."""
        if self.baseline is None:
            return None
        kept = self.baseline
        days = [day.samples for day in kept.days]
        return judge_against_baseline(values, days, kept.better, TOLERANCE_PERCENT, self.plan, kept.source)

    def decided(self, values: Sequence[float]) -> bool:
        """Can it be decided, or is there no baseline?"""
        against = self.result(values)
        return against is None or against.decision is not Decision.UNDECIDED

    def trend(self, title: str, values: Sequence[float]) -> TrendChart | None:
        """The accepted runs of these conditions and this one, with the zone that the baseline allows; None without."""
        if self.baseline is None:
            return None
        kept = self.baseline.history
        runs = [(each.taken[:10], each.samples) for each in kept] + [("this run", tuple(values))]
        points = []
        for when, samples in runs:
            found = t_interval(samples)
            points.append(TrendPoint(when, found.estimate, found.low, found.high))
        mean, part = self.baseline.mean, TOLERANCE_PERCENT / 100
        zone = (
            (mean * (1 - part), math.inf)
            if self.baseline.better is Direction.HIGHER
            else (-math.inf, mean * (1 + part))
        )
        words = f"at most {TOLERANCE_PERCENT:g} % worse than the {self.baseline.source}"
        return TrendChart(title, self.text, self.baseline.unit, tuple(points), zone, words)

    @property
    def text(self) -> str:
        """The figures to compare with, in words."""
        if self.baseline is not None:
            return f"judged against the {self.baseline.source}"
        return f"no baseline of these conditions; the nearest: {self.nearest}" if self.nearest else "no baseline"
