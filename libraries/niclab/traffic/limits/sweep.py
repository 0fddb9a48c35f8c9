"""The sweep of MTU, message size and test: what the card carries at each point, and the limit where the sheet has one.

The points are those of the Emulex document (EMX-07): MTU 576, 1500 and 9000, TCP_STREAM and TCP_SENDFILE with messages
of 64 bytes to 256 KiB, UDP_STREAM with messages of 64 bytes to 65500 and socket buffers of 128 KiB; 111 in all. There
each point is one run of 60 s; here runs are repeated until the interval of the mean is narrow enough, or the limit is
clearly met or missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from niclab.bench.records import BenchPath, Role
from niclab.core.profile import Profile
from niclab.core.verdict import NotApplicable
from niclab.core.wait import Deadline
from niclab.report import now
from niclab.report.pages.charts import Chart, ChartLine, Limit, LineChart, Point
from niclab.run.run import Run
from niclab.settings import mtu
from niclab.stats.measurements import Key, Measurement, add
from niclab.stats.precise import Estimate, estimate
from niclab.stats.questions import Direction, Expected, Outcome, at_least
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic.limits import bottleneck, limit
from niclab.traffic.limits.accepted_baseline import Against
from niclab.traffic.limits.bottleneck import Before
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.limits.sweep_model import SLACK, Floor, Spot, by_frame_rate, floor
from niclab.traffic.runs import endpoints, experiment, measuring
from niclab.traffic.runs.asker import Asker
from niclab.traffic.runs.experiment import Answer, Ended, Question
from niclab.traffic.runs.measuring import Session
from niclab.traffic.runs.progress import Pace, Tell
from niclab.traffic.runs.traffic_run import TrafficRun
from niclab.traffic.tools.tool import Order, TrafficTest
from niclab.traffic.tools.tool_choice import tool_of

MTUS = (576, 1500, 9000)
TCP_BYTES = tuple(64 << power for power in range(13))
UDP_BYTES = (*(64 << power for power in range(10)), 65500)
UDP_SOCKET_BYTES = 128 << 10
SIZES: Mapping[TrafficTest, tuple[int, ...]] = {
    TrafficTest.TCP_STREAM: TCP_BYTES,
    TrafficTest.TCP_SENDFILE: TCP_BYTES,
    TrafficTest.UDP_STREAM: UDP_BYTES,
}
QUICK_SIZES: Mapping[TrafficTest, tuple[int, ...]] = {
    TrafficTest.TCP_STREAM: (2 << 10, 64 << 10),
    TrafficTest.TCP_SENDFILE: (64 << 10,),
    TrafficTest.UDP_STREAM: (8 << 10,),
}
"""A dozen points: three MTUs each."""
LARGE_BYTES = 32 << 10
"""Assumption: messages of this size and more are the "large blocks" that the document wants close to line rate."""
STANDARD_MTU, JUMBO_MTU = 1500, 9000


@dataclass(frozen=True)
class SweepBudget:
    """The budget of one point. ``most_s`` is that of all: no run begins later than this after the first, in seconds.

    ``run_s``: a run; ``first_look``, ``met_from``, ``most``: runs; ``width``: of the interval that is wanted at a point
    without a limit, as a part of its mean.
    """

    run_s: int
    first_look: int
    met_from: int
    most: int
    width: float
    most_s: float


BUDGETS: Mapping[Profile, SweepBudget] = {
    Profile.QUICK: SweepBudget(run_s=2, first_look=3, met_from=6, most=12, width=0.1, most_s=1800),
    Profile.FULL: SweepBudget(run_s=2, first_look=3, met_from=10, most=16, width=0.05, most_s=5400),
}
"""The width of ``full`` is the 5 % that netperf's ``-I`` is asked for; ``quick`` is for a first impression."""


