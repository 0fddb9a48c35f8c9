"""The effect of a setting on traffic: runs with and without it in turns, compared in percent, until that is clear."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from niclab.bench.records import BenchPath, TrafficToolName
from niclab.card import (
    At,
    Changeable,
    Effect,
    Figure,
    FreebsdOffload,
    LinuxOffload,
    OffloadName,
    Prediction,
    Setting,
    SettingKind,
    Step,
    Unknown,
)
from niclab.card import Sequence as Steps
from niclab.core.profile import Profile
from niclab.core.verdict import NotApplicable, ended_by
from niclab.report.pages.charts import ChangeChart, ChangeRow, Chart
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.stats.questions import Direction, Expected, Outcome, lowers_by, not_worse_by, raises_by
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic import WorthlessResult
from niclab.traffic.effects import kept_figures
from niclab.traffic.effects.kept_figures import Compared
from niclab.traffic.effects.variants import Variants, Way
from niclab.traffic.limits import limit, receive_window
from niclab.traffic.limits.bottleneck import Before
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs import endpoints, measuring
from niclab.traffic.runs.asker import ToldAsker
from niclab.traffic.runs.experiment import Answer, Question
from niclab.traffic.runs.measuring import Session
from niclab.traffic.runs.progress import Tell
from niclab.traffic.runs.traffic_run import EndOfRun, TrafficRun
from niclab.traffic.tools import round_trips
from niclab.traffic.tools.tool import Order, TrafficTest
from niclab.traffic.tools.tool_choice import tool_of

WITHOUT, WITH = "without", "with"
SEED = 1
"""Seed of the order of the runs; any number will do, as long as it is fixed before."""


@dataclass(frozen=True)
class EffectBudget:
    """``run_s``: a run; ``first_look``, ``met_from``, ``most``: pairs of runs; ``most_s``: no pair begins later."""

    run_s: int
    first_look: int
    met_from: int
    most: int
    most_s: float


BUDGETS: Mapping[Profile, EffectBudget] = {
    Profile.QUICK: EffectBudget(run_s=2, first_look=3, met_from=4, most=8, most_s=240),
    Profile.FULL: EffectBudget(run_s=4, first_look=4, met_from=6, most=14, most_s=420),
}


@dataclass(frozen=True)
class EffectAnswer:
    """The question about one effect, and all that was found. ``judged``: False where no prediction exists.

    ``doubts``: what else than the card may explain that it is missed, so that nobody knows.
    """

    run: str
    name: str
    what: str
    wanted: Prediction
    result: Outcome
    pairs: tuple[tuple[float, float], ...]
    runs: tuple[tuple[str, TrafficRun], ...]
    before: tuple[Before, Before]
    hindrances: tuple[str, ...]
    compared: tuple[Compared, ...]
    doubts: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        return f"{self.run}, {self.name}"

    @property
    def judged(self) -> bool:
        return self.wanted.unknown is None

    @property
    def reason(self) -> str:
        """The answer as one sentence, which is no verdict where nothing is judged."""
        said, verdict = self.result.reason, f": {self.result.decision.value}"
        return said if self.judged else said.replace(verdict, ": not judged")


def expectation_of(wanted: Prediction, source: str) -> Expected:
    """The region of the change, in percent of the figure without the setting; all numbers where nobody knows it."""
    if wanted.unknown is not None:
        return Expected(f"any change: {wanted.unknown}", -100.0, math.inf)
    if wanted.ratio is not None and wanted.within_percent is not None:
        low, high = (100 * (wanted.ratio * (1 + sign * wanted.within_percent / 100) - 1) for sign in (-1, 1))
        text = f"{wanted.ratio:g} times as much within {wanted.within_percent:g} % ({source})"
        return Expected(text, low, high)
    if wanted.more_percent is not None:
        return raises_by(wanted.more_percent, source)
    if wanted.less_percent is not None:
        return lowers_by(wanted.less_percent, source)
    loses, gains = wanted.loses_at_most_percent, wanted.gains_at_most_percent
    if gains is not None and loses is not None:
        return Expected(f"at most {loses:g} % less and {gains:g} % more ({source})", -loses, gains)
    if gains is not None:
        return Expected(f"at most {gains:g} % more ({source})", -math.inf, gains)
    assert loses is not None  # a sheet that has none of them is refused
    return not_worse_by(loses, Direction.HIGHER, source)


def can_switch(row: LinuxOffload | FreebsdOffload) -> bool:
    """Does the sheet say that this offload goes on and off?"""
    return row.set_with is not None and row.change is Changeable.BOTH


def switched(name: OffloadName, on: bool, at: At = At.BOTH) -> Setting:
    """The setting of an offload."""
    return Setting(kind=SettingKind.OFFLOAD, name=name.value, to=on, at=at)


def order_of(run: Run, effect: Effect, run_s: int) -> Order:
    """Return the order of the runs of an effect.

    Args:
        run: The current run.
        effect: The effect.
        run_s: Time of a run in s.

    Raises:
        NotApplicable: A server has no such processor to bind them to.
    """
    if effect.cpu is not None:
        for server in run.servers.values():
            if effect.cpu not in server.host.counts.cpu_times().cpus:
                raise NotApplicable(f"{server.name} has no processor {effect.cpu} to bind the traffic to")
    return Order(
        test=TrafficTest(effect.workload.value),
        duration_s=run_s,
        connections=effect.connections,
        message_bytes=effect.message_bytes,
        sender_cpu=effect.cpu,
        receiver_cpu=effect.cpu,
    )


def ask_step(run: Run, path: BenchPath, sequence: Steps, step: Step, budget: EffectBudget, tell: Tell) -> EffectAnswer:
    """Does one step of a sequence change what the sheet predicts, against the baseline? See :func:`ask`."""
    as_effect = Effect(
        name=step.name,
        requirement=sequence.requirement,
        change=step.settings,
        sender=sequence.sender,
        wanted=step.wanted,
        source=sequence.source,
    )
    return ask(run, path, as_effect, budget, tell, {WITHOUT: sequence.baseline, WITH: step.settings})


def ask(
    run: Run,
    path: BenchPath,
    effect: Effect,
    budget: EffectBudget,
    tell: Tell,
    settings: Mapping[str, tuple[Setting, ...]] | None = None,
    source: str | None = None,
) -> EffectAnswer:
    """Ask whether an effect shows over a path.

    Args:
        run: The current run.
        path: The path that carries the traffic.
        effect: The effect.
        budget: How many runs may be made, and for how long.
        tell: Takes the progress.
        settings: Settings of each variant, where they are not what the effect is measured under, and that with its
            change.
        source: Where the prediction is from, when that is not the sheet.

    Returns:
        The answer.

    Raises:
        NotApplicable: The setting, the workload or the figure is not to be had here.
        BenchFault: A run fails or is worthless.
        Undecided: The time was spent before the first look.
    """
    order = order_of(run, effect, budget.run_s)
    measured = MeasuredPath.looked_at(run, path, endpoints.ends(run, path, effect.sender))
    settings = _settings(effect) if settings is None else settings
    variants = Variants(run, Way(path, effect.sender), settings)
    expected = _expected(measured, effect.wanted, source or f"sheet {run.card.name}, {effect.name}")
    watch, asker = standstill.watch(run), _asker(measured, effect, order, budget, tell)
    runs = _Runs(measured, effect, order, variants, watch, asker)
    pairs, result = runs.pairs(expected)
    figures = {each: (settings[each], [pair[at] for pair in pairs]) for at, each in enumerate((WITHOUT, WITH))}
    return EffectAnswer(
        run=measured.ends.name,
        name=effect.name,
        what=", ".join(map(str, effect.change)) or effect.name,
        wanted=effect.wanted,
        result=result,
        pairs=tuple(pairs),
        runs=tuple(runs.made),
        before=measured.before,
        hindrances=measured.hindrances(asker.runs),
        compared=kept_figures.compare(measured, effect, order, figures, asker.plan, asker.runs),
    )


@dataclass
class _Runs:
    """Makes the runs of an effect, and keeps them. ``made``: variant and run, those of our own program left out.

    Runs of one variant in a row have one tool's server; it ends before the settings change, which it may have taken
    over.
    """

    measured: MeasuredPath
    effect: Effect
    order: Order
    variants: Variants
    watch: standstill.StandstillWatch
    asker: ToldAsker
    made: list[tuple[str, TrafficRun]] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)
    _session: tuple[str, Session] | None = None

    def pairs(self, expected: Expected) -> tuple[list[tuple[float, float]], Outcome]:
        """Make runs until the change is decided, and leave the settings as they were."""
        with ended_by(self.variants.close), ended_by(self.close):
            return self.asker.effect(self.one, (WITHOUT, WITH), expected, SEED)

    def one(self, variant: str) -> float:
        """The figure of a run of ``variant``."""
        if self._session is not None and self._session[0] != variant:
            self.close()
        way = self.variants.way(variant)
        # iperf3 has no request/response
        if self.order.test is TrafficTest.TCP_RR and self.measured.run.bench.traffic is TrafficToolName.IPERF3:
            ends = endpoints.ends(self.measured.run, way.path, self.effect.sender)
            value = round_trips.per_second(self.measured.run, ends, self.order.duration_s)
        else:
            found = self.asker.keep(self._session_of(variant, way).measure(self.order))
            self.made.append((variant, found))
            value = value_of(found, self.effect.figure)
        return self.asker.told(value)

    def close(self) -> None:
        """End the tool's server."""
        self._session = None
        stack, self._stack = self._stack, ExitStack()
        stack.close()

    def _session_of(self, variant: str, way: Way) -> Session:
        if self._session is None:
            made = measuring.session(
                self.measured.run,
                way.path,
                self.effect.sender,
                self.measured.rate_mbps,
                way.over,
                self.watch,
                self.order,
            )
            self._session = (variant, self._stack.enter_context(made))
        return self._session[1]


