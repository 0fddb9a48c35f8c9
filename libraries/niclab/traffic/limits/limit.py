"""TCP against the sheet's fraction of line rate: short runs until the answer is clear, or the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from niclab.bench.records import BenchPath, Port, Role
from niclab.core.decision import Decision
from niclab.core.profile import Profile
from niclab.report import now
from niclab.report.pages.charts import Chart, ChartLine, Limit, LineChart, Point
from niclab.run.run import Run
from niclab.stats.measurements import Measurement, add
from niclab.stats.questions import Direction, Expected, Outcome
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic import WorthlessResult
from niclab.traffic.limits.accepted_baseline import Against
from niclab.traffic.limits.bottleneck import Before
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs import discarded, endpoints, measuring, retransmissions
from niclab.traffic.runs.asker import Enough, ToldAsker
from niclab.traffic.runs.endpoints import Ends
from niclab.traffic.runs.experiment import Answer, Question
from niclab.traffic.runs.progress import Tell
from niclab.traffic.runs.traffic_run import TrafficRun
from niclab.traffic.tools.tool import Order, TrafficTool
from niclab.traffic.tools.tool_choice import tool_of

METRIC, UNIT = "tcp_mbps", "Mbit/s"
ENOUGH_WITHIN = 0.8
"""This part of the runs of a budget carries enough to judge retransmissions; the rest is for discarded runs."""


@dataclass(frozen=True)
class LimitBudget:
    """The most that one question may cost.

    ``run_s``: a run, which lasts longer on a path that carries too little in it; ``most_s``: no run begins later than
    this after the first.
    """

    run_s: int
    first_look: int
    met_from: int
    most: int
    warm_up_runs: int
    most_s: float

    def with_runs_of(self, seconds: float) -> LimitBudget:
        """Return the budget with runs of at least this length, and as much more time for all of them.

        Args:
            seconds: The length of a run; whole seconds are taken.
        """
        run_s = max(self.run_s, math.ceil(seconds))
        return replace(self, run_s=run_s, most_s=self.most_s * run_s / self.run_s)

    def plan(self, resolution: float) -> SamplingPlan:
        """Return the plan of the runs.

        Args:
            resolution: The least difference that a run can show, in the unit of its figure.
        """
        return SamplingPlan(
            first_look=self.first_look,
            met_from=self.met_from,
            most=self.most,
            warm_up_runs=self.warm_up_runs,
            resolution=resolution,
        )


BUDGETS: Mapping[Profile, LimitBudget] = {
    Profile.QUICK: LimitBudget(run_s=2, first_look=3, met_from=8, most=20, warm_up_runs=0, most_s=120),
    Profile.FULL: LimitBudget(run_s=10, first_look=5, met_from=12, most=30, warm_up_runs=1, most_s=900),
}


@dataclass(frozen=True)
class OverInterfaces:
    """The interfaces that have the addresses of a path in place of its ports.

    ``interfaces``: of each server; ``ports``: of each server that through which it sends and receives now. ``words``:
    what it is, by which its figures differ from those of others, such as ``active-backup bond``.
    """

    interfaces: Mapping[Role, str]
    ports: Mapping[Role, Port]
    words: str


@dataclass(frozen=True)
class LimitAnswer(Answer):
    """The question about one path and direction, and all that was found.

    Attributes:
        subject: Who sends to whom.
        result: The answer about the limit.
        values: Throughput of each run in Mbit/s.
        runs: The runs.
        before: What both ends can do.
        hindrances: What of the bench may have held the traffic back.
        against: What there is to compare with.
        resent: The answer about retransmissions.
    """

    subject: str
    result: Outcome
    values: tuple[float, ...]
    runs: tuple[TrafficRun, ...]
    before: tuple[Before, Before]
    hindrances: tuple[str, ...]
    against: Against
    resent: Outcome | None

    @property
    def baseline(self) -> Outcome | None:
        """The answer against the accepted baseline, if there is one."""
        return discarded.bounded(self.against.result(self.values), self.runs)

    def lines(self) -> list[str]:
        compared = self.baseline
        lines = [f"{self.subject}: {self.result.reason}", *(f"the bench can do: {before}" for before in self.before)]
        lines += [f"the bench may hold it back: {hindrance}" for hindrance in self.hindrances]
        lines.append(f"{self.subject}: {compared.reason if compared else self.against.text}")
        return lines if self.resent is None else [*lines, f"{self.subject}: {self.resent.reason}"]

    def charts(self) -> list[Chart]:
        own = chart(self)
        trend = self.against.trend(f"{own.title} against the baseline", self.values)
        return [own] if trend is None else [own, trend]

    def made(self) -> list[TrafficRun]:
        return list(self.runs)

    def questions(self) -> list[Question]:
        asked = [("", self.result), (", baseline", self.baseline), (", retransmissions", self.resent)]
        return [Question(f"{self.subject}{what}", each, self.hindrances) for what, each in asked if each is not None]


def ask(
    run: Run, path: BenchPath, sender: Role, budget: LimitBudget, tell: Tell, over: OverInterfaces | None = None
) -> LimitAnswer:
    """Ask whether TCP reaches the sheet's limit over a path. Adds what was measured to the run folder.

    Args:
        run: The current run.
        path: The path that carries the traffic.
        sender: The server that sends.
        budget: How many runs may be made, and for how long.
        tell: Takes the progress of what lasts long.
        over: What has the addresses of ``path``, where its ports have not; the line is then that of its port.

    Returns:
        The answer.

    Raises:
        NotApplicable: The sheet does not know the limit.
        BenchFault: The bench cannot reach it, a run fails or is worthless, or the tool does not count retransmissions
            that the sheet limits.
        Undecided: The time was spent before the first look.
    """
    fraction = run.card.known(run.card.limits.tcp_fraction_of_line_rate, "limits.tcp_fraction_of_line_rate")
    tool, measured = tool_of(run.bench.traffic), MeasuredPath.looked_at(run, path, _ends(run, path, sender, over))
    expected = measured.expected(fraction)
    segment_bytes = retransmissions.segment_bytes(run, measured.ends)
    enough_s = retransmissions.seconds_needed(run, expected.low, segment_bytes)
    budget = budget.with_runs_of(enough_s / (ENOUGH_WITHIN * budget.most))
    order = Order(duration_s=budget.run_s)
    measurement = _measurement(measured, order, over)
    name, plan = _name(measured, over), _plan(tool, order, budget)
    asker = ToldAsker(name, UNIT, plan, budget.run_s + tool.omitted_s, budget.most_s, tell)
    against = Against.stored(run, measurement, plan)
    with measuring.session(run, path, sender, measured.rate_mbps, over.interfaces if over else None) as session:

        def one_run() -> float:
            return asker.told(mbps(asker.keep(session.measure(order))))

        values, result = asker.limit(one_run, expected, UNIT, _settled(run, asker, plan, against, segment_bytes))
    add(run.run_dir, measurement.model_copy(update={"samples": tuple(values)}))
    return LimitAnswer(
        subject=name,
        result=result,
        values=tuple(values),
        runs=tuple(asker.runs),
        before=measured.before,
        hindrances=measured.hindrances(asker.runs),
        against=against,
        resent=asker.bounded(retransmissions.result(run, asker.counted(values), plan, segment_bytes)),
    )


def _settled(run: Run, asker: ToldAsker, plan: SamplingPlan, against: Against, segment_bytes: int) -> Enough:
    """Tell whether nothing else is open: neither retransmissions nor the comparison with the baseline."""

    def settled(values: Sequence[float]) -> bool:
        resent = retransmissions.result(run, asker.counted(values), plan, segment_bytes)
        is_open = resent is not None and resent.decision is Decision.UNDECIDED
        return not is_open and against.decided(values)

    return settled


def _ends(run: Run, path: BenchPath, sender: Role, over: OverInterfaces | None) -> Ends:
    """Return sender and receiver; the interface over the ports says which of them carry the traffic."""
    ends = endpoints.ends(run, path, sender)
    if over is None:
        return ends
    return replace(ends, from_port=over.ports[ends.from_port.role], to_port=over.ports[ends.to_port.role])


def _plan(tool: TrafficTool, order: Order, budget: LimitBudget) -> SamplingPlan:
    plan = budget.plan(tool.resolution_bps(order) / 1e6)
    if tool.omitted_s:
        return plan
    # a tool that counts from the first byte on pays for slow start in its first run
    return replace(plan, warm_up_runs=max(1, budget.warm_up_runs))


def _name(measured: MeasuredPath, over: OverInterfaces | None) -> str:
    return measured.ends.name if over is None else f"{measured.ends.name} over {over.words}"


def _measurement(measured: MeasuredPath, order: Order, over: OverInterfaces | None) -> Measurement:
    """Return the measurement, with no figure yet worth keeping."""
    key = measured.key(order)
    if over is not None:
        key = key.model_copy(update={"parameters": {**key.parameters, "over": over.words}})
    return Measurement(
        test=f"{_name(measured, over)} reaches the limit of TCP",
        metric=METRIC,
        unit=UNIT,
        better=Direction.HIGHER,
        samples=(0.0,),
        taken=now(),
        key=key,
    )


def mbps(measured: TrafficRun) -> float:
    """The throughput of a run.

    Raises:
        WorthlessResult: Its test has none.
    """
    bps = measured.result.throughput_bps
    if bps is None:
        raise WorthlessResult("worthless result: no throughput", measured.receiver.port)
    return bps / 1e6


def chart(answer: LimitAnswer) -> LineChart:
    """The runs in their order, and the mean with its interval at every look."""
    expected: Expected = answer.result.expected
    points = tuple(Point(number, value, value, value) for number, value in enumerate(answer.values, start=1))
    looks = tuple(Point(look.n, look.estimate, look.low, look.high) for look in answer.result.looks)
    return LineChart(
        title=f"TCP {answer.subject}",
        note=answer.result.reason,
        x_label="run",
        y_label=UNIT,
        lines=(ChartLine("each run", points), ChartLine("mean, interval", looks)),
        limit=Limit(expected.low, f"limit at least {expected.low:g} {UNIT}"),
    )