@dataclass(frozen=True)
class AtSpot:
    """The result at a point. ``result``: the answer where the sheet has a limit; ``baseline``: where one exists.

    ``hindrances``: what of the bench may have held its own runs back; ``without_room``: the ends whose bus cannot carry
    the limit.
    """

    spot: Spot
    estimate: Estimate
    result: Outcome | None
    baseline: Outcome | None
    runs: tuple[TrafficRun, ...]
    hindrances: tuple[str, ...] = ()
    without_room: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sweep(Answer):
    """All points of one test over one path; at least one. ``ended``: what has ended it before the others."""

    subject: str
    test: TrafficTest
    found: tuple[AtSpot, ...]
    before: tuple[Before, Before]
    ended: Ended | None = None

    def lines(self) -> list[str]:
        lines = []
        for each in self.found:
            mean = f"{each.estimate.estimate:.2f} {limit.UNIT}, nothing to compare with"
            lines.append(f"{each.spot}: {each.result.reason if each.result else mean}")
            if each.baseline:
                lines.append(f"{each.spot}: {each.baseline.reason}")
        return lines

    def charts(self) -> list[Chart]:
        return [chart(self)]

    def made(self) -> list[TrafficRun]:
        return [run for each in self.found for run in each.runs]

    def questions(self) -> list[Question]:
        asked = [("", each, each.result, each.without_room) for each in self.found]
        asked += [(", baseline", each, each.baseline, ()) for each in self.found]
        return [
            Question(f"{self.subject}, {each.spot}{what}", result, (*each.hindrances, *without_room))
            for what, each, result, without_room in asked
            if result
        ]

    def why_ended(self) -> Ended | None:
        return self.ended

    def why_not_judged(self) -> str:
        return (
            f"{self.subject}: {len(self.found)} points of {self.test.value} are measured; no limit of the sheet and "
            "no baseline says what they must be"
        )


def spots(test: TrafficTest, profile: Profile) -> list[Spot]:
    """The points of a test, in the order in which they are measured: each after those that it is compared with."""
    sizes = (QUICK_SIZES if profile is Profile.QUICK else SIZES)[test]
    mtus = sorted(MTUS, key=lambda each: (each != STANDARD_MTU, each))
    return [Spot(test, each, size) for each in mtus for size in sorted(sizes, reverse=True)]


def order_of(spot: Spot, run_s: int) -> Order:
    """Return the order of a run of a point.

    Args:
        spot: The point.
        run_s: Time of the run in s.
    """
    buffers = UDP_SOCKET_BYTES if spot.test is TrafficTest.UDP_STREAM else None
    return Order(spot.test, run_s, message_bytes=spot.message_bytes, socket_bytes=buffers)


def limit_of(run: Run, spot: Spot) -> tuple[float, str] | None:
    """The fraction of line rate that the sheet wants at a point, and the field it is from; None where it wants none."""
    if spot.message_bytes < LARGE_BYTES:
        return None
    limits = run.card.limits
    name = {
        (TrafficTest.UDP_STREAM, STANDARD_MTU): "udp_fraction_of_line_rate",
        (TrafficTest.TCP_STREAM, STANDARD_MTU): "tcp_fraction_of_line_rate",
        (TrafficTest.TCP_SENDFILE, STANDARD_MTU): "tcp_fraction_of_line_rate",
        (TrafficTest.TCP_STREAM, JUMBO_MTU): "jumbo_tcp_fraction_of_line_rate",
        (TrafficTest.TCP_SENDFILE, JUMBO_MTU): "jumbo_tcp_fraction_of_line_rate",
    }.get((spot.test, spot.mtu))
    fraction = getattr(limits, name) if name else None
    return (fraction, name) if name and isinstance(fraction, float) else None


def others(run: Run, test: TrafficTest, tell: Tell, ended: list[Ended]) -> list[Sweep]:
    """Measure the points of the quick profile in every direction over every path, but for the dut's over the first.

    Args:
        run: The current run.
        test: The test.
        tell: Takes the progress.
        ended: Takes how those end that have no point.

    Returns:
        The sweep of each path and direction.

    Raises:
        NotApplicable: The sheet does not say which MTUs the card takes, or the tool cannot do the test.
    """
    ways = [(path, sender) for path in run.bench.paths for sender in Role]
    first = (run.bench.paths[0], Role.DUT)
    questions = [partial(measure, run, *way, test, Profile.QUICK, tell) for way in ways if way != first]
    found = [experiment.asked(each, ended) for each in questions]
    return [each for each in found if each is not None]


