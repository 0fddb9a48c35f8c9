"""TCP against the sheet's fraction of line rate: short runs until the answer is clear, or the budget is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from niclab.bench.records import BenchPath, Port, Role
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.core.wait import Deadline
from niclab.report import now
from niclab.report.charts import Limit, Line, LineChart, Point
from niclab.run.run import Run
from niclab.stats.conclude import conclude
from niclab.stats.judge import judge_values
from niclab.stats.measurements import Key, Measurement, add
from niclab.stats.plan import Plan
from niclab.stats.precise import repeat_until
from niclab.stats.questions import Decision, Direction, Result, Wish, at_least
from niclab.traffic import WorthlessResult, bottleneck, discarded, measuring, resent, serving
from niclab.traffic.against import Against
from niclab.traffic.bottleneck import Before
from niclab.traffic.conditions import key_of
from niclab.traffic.measuring import TrafficRun
from niclab.traffic.progress import Pace, Progress, Tell
from niclab.traffic.serving import Ends
from niclab.traffic.tool import Order
from niclab.traffic.tools import tool_of

METRIC, UNIT = "tcp_mbps", "Mbit/s"


@dataclass(frozen=True)
class Budget:
    """How much one question may cost. ``run_s``: a run; ``most_s``: no run begins later than this after the first."""

    run_s: int
    first_look: int
    most: int
    warm_up_runs: int
    most_s: float


BUDGETS: Mapping[Profile, Budget] = {
    Profile.QUICK: Budget(run_s=2, first_look=3, most=8, warm_up_runs=0, most_s=60),
    Profile.FULL: Budget(run_s=10, first_look=5, most=12, warm_up_runs=1, most_s=600),
}


@dataclass(frozen=True)
class Over:
    """What has the addresses of a path in place of its ports.

    ``interfaces``: of each server; ``ports``: of each server that through which it sends and receives now. ``words``:
    what it is, by which its figures are told from those of others, such as ``active-backup bond``.
    """

    interfaces: Mapping[Role, str]
    ports: Mapping[Role, Port]
    words: str


@dataclass(frozen=True)
class Answer:
    """What was asked of one path and direction, and all that was found. ``hindrances``: what of the bench may have held
    the traffic back. ``against``: what there is to compare with. ``resent``: the answer about retransmissions."""

    subject: str
    result: Result
    values: tuple[float, ...]
    runs: tuple[TrafficRun, ...]
    before: tuple[Before, Before]
    hindrances: tuple[str, ...]
    against: Against
    resent: Result | None

    @property
    def baseline(self) -> Result | None:
        """The answer against the accepted baseline, if there is one."""
        return discarded.bounded(self.against.result(self.values), self.runs)


def ask(run: Run, path: BenchPath, sender: Role, budget: Budget, tell: Tell, over: Over | None = None) -> Answer:
    """Does TCP from ``sender`` reach the sheet's limit over ``path``? Adds what was measured to the run folder.

    :param tell: is told the progress of what lasts long.
    :param over: what has the addresses of ``path``, where its ports have not; the line is then that of its port.
    :raises NotApplicable: when the sheet does not know the limit.
    :raises BenchFault: when the bench cannot reach it, or a run fails or is worthless.
    :raises Undecided: when the time was spent before the first look.
    """
    fraction = run.card.known(run.card.limits.tcp_fraction_of_line_rate, "limits.tcp_fraction_of_line_rate")
    ends, tool = _ends(run, path, sender, over), tool_of(run.bench.traffic)
    rate_mbps = line_mbps(ends, path)
    source = f"sheet {run.card.name} wants at least {fraction} of line rate, {rate_mbps:g} Mbit/s"
    wish = at_least(fraction * rate_mbps, source)
    order = Order(duration_s=budget.run_s)
    before = bottleneck.look_before(run, ends)
    bottleneck.want_room(before, wish.low * 1e6, source)
    links = {port.role: each.link for port, each in zip((ends.from_port, ends.to_port), before, strict=True)}
    key = key_of(run, ends, path.name, order, links)
    if over is not None:
        key = key.model_copy(update={"parameters": {**key.parameters, "over": over.words}})
    plan = Plan(
        first_look=budget.first_look,
        most=budget.most,
        # a tool that counts from the first byte on pays for slow start in its first run
        warm_up_runs=budget.warm_up_runs if tool.omitted_s else max(1, budget.warm_up_runs),
        resolution=tool.resolution_bps(order) / 1e6,
    )
    made: list[TrafficRun] = []
    pace = Pace(budget.run_s + tool.omitted_s)
    progress = Progress(ends.name, UNIT, plan.most, plan.warm_up_runs, pace, budget.most_s, tell)

    def one_run() -> float:
        found = session.measure(order)
        made.append(found)
        found_mbps = mbps(found)
        progress.made(len(made), found_mbps)
        return found_mbps

    def enough(sample: Sequence[float]) -> bool:
        is_clear = judge_values(sample, wish, UNIT, plan).decision is not Decision.UNDECIDED
        return is_clear and against.decided(sample)

    started = Deadline(budget.most_s)
    name = ends.name if over is None else f"{ends.name} over {over.words}"
    measurement = _measurement(name, key)
    against = Against.stored(run, measurement, plan)
    try:
        with measuring.session(run, path, sender, rate_mbps, over.interfaces if over else None) as session:
            values = repeat_until(one_run, enough, plan, lambda: not started.expired)
    except Undecided as error:
        raise Undecided(f"{name}: {error}") from error
    add(run.run_dir, measurement.model_copy(update={"samples": tuple(values)}))
    result = discarded.bounded(judge_values(values, wish, UNIT, plan), made)
    found = bottleneck.hindrances(before, made, rate_mbps * 1e6)
    again = discarded.bounded(resent.result(run, made[-len(values) :], plan), made)
    return Answer(name, result, tuple(values), tuple(made), before, tuple(found), against, again)


def _ends(run: Run, path: BenchPath, sender: Role, over: Over | None) -> Ends:
    """Who sends to whom; through which ports, is for what lies over them to say."""
    ends = serving.ends(run, path, sender)
    if over is None:
        return ends
    return replace(ends, from_port=over.ports[ends.from_port.role], to_port=over.ports[ends.to_port.role])


def _measurement(name: str, key: Key) -> Measurement:
    """What is measured, with no figure yet worth keeping."""
    return Measurement(
        test=f"{name} reaches the limit of TCP",
        metric=METRIC,
        unit=UNIT,
        better=Direction.HIGHER,
        samples=(0.0,),
        taken=now(),
        key=key,
    )


def line_mbps(ends: Ends, path: BenchPath) -> float:
    """What the link negotiated, as the sender's port says, over the scale of the path."""
    speed_mbps = ends.sender.host.link_settings(ends.sender.interface(ends.from_port)).speed_mbps
    if not speed_mbps:
        raise BenchFault(f"{ends.from_port.name}: link speed is unknown, so there is no line rate to compare with")
    return speed_mbps / path.rate_scale


