"""Reads of a cached file over NFS version 3, against the sheet's fraction of line rate, and the limit that binds.

The dut is the server, as the filer of the document of NFS-02 is. The client is a program of the lab, as the kernels of
today's distributions read no longer over UDP (``CONFIG_NFS_DISABLE_UDP_SUPPORT``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from niclab.bench.records import BenchPath, Role
from niclab.card import NfsLimits, Unknown
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.profile import Profile
from niclab.core.verdict import NotApplicable
from niclab.frames.server_agent import running
from niclab.report import now
from niclab.report.pages.charts import Chart, ChartLine, Limit, LineChart, Point
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.run.watching.standstill import Stood
from niclab.settings import mtu
from niclab.stats.measurements import Measurement, add
from niclab.stats.questions import Direction, Expected, Outcome
from niclab.storage import damage, resent
from niclab.storage.nfs.nfs_reads import READ_BYTES, NfsAgent, NfsClient, NfsTransport, ReadOrder, read_order
from niclab.storage.nfs.nfs_server import ON_LINUX, NfsExport, serving, to_itself
from niclab.storage.resent import RESENT_PART, is_much, judged
from niclab.storage.server_needs import require_linux
from niclab.storage.storage_figures import Binding, ReadFigures, binding, ceilings, middle
from niclab.traffic.limits import limit
from niclab.traffic.limits.accepted_baseline import Against
from niclab.traffic.limits.bottleneck import Before
from niclab.traffic.limits.limit import UNIT, LimitBudget
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.outage.outage import Judgement
from niclab.traffic.runs import discarded, endpoints, experiment
from niclab.traffic.runs.asker import ToldAsker
from niclab.traffic.runs.experiment import Answer, Question
from niclab.traffic.runs.looks import Looks
from niclab.traffic.runs.measuring import Session
from niclab.traffic.runs.progress import Tell
from niclab.traffic.runs.switch_counts import SwitchCountWatch
from niclab.traffic.runs.traffic_run import TrafficRun
from niclab.traffic.tools.tool import Order

STANDARD_MTU = 1500
METRIC = "nfs_read_mbps"
TOOL = "NFS client 1"
"""In the conditions of a measurement: another number makes figures that are compared with none of the former ones."""
BUDGETS: Mapping[Profile, LimitBudget] = {
    Profile.QUICK: LimitBudget(run_s=2, first_look=3, met_from=6, most=12, warm_up_runs=0, most_s=40),
    Profile.FULL: LimitBudget(run_s=10, first_look=5, met_from=12, most=30, warm_up_runs=1, most_s=900),
}


@dataclass(frozen=True)
class NfsAnswer(Answer):
    """The reads over one path, at one MTU.

    Attributes:
        subject: What was read.
        result: The answer about the limit; None where the sheet has none.
        values: Data of each run in Mbit/s.
        runs: The runs.
        found: The figures in the middle of the runs.
        binds: The limit that came first.
        before: What both ends can do.
        hindrances: What of the bench may have held the reads back.
        against: What there is to compare with.
        damaged: Data that were not those of the file, in words.
        doubts: Why nobody knows if server or card is slow, where a question is missed.
        stood: Standstills of servers while all runs were made.
    """

    subject: str
    result: Outcome | None
    values: tuple[float, ...]
    runs: tuple[TrafficRun, ...]
    found: ReadFigures
    binds: Binding
    before: tuple[Before, Before]
    hindrances: tuple[str, ...]
    against: Against
    damaged: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    stood: tuple[Stood, ...] = ()

    @property
    def baseline(self) -> Outcome | None:
        """The answer against the accepted baseline, if there is one."""
        return discarded.bounded(self.against.result(self.values), self.runs)

    @property
    def resent(self) -> int:
        """The calls that the client has sent again."""
        return sum(each.result.retransmits or 0 for each in self.runs)

    @property
    def lost(self) -> Judgement:
        """The calls that were sent again, where they are many: as the rest go on meanwhile, the rate hardly shows it.

        The card's: those that the dut's port counts, of calls that came or of answers.
        """
        calls = int(sum(each.result.received_bytes or 0 for each in self.runs)) // READ_BYTES
        if not is_much(self.resent, calls):
            return Judgement([], [])
        ports = [each.dut.frames for each in self.runs]
        counted = sum(each.rx_missed_errors + each.tx_errors + each.tx_dropped for each in ports)
        words = f"{self.subject}: {self.resent} of {calls} calls sent again; expected at most {RESENT_PART:.0%} "
        words += f"(assumption); the dut's port counted {counted} frames as lost"
        return judged(words, self.resent, counted, (*self.stood, *self.hindrances))

    def lines(self) -> list[str]:
        compared = self.baseline
        lines = [
            f"{self.subject}: {self.found}; held back by {self.binds.value}",
            f"{self.subject}: {self.resent} calls sent again in {len(self.runs)} runs",
            *(f"{self.subject}: {each}" for each in self.damaged),
            *(f"the bench can do: {before}" for before in self.before),
            *(f"the bench may hold it back: {hindrance}" for hindrance in self.hindrances),
            *(f"{self.subject}: {doubt}" for doubt in self.doubts),
            f"{self.subject}: {compared.reason if compared else self.against.text}",
        ]
        return lines if self.result is None else [f"{self.subject}: {self.result.reason}", *lines]

    def charts(self) -> list[Chart]:
        title = self.subject.replace(",", "")
        points = tuple(Point(number, value, value, value) for number, value in enumerate(self.values, start=1))
        low = None if self.result is None else self.result.expected.low
        drawn = None if low is None else Limit(low, f"limit at least {low:g} {UNIT}")
        note = f"held back by {self.binds.value}: {self.found}"
        own = LineChart(title, note, "run", UNIT, (ChartLine("each run", points),), drawn)
        trend = self.against.trend(f"{title} against the baseline", self.values)
        return [own] if trend is None else [own, trend]

    def made(self) -> list[TrafficRun]:
        return list(self.runs)

    def questions(self) -> list[Question]:
        asked = [("", self.result), (", baseline", self.baseline)]
        return [
            Question(f"{self.subject}{what}", each, self.hindrances, self.doubts)
            for what, each in asked
            if each is not None
        ]

    def why_not_judged(self) -> str:
        return f"{self.subject}: {self.found}; held back by {self.binds.value}; no limit and {self.against.text}"


def judge(run: Run, answer: NfsAnswer, say: Tell) -> None:
    """Judge the data, the calls that were lost, and the rate.

    Args:
        run: The current run.
        answer: The answer.
        say: Takes what becomes of frames that tell who damages data.

    Raises:
        CardFailure: The card damages frames, or loses many calls or answers, and its port counts them, or a limit is
            missed.
        BenchFault: The peer damages frames, or the bench may be why a limit is missed.
        Undecided: Nobody damages frames, many calls are lost somewhere, or the runs cannot tell.
        NotApplicable: Nothing but figures was measured.
    """
    resent.judge(
        [answer.lost],
        lambda: damage.require_undamaged(run, answer, say),
        lambda: experiment.judge(run.notes, [answer]),
    )


def measure(
    run: Run, path: BenchPath, transport: NfsTransport, mtu_bytes: int, profile: Profile, tell: Tell
) -> NfsAnswer:
    """Read a file that the dut serves over a path, at an MTU. Adds what was measured to the run folder.

    Args:
        run: The current run.
        path: The path.
        transport: The protocol below NFS.
        mtu_bytes: MTU of both ends in bytes.
        profile: How many runs may be made, and for how long.
        tell: Takes the progress of what lasts long.

    Returns:
        The answer.

    Raises:
        NotApplicable: The sheet has no limit of NFS, the card does not take the MTU, or a server does not run Linux.
        BenchFault: The server cannot serve, the bench cannot reach the limit, or a run fails or is worthless.
        Undecided: The time was spent before the first look.
    """
    facts = want_limits(run)
    fraction = _fraction(run, facts, transport, mtu_bytes)
    if mtu_bytes > STANDARD_MTU:
        mtu.want_allowed(run, mtu_bytes)
    require_linux(run, ON_LINUX)
    with mtu.both_ends(run, path, mtu_bytes), serving(run, path) as export:
        reads = _Reads(run, path, transport, mtu_bytes, BUDGETS[profile], tell)
        answer = reads.asked(export, fraction)
    _note(run, answer)
    return answer


def want_limits(run: Run) -> NfsLimits:
    """Return the sheet's limits of NFS.

    Args:
        run: The current run.

    Raises:
        NotApplicable: It has none.
    """
    facts = run.card.limits.nfs
    if facts is None:
        raise NotApplicable(f"sheet {run.card.name} has no limits.nfs")
    return facts


def _fraction(run: Run, facts: NfsLimits, transport: NfsTransport, mtu_bytes: int) -> float | None:
    """The limit of the sheet; None where it has none."""
    if transport is not NfsTransport.UDP:
        return None
    name = "udp_fraction_of_line_rate" if mtu_bytes <= STANDARD_MTU else "jumbo_udp_fraction_of_line_rate"
    known: float | Unknown | None = getattr(facts, name)
    return None if known is None else run.card.known(known, f"limits.nfs.{name}")


@dataclass(frozen=True)
class _Reads:
    """Reads over one path, at one MTU."""

    run: Run
    path: BenchPath
    transport: NfsTransport
    mtu_bytes: int
    budget: LimitBudget
    tell: Tell

    def asked(self, export: NfsExport, fraction: float | None) -> NfsAnswer:
        run, budget, damaged = self.run, self.budget, list[str]()
        watch = standstill.watch(run)
        told = watch.told()
        order = read_order(self.transport, budget.run_s)
        measured = MeasuredPath.looked_at(run, self.path, endpoints.ends(run, self.path, Role.DUT))
        expected = None if fraction is None else measured.expected(fraction)
        subject = f"{measured.ends.name}, NFS reads over {self.transport.name}, MTU {self.mtu_bytes}"
        measurement = self._measurement(subject, measured, order)
        plan = budget.plan(READ_BYTES * 8e-6 / budget.run_s)
        against = Against.stored(run, measurement, plan)
        asker = ToldAsker(subject, UNIT, plan, budget.run_s, budget.most_s, self.tell)
        session = self._session(measured, NfsClient(self._agent(Role.PEER), export, damaged.append))

        def one_run() -> float:
            return asker.told(limit.mbps(asker.keep(session.measure(order))))

        values, result = self._values(asker, one_run, expected, against)
        add(run.run_dir, measurement.model_copy(update={"samples": tuple(values)}))
        found = middle(asker.counted(values))
        answer = NfsAnswer(
            subject=subject,
            result=result,
            values=tuple(values),
            runs=tuple(asker.runs),
            found=found,
            binds=binding(found, ceilings(run, measured)),
            before=measured.before,
            hindrances=measured.hindrances(asker.runs),
            against=against,
            damaged=tuple(damaged),
            stood=tuple(watch.between(told, watch.told())),
        )
        return replace(answer, doubts=self._doubts(export, order, answer))

    def _doubts(self, export: NfsExport, order: ReadOrder, answer: NfsAnswer) -> tuple[str, ...]:
        """The same reads by the server itself, past the card, where its time to answer holds back too much.

        Server and client share CPUs then: a server that is slower than needed this way may be fast enough for a peer.
        """
        missed = [each for each in (answer.result, answer.baseline) if each and each.decision is Decision.MISSED]
        if not missed or answer.binds is not Binding.SERVER or answer.hindrances:
            return ()
        baseline = answer.against.baseline
        needed = [each.expected.low if each.change is None or baseline is None else baseline.mean for each in missed]
        with to_itself(self.run, export) as own:
            alone = NfsClient(self._agent(Role.DUT), own, lambda _: None).alone_mbps(order)
        if alone >= max(needed):
            return ()
        return (
            f"{self.run.server(Role.DUT).name}: its NFS server reads {alone:.1f} {UNIT} by itself; expected at least "
            f"{max(needed):.1f}: nobody knows if the server or the card is slow",
        )

    def _values(
        self, asker: ToldAsker, one_run: Callable[[], float], expected: Expected | None, against: Against
    ) -> tuple[list[float], Outcome | None]:
        if expected is not None:
            return asker.limit(one_run, expected, UNIT, against.decided)
        least = self.budget.met_from

        def enough(values: Sequence[float]) -> bool:
            return len(values) >= least and against.decided(values)

        return asker.values(one_run, enough), None

    def _measurement(self, subject: str, measured: MeasuredPath, order: Order) -> Measurement:
        return Measurement(
            test=subject,
            metric=METRIC,
            unit=UNIT,
            better=Direction.HIGHER,
            samples=(0.0,),
            taken=now(),
            key=measured.key(order).model_copy(update={"tool": TOOL}),
        )

    def _agent(self, role: Role) -> NfsAgent:
        return running(self.run, self.run.part(_Agents).begun, role, NfsAgent)

    def _session(self, measured: MeasuredPath, client: NfsClient) -> Session:
        run, ends, watch = self.run, measured.ends, standstill.watch(self.run)
        interfaces = {port.role: run.interface(port) for port in (ends.from_port, ends.to_port)}
        return Session(
            run,
            ends,
            client,
            endpoints.route(run, ends),
            Looks(watch, interfaces),
            SwitchCountWatch(run, self.path),
            measured.rate_mbps,
            watch,
            True,
            Role.PEER,
        )


class _Agents:
    """The programs of a run."""

    def __init__(self, _: Run) -> None:
        self.begun: dict[Role, NfsAgent] = {}


def _note(run: Run, answer: NfsAnswer) -> None:
    """The figures of the certificate that have no limit."""
    run.notes.figure(
        NotedFigure(
            kind=FigureKind.TRAFFIC,
            subject=answer.subject,
            found=f"{answer.found}; held back by {answer.binds.value}",
            expected="no limit: recorded",
            source="",
            outcome=Decision.MET,
            unit="reads/s",
            value=answer.found.reads_per_s,
            runs=len(answer.values),
        )
    )