def measure(run: Run, path: BenchPath, sender: Role, test: TrafficTest, profile: Profile, tell: Tell) -> Sweep:
    """Measure every point of a test over a path.

    Args:
        run: The current run.
        path: The path that carries the traffic.
        sender: The server that sends.
        test: The test.
        profile: Which points, and how many runs of each.
        tell: Takes the progress.

    Returns:
        All points.

    Raises:
        NotApplicable: The sheet does not say which MTUs the card takes, or the tool cannot do the test.
        CardFailure: The card does not take an MTU of the sheet.
        BenchFault: A run fails or is worthless.
        Undecided: The time was spent before the first look at a point.
    """
    wanted = [spot for spot in spots(test, profile) if _is_allowed(run, spot.mtu)]
    if not wanted:
        raise NotApplicable(f"sheet {run.card.name} has none of the MTUs {', '.join(map(str, MTUS))}")
    measured, budget = MeasuredPath.looked_at(run, path, endpoints.ends(run, path, sender)), BUDGETS[profile]
    key = measured.key(order_of(wanted[0], budget.run_s))
    plans = _plans(run, wanted, budget)
    points = _Points(run, measured.rate_mbps, path.rate_scale, budget, key, plans, Deadline(budget.most_s))
    found, ended = list[AtSpot](), list[Ended]()
    pace = Pace(points.run_s)
    with measuring.session(run, path, sender, points.rate_mbps) as session:

        def measure_all(size: int) -> bool:
            with mtu.both_ends(run, path, size):
                session.forget()
                for spot in (each for each in wanted if each.mtu == size):
                    known = {one.spot: one.estimate.estimate for one in found}
                    found.append(_with_the_bench(points.measure(session, spot, known), measured))
                    _tell_progress(tell, measured.ends.name, found, len(wanted), points.most, pace)
            return True

        for size in dict.fromkeys(spot.mtu for spot in wanted):
            if experiment.asked(partial(measure_all, size), ended) is None:
                break
    if not found:
        raise ended[0]
    return Sweep(measured.ends.name, test, tuple(found), measured.before, next(iter(ended), None))


def _with_the_bench(at: AtSpot, measured: MeasuredPath) -> AtSpot:
    """Return a point with what of the bench may be why its limit is missed."""
    limit_bps = at.result.expected.low * 1e6 if at.result else 0.0
    short = bottleneck.without_room(measured.before, limit_bps)
    return replace(at, hindrances=measured.hindrances(at.runs), without_room=tuple(short))


def _tell_progress(tell: Tell, subject: str, found: Sequence[AtSpot], count: int, most: int, pace: Pace) -> None:
    last, made = found[-1], sum(len(each.runs) for each in found)
    left_s = pace.left_s(made, (count - len(found)) * most)
    tell(
        f"{subject}: point {len(found)} of {count}: {last.spot}: {last.estimate.estimate:.1f} {limit.UNIT} "
        f"({last.estimate.n} runs), at most {left_s:.0f} s left"
    )


def _is_allowed(run: Run, size: int) -> bool:
    """Does the sheet say that the card takes this MTU?"""
    run.card.section(run.card.mtu, "mtu")
    try:
        mtu.want_allowed(run, size)
    except NotApplicable:
        return False
    return True


def _plans(run: Run, wanted: Sequence[Spot], budget: SweepBudget) -> dict[Spot, SamplingPlan]:
    tool = tool_of(run.bench.traffic)
    plans = {}
    for spot in wanted:
        order = order_of(spot, budget.run_s)
        is_slow_to_start = not tool.omitted_s and spot.test is not TrafficTest.UDP_STREAM
        plans[spot] = SamplingPlan(
            first_look=budget.first_look,
            met_from=budget.met_from,
            most=budget.most,
            warm_up_runs=int(is_slow_to_start),
            resolution=tool.resolution_bps(order) / 1e6,
        )
    return plans


