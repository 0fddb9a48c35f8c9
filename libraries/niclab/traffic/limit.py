"""TCP against the sheet's fraction of line rate: short runs until the answer is clear, or the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from niclab.bench import BenchPath, Role
from niclab.lab import Lab
from niclab.profile import Profile
from niclab.report import now
from niclab.report.charts import Limit, Line, LineChart, Point
from niclab.stats.conclude import conclude
from niclab.stats.measurements import Key, Measurement, add
from niclab.stats.plan import Plan
from niclab.stats.questions import Decision, Direction, Result, Wish, at_least
from niclab.stats.runner import measure_limit
from niclab.traffic import WorthlessResult, bottleneck, measuring, serving
from niclab.traffic.bottleneck import Before
from niclab.traffic.conditions import key_of
from niclab.traffic.measuring import Run
from niclab.traffic.serving import Ends
from niclab.traffic.tool import Order
from niclab.traffic.tools import tool_of
from niclab.verdict import BenchFault, CardFailure, Undecided
from niclab.wait import Deadline

METRIC, UNIT = "tcp_mbps", "Mbit/s"
LONG_S = 60.0
"""Who waits longer than this is told how far it is."""
_LINE_SLACK = 1.02
"""House rule: payload above the rate of the line by more than rounding and clocks is no measurement."""

Tell = Callable[[str], object]


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
class Answer:
    """What was asked of one path and direction, and all that was found. ``hindrances``: what of the bench may have held
    the traffic back."""

    subject: str
    result: Result
    values: tuple[float, ...]
    runs: tuple[Run, ...]
    before: tuple[Before, Before]
    hindrances: tuple[str, ...]


def ask(lab: Lab, path: BenchPath, sender: Role, budget: Budget, tell: Tell) -> Answer:
    """Does TCP from ``sender`` reach the sheet's limit over ``path``? Adds what was measured to the run folder.

    :param tell: is told the progress of what lasts long.
    :raises NotApplicable: when the sheet does not know the limit.
    :raises BenchFault: when the bench cannot reach it, or a run fails or is worthless.
    :raises Undecided: when the time was spent before the first look.
    """
    fraction = lab.card.known(lab.card.limits.tcp_fraction_of_line_rate, "limits.tcp_fraction_of_line_rate")
    run, tool = serving.ends(lab, path, sender), tool_of(lab.bench.traffic)
    line_mbps = _line_mbps(run, path)
    source = f"sheet {lab.card.name} wants at least {fraction} of line rate, {line_mbps:g} Mbit/s"
    wish = at_least(fraction * line_mbps, source)
    order = Order(duration_s=budget.run_s)
    before = bottleneck.look_before(lab, run)
    bottleneck.want_room(before, wish.low * 1e6, source)
    links = {port.role: each.link for port, each in zip((run.from_port, run.to_port), before, strict=True)}
    key = key_of(lab, run, path.name, order, links)
    plan = Plan(
        first_look=budget.first_look,
        most=budget.most,
        # a tool that counts from the first byte on pays for slow start in its first run
        warm_up_runs=budget.warm_up_runs if tool.omitted_s else max(1, budget.warm_up_runs),
        resolution=tool.resolution_bps(order) / 1e6,
    )
    made: list[Run] = []
    progress = _Progress(run.name, plan, budget.run_s + tool.omitted_s, budget.most_s, tell)

    def one_run() -> float:
        found = measuring.measure(lab, path, sender, order)
        made.append(found)
        mbps = _mbps(found, line_mbps)
        progress.made(len(made), mbps)
        return mbps

    started = Deadline(budget.most_s)
    try:
        values, result = measure_limit(one_run, wish, UNIT, plan, lambda: not started.expired)
    except Undecided as error:
        raise Undecided(f"{run.name}: {error}") from error
    _keep(lab, run, values, key)
    found = bottleneck.hindrances(before, made, line_mbps * 1e6)
    return Answer(run.name, result, tuple(values), tuple(made), before, tuple(found))


def _keep(lab: Lab, run: Ends, values: Sequence[float], key: Key) -> None:
    """Add the figures to the run folder."""
    measurement = Measurement(
        test=f"{run.name} reaches the limit of TCP",
        metric=METRIC,
        unit=UNIT,
        better=Direction.HIGHER,
        samples=tuple(values),
        taken=now(),
        key=key,
    )
    add(lab.run_dir, measurement)


def _line_mbps(run: Ends, path: BenchPath) -> float:
    """What the link negotiated, as the sender's port says, over the scale of the path."""
    speed_mbps = run.sender.host.link_settings(run.sender.interface(run.from_port)).speed_mbps
    if not speed_mbps:
        raise BenchFault(f"{run.from_port.name}: link speed is unknown, so there is no line rate to compare with")
    return speed_mbps / path.rate_scale


def _mbps(run: Run, line_mbps: float) -> float:
    """The throughput of a run.

    :raises WorthlessResult: above line rate.
    """
    bps = run.result.throughput_bps
    if bps is None or bps > line_mbps * 1e6 * _LINE_SLACK:
        found = "no throughput" if bps is None else f"{bps / 1e6:.1f} Mbit/s"
        raise WorthlessResult(
            f"worthless result: {found}, wanted at most the {line_mbps:g} Mbit/s of the line", run.receiver.port
        )
    return bps / 1e6


@dataclass(frozen=True)
class _Progress:
    """Tells how far a question is, when it may last long."""

    subject: str
    plan: Plan
    run_s: float
    most_s: float
    tell: Tell

    def made(self, number: int, mbps: float) -> None:
        most = self.plan.most + self.plan.warm_up_runs
        if most * self.run_s < LONG_S:
            return
        left_s = min((most - number) * self.run_s, self.most_s)
        warm_up = " (warm-up)" if number <= self.plan.warm_up_runs else ""
        self.tell(
            f"{self.subject}: run {number} of at most {most}{warm_up}: {mbps:.1f} {UNIT}, at most {left_s:.0f} s left"
        )


def judge(answers: Sequence[Answer]) -> None:
    """End the check: returns only when every limit is met.

    :raises CardFailure: when a limit is missed and nothing of the bench explains it.
    :raises BenchFault: when a limit is missed and the bench may be why.
    :raises Undecided: when the runs cannot tell.
    """
    hindered = [each for each in answers if each.result.decision is Decision.MISSED and each.hindrances]
    others = {each.subject: each.result for each in answers if each not in hindered}
    faults = [
        f"{each.subject}: {each.result.reason}; the bench may be why: {'; '.join(each.hindrances)}" for each in hindered
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
