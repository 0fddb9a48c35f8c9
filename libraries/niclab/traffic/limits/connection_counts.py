"""Throughput and receiver's CPU against the number of connections, in each mode that the card can work in.

After the Chelsio paper (CHE-01, CHE-02): messages of 32 KiB, line rate with one connection as with many, in the modes
NIC, TOE (the card does TCP) and TOE with direct data placement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from niclab.bench.records import BenchPath, Role
from niclab.core.profile import Profile
from niclab.core.wait import Deadline
from niclab.report.pages.charts import Chart, ChartLine, Limit, LineChart, Point
from niclab.run.run import Run
from niclab.settings.tcp_offload import Mode, TcpEngine
from niclab.stats.judge import judge_values
from niclab.stats.precise import Estimate, estimate
from niclab.stats.questions import Expected, Outcome, at_most
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic.limits import limit
from niclab.traffic.limits.card_tcp import prove, receiving
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs import endpoints, experiment, measuring
from niclab.traffic.runs.asker import Asker
from niclab.traffic.runs.experiment import Answer, Ended, Question
from niclab.traffic.runs.measuring import Session
from niclab.traffic.runs.progress import Tell
from niclab.traffic.runs.traffic_run import TrafficRun
from niclab.traffic.tools.tool import Order
from niclab.traffic.tools.tool_choice import tool_of

MESSAGE_BYTES = 32 << 10
COUNTS: Mapping[Profile, tuple[int, ...]] = {Profile.QUICK: (1, 4), Profile.FULL: (1, 2, 4, 8, 16)}
RUN_S: Mapping[Profile, int] = {Profile.QUICK: 2, Profile.FULL: 4}
FIRST_LOOK, MET_FROM, MOST = 3, 6, 12
WIDTH = 0.05
MOST_S: Mapping[Profile, float] = {Profile.QUICK: 300, Profile.FULL: 900}
"""No run of any number of connections begins later than this after the first, in seconds."""


@dataclass(frozen=True)
class AtCount:
    """The result with so many connections. ``cpu``: percent of all processors of the receiver, of each run.

    ``proof``: what shows that TCP was the card's; None in the mode ``nic``. ``hindrances``: what of the bench may have
    held its own runs back.
    """

    connections: int
    values: tuple[float, ...]
    rate: Estimate
    result: Outcome
    cpu: tuple[float, ...]
    cpu_result: Outcome | None
    runs: tuple[TrafficRun, ...]
    proof: str | None
    hindrances: tuple[str, ...]

    @property
    def text(self) -> str:
        """The rate in words, and the proof that TCP was the card's, where it was to be."""
        proven = f"; {self.proof}" if self.proof else ""
        return f"{self.connections} connections: {self.rate.estimate:.1f} {limit.UNIT}{proven}"


@dataclass(frozen=True)
class Scan(Answer):
    """All numbers of connections over one path, received in one mode; at least one.

    ``ended``: what has ended it before the others.
    """

    subject: str
    found: tuple[AtCount, ...]
    ended: Ended | None = None

    def lines(self) -> list[str]:
        proven = [f"{each.connections} connections: {each.proof}" for each in self.found if each.proof]
        return [*(f"{each.connections} connections: {each.result.reason}" for each in self.found), *proven]

    def charts(self) -> list[Chart]:
        return [*charts(self)]

    def made(self) -> list[TrafficRun]:
        return [run for each in self.found for run in each.runs]

    def questions(self) -> list[Question]:
        asked = []
        for each in self.found:
            subject = f"{self.subject}, {each.connections} connections"
            asked.append(Question(subject, each.result, each.hindrances))
            if each.cpu_result is not None:
                asked.append(Question(f"{subject}, receiver's CPU", each.cpu_result, each.hindrances))
        return asked

    def why_ended(self) -> Ended | None:
        return self.ended