def mbps(measured: TrafficRun) -> float:
    """The throughput of a run.

    :raises WorthlessResult: when its test has none.
    """
    bps = measured.result.throughput_bps
    if bps is None:
        raise WorthlessResult("worthless result: no throughput", measured.receiver.port)
    return bps / 1e6


def judge(answers: Sequence[Answer]) -> None:
    """End the check: returns only when every limit is met, and no figure is worse than its baseline allows.

    :raises CardFailure: when a limit is missed and nothing of the bench explains it.
    :raises BenchFault: when a limit is missed and the bench may be why.
    :raises Undecided: when the runs cannot tell.
    """
    asked = [(each.subject, each.result, each.hindrances) for each in answers]
    for each in answers:
        if (compared := each.baseline) is not None:
            asked.append((f"{each.subject}, baseline", compared, each.hindrances))
        if each.resent is not None:
            asked.append((f"{each.subject}, retransmissions", each.resent, each.hindrances))
    judge_results(asked)


def judge_results(asked: Sequence[tuple[str, Result, Sequence[str]]]) -> None:
    """See :func:`judge`; of each question its subject, the answer, and what of the bench may be why it is missed."""
    hindered = [each for each in asked if each[1].decision is Decision.MISSED and each[2]]
    others = {subject: result for subject, result, why in asked if (subject, result, why) not in hindered}
    faults = [
        f"{subject}: {result.reason}; the bench may be why: {'; '.join(why)}" for subject, result, why in hindered
    ]
    if others:
        try:
            conclude(others)
        except CardFailure as error:
            raise CardFailure("\n".join([str(error), *faults])) from error
        except Undecided as error:
            if not faults:
                raise
            raise BenchFault("\n".join([*faults, str(error)])) from error
    if faults:
        raise BenchFault("\n".join(faults))


def chart(answer: Answer) -> LineChart:
    """The runs in their order, and the mean with its interval at every look."""
    wish: Wish = answer.result.wish
    points = tuple(Point(number, value, value, value) for number, value in enumerate(answer.values, start=1))
    looks = tuple(Point(look.n, look.estimate, look.low, look.high) for look in answer.result.looks)
    return LineChart(
        title=f"TCP {answer.subject}",
        note=answer.result.reason,
        x_label="run",
        y_label=UNIT,
        lines=(Line("each run", points), Line("mean, interval", looks)),
        limit=Limit(wish.low, f"limit at least {wish.low:g} {UNIT}"),
    )