def _expected(measured: MeasuredPath, wanted: Prediction, source: str) -> Expected:
    if wanted.window_bytes is None:
        return expectation_of(wanted, source)
    fact = measured.run.card.limits.tcp_fraction_of_line_rate
    least = None if isinstance(fact, Unknown) else fact
    return receive_window.expected(measured.run, measured.ends, wanted.window_bytes, measured.rate_mbps, least, source)


def _settings(effect: Effect) -> dict[str, tuple[Setting, ...]]:
    return {WITHOUT: effect.under + effect.against, WITH: effect.under + effect.change}


def _asker(measured: MeasuredPath, effect: Effect, order: Order, budget: EffectBudget, tell: Tell) -> ToldAsker:
    tool = tool_of(measured.run.bench.traffic)
    plan = SamplingPlan(
        first_look=budget.first_look,
        met_from=budget.met_from,
        most=budget.most,
        warm_up_runs=1,
        resolution=tool.resolution_bps(order) / 1e6 if effect.figure is Figure.MBPS else 0.0,
    )
    subject, unit = f"{measured.ends.name}, {effect.name}", kept_figures.METRICS[effect.figure][1]
    return ToldAsker(subject, unit, plan, order.duration_s + tool.omitted_s, budget.most_s, tell, runs_each=2)