@dataclass(frozen=True)
class _Points:
    """Measures points whose MTU is set already.

    ``rate_mbps``: of the line, that of the link over ``rate_scale``; ``key``: of their conditions, but for what a point
    is; ``time``: of all of them.
    """

    run: Run
    rate_mbps: float
    rate_scale: float
    budget: SweepBudget
    key: Key
    plans: Mapping[Spot, SamplingPlan]
    time: Deadline

    @property
    def run_s(self) -> float:
        """The length of a run in seconds, with the time that the tool omits."""
        return self.budget.run_s + tool_of(self.run.bench.traffic).omitted_s

    @property
    def most(self) -> int:
        """Runs of a point."""
        return max(plan.most + plan.warm_up_runs for plan in self.plans.values())

    def measure(self, session: Session, spot: Spot, known: Mapping[Spot, float]) -> AtSpot:
        """Measure a point. ``known``: throughput of the points before."""
        plan, order, width = self.plans[spot], order_of(spot, self.budget.run_s), self.budget.width
        own = order.parameters | {name: self.key.parameters[name] for name in ("path", "sender")}
        key = self.key.model_copy(update={"parameters": own | {"mtu": str(spot.mtu)}})
        expected = self._of_sheet(spot)
        if expected is None and (least := self._floor(spot, known)) is not None:
            expected = at_least(least.mbps, least.why)
            plan = replace(plan, met_from=plan.first_look)  # a floor is far below a good card
        measurement = Measurement(
            test=str(spot), metric=_METRICS[spot.test], unit=limit.UNIT, better=Direction.HIGHER, samples=(0.0,),
            taken=now(), key=key,
        )  # fmt: skip
        against = Against.stored(self.run, measurement, plan)

        asker = Asker(str(spot), plan, self.time, "all points")

        def one_run() -> float:
            return limit.mbps(asker.keep(session.measure(order)))

        def enough(values: Sequence[float]) -> bool:
            return against.decided(values) and estimate(values, plan, width).narrow

        result: Outcome | None = None
        if expected is None:
            values = asker.values(one_run, enough)
        else:
            values, result = asker.limit(one_run, expected, limit.UNIT, against.decided)
        add(self.run.run_dir, measurement.model_copy(update={"samples": tuple(values)}))
        baseline = asker.bounded(against.result(values))
        return AtSpot(spot, estimate(values, plan, width), result, baseline, tuple(asker.runs))

    def _floor(self, spot: Spot, known: Mapping[Spot, float]) -> Floor | None:
        """Return the floor of a point, by the frame rate of the sheet or by a point measured before."""
        rate = self.run.card.limits.frames_per_s
        if spot.test is TrafficTest.UDP_STREAM and spot.mtu == STANDARD_MTU and isinstance(rate, (int, float)):
            mbps = by_frame_rate(spot, rate / self.rate_scale, self.rate_mbps)
            return Floor(
                (1 - SLACK) * mbps, f"sheet {self.run.card.name}, frames_per_s {rate:g}, less {100 * SLACK:g} %"
            )
        return floor(spot, known, STANDARD_MTU)

    def _of_sheet(self, spot: Spot) -> Expected | None:
        known = limit_of(self.run, spot)
        if known is None:
            return None
        fraction, name = known
        source = f"sheet {self.run.card.name}, {name} {fraction} of {self.rate_mbps:g} Mbit/s"
        return at_least(fraction * self.rate_mbps, source)


_METRICS = {
    TrafficTest.TCP_STREAM: "tcp_mbps",
    TrafficTest.TCP_SENDFILE: "sendfile_mbps",
    TrafficTest.UDP_STREAM: "udp_mbps",
}


def chart(sweep: Sweep) -> LineChart:
    """Bandwidth against block size, one line an MTU, with the highest limit."""
    lines = []
    for size in sorted({each.spot.mtu for each in sweep.found}):
        mine = sorted((each for each in sweep.found if each.spot.mtu == size), key=lambda each: each.spot.message_bytes)
        points = [
            Point(each.spot.message_bytes, each.estimate.estimate, each.estimate.low, each.estimate.high)
            for each in mine
        ]
        lines.append(ChartLine(f"MTU {size}", tuple(points)))
    judged = [each for each in sweep.found if each.result and each.spot.mtu == STANDARD_MTU]
    limits = [each.result.expected.low for each in judged if each.result and each.spot.message_bytes >= LARGE_BYTES]
    runs = sum(len(each.runs) for each in sweep.found)
    return LineChart(
        title=f"{sweep.test.value} {sweep.subject}",
        note=f"{len(sweep.found)} points, {runs} runs; band: 95 % interval of the mean, over all looks at it",
        x_label="message, bytes",
        y_label=limit.UNIT,
        lines=tuple(lines),
        limit=Limit(limits[0], f"limit at least {limits[0]:g} {limit.UNIT} at MTU {STANDARD_MTU}") if limits else None,
        x_bytes=True,
    )