def measure(run: Run, path: BenchPath, mode: Mode, profile: Profile, tell: Tell) -> Scan:
    """Receive at the dut over a path with each number of connections.

    Args:
        run: The current run.
        path: The path that carries the traffic.
        mode: How the card receives; that TCP is the card's is proven with each number, by a run of its own.
        profile: Which numbers of connections, and how long each run.
        tell: Takes the progress.

    Returns:
        All numbers of connections.

    Raises:
        NotApplicable: The sheet does not know the limit, or the card, its driver or the system has no such mode.
        CardFailure: TCP offload is on, and a connection is not the card's, or data are not placed.
        BenchFault: The bench cannot reach it, or a run fails or is worthless.
        Undecided: The time was spent before the first look at a number of connections.
    """
    fraction = run.card.known(run.card.limits.tcp_fraction_of_line_rate, "limits.tcp_fraction_of_line_rate")
    found, ended = list[AtCount](), list[Ended]()
    with receiving(run, path, mode, MESSAGE_BYTES) as engine:
        measured = MeasuredPath.looked_at(run, path, endpoints.ends(run, path, Role.PEER))
        subject = measured.ends.name if mode is Mode.NIC else f"{measured.ends.name}, {mode.value}"
        looked = _Looked(measured, measured.expected(fraction), subject, Deadline(MOST_S[profile]))
        with measuring.session(run, path, Role.PEER, measured.rate_mbps) as session:
            for step, count in enumerate(COUNTS[profile], 1):
                order = order_of(count, profile)
                if (at := experiment.asked(partial(looked.at, session, order, mode, engine), ended)) is None:
                    break
                found.append(at)
                tell(f"{subject}: step {step} of {len(COUNTS[profile])}: {found[-1].text}")
    if not found:
        raise ended[0]
    return Scan(subject, tuple(found), next(iter(ended), None))


def order_of(connections: int, profile: Profile) -> Order:
    """Return one run with so many connections, in messages of 32 KiB."""
    return Order(duration_s=RUN_S[profile], connections=connections, message_bytes=MESSAGE_BYTES)


@dataclass(frozen=True)
class _Looked:
    """The path, the limit on it, and the time for all numbers of connections."""

    path: MeasuredPath
    expected: Expected
    subject: str
    time: Deadline

    def at(self, session: Session, order: Order, mode: Mode, engine: TcpEngine | None) -> AtCount:
        """Make the runs with one number of connections, and before them the proof that TCP is the card's."""
        proof = None if engine is None else prove(engine, mode, session, order)
        tool, run = tool_of(self.path.run.bench.traffic), self.path.run
        plan = SamplingPlan(
            first_look=FIRST_LOOK,
            met_from=MET_FROM,
            most=MOST,
            warm_up_runs=int(not tool.omitted_s),
            resolution=tool.resolution_bps(order) / 1e6,
        )
        asker = Asker(f"{self.subject}, {order.connections} connections", plan, self.time, "all")
        values, result = asker.limit(partial(_one_run, asker, session, order), self.expected, limit.UNIT)
        cpu = tuple(100 * each.receiver.cpu.mean_busy for each in asker.counted(values))
        rate, cpu_result = estimate(values, plan, WIDTH), _cpu_result(run, cpu, plan)
        proven, runs = None if proof is None else proof.text, tuple(asker.runs)
        hindrances = self.path.hindrances(runs)
        return AtCount(order.connections, tuple(values), rate, result, cpu, cpu_result, runs, proven, hindrances)


def _one_run(asker: Asker, session: Session, order: Order) -> float:
    return limit.mbps(asker.keep(session.measure(order)))


def _cpu_result(run: Run, cpu: Sequence[float], plan: SamplingPlan) -> Outcome | None:
    most = run.card.limits.receiver_cpu_percent
    if not isinstance(most, float):
        return None
    counted = replace(plan, warm_up_runs=0, resolution=0.1)
    return judge_values(cpu, at_most(most, f"sheet {run.card.name}, receiver_cpu_percent"), "percent CPU", counted)


def charts(scan: Scan) -> tuple[LineChart, LineChart]:
    """Throughput and receiver's CPU against the number of connections."""
    rates = [Point(each.connections, each.rate.estimate, each.rate.low, each.rate.high) for each in scan.found]
    cpus = [Point(each.connections, fmean(each.cpu), min(each.cpu), max(each.cpu)) for each in scan.found]
    low = scan.found[0].result.expected.low
    note = f"messages of {MESSAGE_BYTES} bytes; band: 95 % interval of the mean"
    return (
        LineChart(
            f"Throughput against connections {scan.subject}",
            note,
            "connections",
            limit.UNIT,
            (ChartLine("received", tuple(rates)),),
            Limit(low, f"limit at least {low:g} {limit.UNIT}"),
        ),
        LineChart(
            f"Receiver CPU against connections {scan.subject}",
            f"messages of {MESSAGE_BYTES} bytes; band: least and most of the runs",
            "connections",
            "% of all processors",
            (ChartLine("receiver", tuple(cpus)),),
        ),
    )