def value_of(measured: TrafficRun, figure: Figure) -> float:
    """The figure of a run, above 0.

    Raises:
        WorthlessResult: The run does not have it.
    """
    if figure is Figure.MBPS:
        return limit.mbps(measured)
    if figure is Figure.TRANSACTIONS_PER_S:
        found = measured.result.transactions_per_s
    else:
        found = cpu_s_per_gbit(measured.sender if figure is Figure.SENDER_CPU else measured.receiver, measured)
    if not found:
        raise WorthlessResult(f"worthless result: no {figure.value}; expected more than 0", measured.receiver.port)
    return found


def cpu_s_per_gbit(end: EndOfRun, measured: TrafficRun) -> float:
    """Seconds of all processors of ``end`` for each gigabit that arrived meanwhile, both counted by the servers."""
    busy_s = sum(share.busy for share in end.cpu.cpus.values()) * end.seconds
    return busy_s / (measured.receiver.frames.rx_bytes * 8e-9)


@dataclass(frozen=True)
class EffectAnswers(Answer):
    """Effects that are shown in one chart and judged together.

    An variant that is proven worse than its baseline is judged as well.

    Attributes:
        title: Title of the chart.
        answers: The answer of each effect.
    """

    title: str
    answers: tuple[EffectAnswer, ...]

    def lines(self) -> list[str]:
        lines = []
        for each in self.answers:
            lines.append(f"{each.subject}: {each.reason}")
            lines += [f"{each.subject}, {compared}" for compared in each.compared]
            lines += [f"the bench may hold it back: {hindrance}" for hindrance in each.hindrances]
        return lines

    def charts(self) -> list[Chart]:
        return [chart(self.title, self.answers)] if self.answers else []

    def made(self) -> list[TrafficRun]:
        return [run for each in self.answers for _, run in each.runs]

    def questions(self) -> list[Question]:
        judged = [
            Question(each.subject, each.result, each.hindrances, each.doubts) for each in self.answers if each.judged
        ]
        for each in self.answers:
            judged += [
                Question(f"{each.subject}, {one.variant} it, baseline", one.result, each.hindrances, each.doubts)
                for one in each.compared
                if one.worse and one.result is not None
            ]
        return judged

    def why_not_judged(self) -> str:
        return "; ".join(f"{each.subject}: {each.reason}" for each in self.answers)


def chart(title: str, answers: Sequence[EffectAnswer]) -> ChangeChart:
    """A bar for each effect, in percent of the figure without it."""
    rows = []
    for each in answers:
        expected = each.result.expected
        marks = tuple(bound for bound in (expected.low, expected.high) if math.isfinite(bound)) if each.judged else ()
        decision = each.result.decision.value if each.judged else "not judged"
        rows.append(ChangeRow(each.name, each.result.estimate, each.result.low, each.result.high, marks, decision))
    return ChangeChart(title, "; ".join(each.reason for each in answers), "% of the baseline", tuple(rows))
