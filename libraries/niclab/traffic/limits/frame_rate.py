"""The frames a second that a card can receive, whatever their size, and what jumbo frames gain by it (NFS-01).

A datagram is a frame here. The peak is searched: first as fast as the sender goes; where much of that is lost on the
way, once more at the rate that arrived, because a card that is flooded may deliver less than it can. A peer that sends
too little hides what the card can receive: what its port sent in these runs is compared with what arrived at the dut's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from niclab.bench.records import BenchPath, Role
from niclab.card import At, Effect, Prediction, Setting, SettingKind
from niclab.core.decision import Decision
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.core.wait import Deadline
from niclab.report.pages.charts import Chart, ChartLine, Limit, LineChart, Point
from niclab.run.run import Run
from niclab.stats.precise import Estimate, estimate
from niclab.stats.questions import Outcome, at_least
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic import WorthlessResult
from niclab.traffic.limits.bottleneck import Before
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs import endpoints, experiment, measuring
from niclab.traffic.runs.asker import Asker
from niclab.traffic.runs.experiment import Answer, Ended, Question
from niclab.traffic.runs.measuring import Session
from niclab.traffic.runs.progress import Tell
from niclab.traffic.runs.traffic_run import STRAY_FRAMES, TrafficRun
from niclab.traffic.tools.tool import Order, TrafficTest
from niclab.traffic.tools.tool_choice import tool_of

UDP_HEADERS, TCP_HEADERS = 28, 52
"""IPv4 20 and UDP 8; IPv4 20, TCP 20 and time stamps 12 (RFC 7323)."""
ETHERNET, ON_THE_WIRE = 14, 24
"""Bytes of a frame: its header; and in addition checksum 4, preamble 8, gap 12 (IEEE 802.3-2018, 4A.4.2)."""
MESSAGES = (64, 470, 982, 1472)
"""Datagrams in frames of 106 to 1514 bytes."""
RUN_S, FIRST_LOOK, MET_FROM, MOST = 2, 3, 6, 16
MOST_S = 900.0
"""No run of any size begins later than this after the first."""
FLOODED = 0.01
_UNIT = "frames/s"
SAME_WITHIN = 0.1
"""Assumption: frame rates of all sizes within a tenth of each other are the same."""
NARROW = SAME_WITHIN / 2
"""The interval wanted of each, as a part of its mean: two of them tell a tenth."""
STANDARD_MTU, JUMBO_MTU = 1500, 9000
GAIN_LESS_PERCENT = 10.0
"""Assumption: the gain is predicted from figures that are each known to a few percent. More is no defect."""


class Bound(Enum):
    """The limit that holds frames back. ``BUS``: PCI Express, conventional PCI, or what the bench file says."""

    FRAMES = "frames/s"
    LINE = "line"
    BUS = "bus"


@dataclass(frozen=True)
class AtSize:
    """Frames a second at one size. ``binds``: what held them back.

    ``sent_per_s``: the most that the peer's port sent in a run, where the dut's got all of it in each; else None.
    ``hindrances``: what of the bench may have held its own runs back.
    """

    frame_bytes: int
    rate: Estimate
    result: Outcome
    binds: Bound
    runs: tuple[TrafficRun, ...]
    sent_per_s: float | None
    hindrances: tuple[str, ...]

    def doubts(self, least: float) -> tuple[str, ...]:
        """Return why a lower rate may be the peer's: it sent less, and all of it arrived.

        Args:
            least: The rate that the card must receive, in frames/s.
        """
        if self.sent_per_s is None or self.sent_per_s >= least:
            return ()
        sender, receiver = self.runs[0].sender.port, self.runs[0].receiver.port
        said = f"{sender} sent at most {self.sent_per_s:.0f} frames/s of {self.frame_bytes} bytes"
        return (f"{said}, and all arrived at {receiver}: nobody knows which of them cannot do more",)


@dataclass(frozen=True)
class Peak(Answer):
    """The frame rates over one path, of one size at least. ``rate_mbps``: of the line.

    ``ended``: what has ended it before the other sizes.
    """

    subject: str
    found: tuple[AtSize, ...]
    rate_mbps: float
    bus_mbps: float | None
    ended: Ended | None = None

    @property
    def frames_per_s(self) -> float:
        """The rate at the largest size: that of standard frames, which jumbo frames are compared with."""
        return self.found[-1].rate.estimate

    @property
    def independent(self) -> bool:
        """Is it the same at every size at which neither line nor bus comes first?"""
        rates = [each.rate.estimate for each in self.found if each.binds is Bound.FRAMES]
        return len(rates) >= 2 and min(rates) >= (1 - SAME_WITHIN) * max(rates)

    def carried_mbps(self, mtu: int) -> tuple[float, Bound]:
        """TCP payload at an MTU by the lowest of the limits, and which that is."""
        payload, wire = mtu - TCP_HEADERS, mtu + ETHERNET + ON_THE_WIRE
        by = {
            Bound.FRAMES: self.frames_per_s * payload * 8e-6,
            Bound.LINE: self.rate_mbps * payload / wire,
        }
        if self.bus_mbps is not None:
            by[Bound.BUS] = self.bus_mbps * payload / (mtu + ETHERNET)
        binds = min(by, key=lambda name: by[name])
        return by[binds], binds

    def lines(self) -> list[str]:
        lines = [
            f"frames of {each.frame_bytes} bytes: held back by {each.binds.value}; {each.result.reason}"
            for each in self.found
        ]
        return [*lines, f"{self.subject}: {'the same' if self.independent else 'not the same'} at every size of frame"]

    def charts(self) -> list[Chart]:
        return [chart(self)]

    def made(self) -> list[TrafficRun]:
        return [run for each in self.found for run in each.runs]

    def questions(self) -> list[Question]:
        """Return the limit at every size; where the line or the bus comes first, a missed limit is not judged."""
        return [
            Question(
                f"{self.subject}, frames of {each.frame_bytes} bytes",
                each.result,
                each.hindrances,
                each.doubts(each.result.expected.low),
            )
            for each in self.found
            if each.binds is Bound.FRAMES or each.result.decision is Decision.MET
        ]

    def why_ended(self) -> Ended | None:
        return self.ended

    def why_not_judged(self) -> str:
        return f"{self.subject}: the line or the bus is full at every size of frame"


def measure(run: Run, path: BenchPath, tell: Tell) -> Peak:
    """Receive frames of each size at the dut over a path, as many as it can.

    Args:
        run: The current run.
        path: The path that carries the frames.
        tell: Takes the progress.

    Returns:
        The frame rates.

    Raises:
        NotApplicable: The sheet knows no frame rate.
        BenchFault: A run fails or is worthless.
        Undecided: The time was spent before the first look at a size.
    """
    known = run.card.limits.frames_per_s
    if known is None:
        raise NotApplicable(f"sheet {run.card.name} has no limits.frames_per_s")
    least = run.card.known(known, "limits.frames_per_s") / path.rate_scale
    measured = MeasuredPath.looked_at(run, path, endpoints.ends(run, path, Role.PEER))
    subject, rate_mbps, bus_mbps = measured.ends.name, measured.rate_mbps, _bus_mbps(measured.before)
    expected = at_least(least, f"sheet {run.card.name}, frames_per_s, over {path.rate_scale:g}")
    found, ended = list[AtSize](), list[Ended]()
    time = Deadline(MOST_S)
    plan = SamplingPlan(first_look=FIRST_LOOK, met_from=MET_FROM, most=MOST, warm_up_runs=0, resolution=1 / RUN_S)

    def is_narrow(values: Sequence[float]) -> bool:
        return estimate(values, plan, NARROW).narrow

    with measuring.session(run, path, Role.PEER, rate_mbps) as session:
        for message in MESSAGES:
            frame = message + UDP_HEADERS + ETHERNET
            asker = Asker(f"{subject}, frames of {frame} bytes", plan, time, "all sizes")
            # the rates of all sizes are compared: it is not enough to know that each meets the limit
            search = _Search(run, session, asker, message)
            asked = experiment.asked(partial(asker.limit, search.one_run, expected, _UNIT, is_narrow), ended)
            if asked is None:
                break
            values, result = asked
            rate = estimate(values, plan, NARROW)
            binds = _binding(rate.estimate, frame, rate_mbps, bus_mbps)
            runs, sent = tuple(asker.runs), sent_per_s(search.made)
            found.append(AtSize(frame, rate, result, binds, runs, sent, measured.hindrances(runs)))
            tell(f"{subject}: frames of {frame} bytes: {rate.estimate:.0f} a second, held back by {binds.value}")
    if not found:
        raise ended[0]
    return Peak(subject, tuple(found), rate_mbps, bus_mbps, next(iter(ended), None))


@dataclass
class _Search:
    """Runs of one size: the offered rate is found with the first, and kept. ``made``: also those that do not count."""

    run: Run
    session: Session
    asker: Asker
    message: int
    made: list[TrafficRun] = field(default_factory=list)
    _rate_bps: int | None = None

    def one_run(self) -> float:
        found = self._measure(self._rate_bps)
        is_paced_by_tool = tool_of(self.run.bench.traffic).name.value == "iperf3"
        if self.asker.runs or (found.result.loss or 0) <= FLOODED or not is_paced_by_tool:
            return self._frames_per_s(self.asker.keep(found))
        self._rate_bps = round(found.result.throughput_bps or 0)
        paced = self._measure(self._rate_bps)
        if self._frames_per_s(found) >= self._frames_per_s(paced):
            self._rate_bps, paced = None, found
        return self._frames_per_s(self.asker.keep(paced))

    def _measure(self, rate_bps: int | None) -> TrafficRun:
        order = Order(TrafficTest.UDP_STREAM, RUN_S, message_bytes=self.message, rate_bps=rate_bps)
        self.made.append(self.session.measure(order))
        return self.made[-1]

    def _frames_per_s(self, measured: TrafficRun) -> float:
        if not measured.result.throughput_bps:
            raise WorthlessResult("worthless result: no datagram was received", measured.receiver.port)
        return measured.result.throughput_bps / 8 / self.message


def sent_per_s(runs: Sequence[TrafficRun]) -> float | None:
    """Return the most frames a second that the port of the sender sent in a run; None where not all of them arrived.

    Args:
        runs: The runs.
    """
    for each in runs:
        sent, arrived = each.sender.frames.tx_packets, each.receiver.frames.rx_packets
        if sent - arrived > STRAY_FRAMES + FLOODED * sent:
            return None
    return max(each.sender.frames.tx_packets / each.order.duration_s for each in runs)


def _bus_mbps(before: tuple[Before, Before]) -> float | None:
    known = [each.ceiling.bps / 1e6 for each in before if each.ceiling is not None]
    return min(known) if known else None


def _binding(frames_per_s: float, frame: int, rate_mbps: float, bus_mbps: float | None) -> Bound:
    """The line or the bus when the frames take up nine tenths of it, else the rate of frames itself."""
    if frames_per_s * (frame + ON_THE_WIRE) * 8e-6 >= (1 - SAME_WITHIN) * rate_mbps:
        return Bound.LINE
    if bus_mbps is not None and frames_per_s * frame * 8e-6 >= (1 - SAME_WITHIN) * bus_mbps:
        return Bound.BUS
    return Bound.FRAMES


def same_within(run: Run) -> float:
    """Return how many percent the frame rates may differ.

    Args:
        run: The current run.

    Raises:
        NotApplicable: The sheet does not say so.
    """
    known = run.card.limits.frame_rate_same_within_percent
    if known is None:
        raise NotApplicable(f"sheet {run.card.name} has no limits.frame_rate_same_within_percent")
    return run.card.known(known, "limits.frame_rate_same_within_percent")


def judge_independence(run: Run, peak: Peak) -> None:
    """Require the same frame rate at every size at which neither line nor bus comes first, as the sheet says.

    Args:
        run: The current run.
        peak: The frame rates.

    Raises:
        NotApplicable: The sheet does not say so, or there are less than two such sizes.
        CardFailure: It is proven to differ by more.
        BenchFault: It is, and the bench may be why.
        Undecided: The intervals cannot tell, or the peer may be why.
    """
    percent = same_within(run)
    free = [each for each in peak.found if each.binds is Bound.FRAMES]
    if len(free) < 2:
        _require_whole(peak)
        raise NotApplicable(f"{peak.subject}: the line or the bus comes first at all sizes but {len(free)}")
    least, most = (pick(free, key=lambda each: each.rate.estimate) for pick in (min, max))
    part = 1 - percent / 100
    said = (
        f"{peak.subject}: {least.rate.estimate:.0f} frames/s of {least.frame_bytes} bytes ({least.rate.low:.0f} to "
        f"{least.rate.high:.0f}), {most.rate.estimate:.0f} of {most.frame_bytes} bytes ({most.rate.low:.0f} to "
        f"{most.rate.high:.0f}); expected the same within {percent:g} % (sheet {run.card.name})"
    )
    if least.rate.high < part * most.rate.low:
        if least.hindrances:
            raise BenchFault(f"{said}; the bench may be why: {'; '.join(least.hindrances)}")
        if doubts := least.doubts(part * most.rate.low):
            raise Undecided("; ".join([said, *doubts]))
        raise CardFailure(said)
    _require_whole(peak)
    if least.rate.low < part * most.rate.high:
        raise Undecided(said)


def _require_whole(peak: Peak) -> None:
    if peak.ended is not None:
        raise peak.ended


def jumbo_gain(run: Run, peak: Peak) -> Effect:
    """Return what jumbo frames must gain by the frame rate that was found, unless another limit comes first."""
    _require_whole(peak)
    (standard, _), (jumbo, binds) = peak.carried_mbps(STANDARD_MTU), peak.carried_mbps(JUMBO_MTU)
    return Effect(
        name="jumbo-gain",
        requirement="NFS-01",
        change=(Setting(kind=SettingKind.MTU, to=JUMBO_MTU, at=At.BOTH),),
        sender=Role.PEER,
        wanted=_at_least_times(jumbo / standard * (1 - GAIN_LESS_PERCENT / 100)),
        source=(
            f"sheet {run.card.name}: predicted from {peak.frames_per_s:.0f} frames a second, then held back by "
            f"{binds.value}"
        ),
    )


def doubts_of_gain(peak: Peak, standard_mbps: float) -> tuple[str, ...]:
    """Return why a gain was not predicted from what the card can receive.

    The peer may have sent no more, or another part of the bench may have received no more: TCP shows it.

    Args:
        peak: The frame rates from which it was predicted.
        standard_mbps: What TCP carried at the standard MTU. More than the frame rate allows disproves it: the system
            that sends TCP hands many frames over at once.
    """
    standard, least = peak.found[-1], peak.found[-1].result.expected.low
    carried = standard_mbps / ((STANDARD_MTU - TCP_HEADERS) * 8e-6)
    proven = carried / (1 + GAIN_LESS_PERCENT / 100)
    doubts = standard.doubts(max(least, proven))
    if doubts or proven <= peak.frames_per_s:
        return doubts
    said = f"TCP carried {carried:.0f} frames/s at MTU {STANDARD_MTU}: the card receives more than the"
    return (f"{said} {peak.frames_per_s:.0f} from which the gain is predicted",)


def _at_least_times(ratio: float) -> Prediction:
    if ratio > 1:
        return Prediction(more_percent=100 * (ratio - 1))
    return Prediction(loses_at_most_percent=max(100 * (1 - ratio), 0.1))


def chart(peak: Peak) -> LineChart:
    """Frames a second against their size."""
    points = tuple(Point(e.frame_bytes, e.rate.estimate, e.rate.low, e.rate.high) for e in peak.found)
    low = peak.found[0].result.expected.low
    same = "the same at every size" if peak.independent else "not the same at every size"
    bound = ", ".join(f"{each.frame_bytes} bytes: {each.binds.value}" for each in peak.found)
    return LineChart(
        f"Frame rate {peak.subject}",
        f"{same}; held back by: {bound}",
        "frame, bytes",
        "frames/s",
        (ChartLine("received", points),),
        Limit(low, f"limit at least {low:g} frames/s"),
    )
