"""The three loads of DEL-03 on disks of the peer, by whatever protocol: content, counts, and figures.

The peer has the target, the dut the disks. No sheet has a limit of it: figures are recorded, and judged against
accepted runs of the same conditions.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from statistics import median

from niclab.bench.records import BenchPath, Role
from niclab.card import StorageLoad
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.report import now
from niclab.report.pages.charts import Chart, ChartLine, LineChart, Point
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.run.watching.standstill import Stood
from niclab.stats.measurements import Measurement, add
from niclab.stats.questions import Direction, Outcome
from niclab.storage import damage, resent
from niclab.storage.disk_counts import DiskCounts, contradictions
from niclab.storage.disk_figures import LoadFigures, figures_of, unit_of, value_of
from niclab.storage.disk_loads import WORDS, DiskAgent, DiskClient, LoadOrder, until_all_fail
from niclab.storage.disk_program import SEQUENTIAL_BYTES
from niclab.storage.resent import RESENT_PART, judged
from niclab.storage.storage_figures import Binding, binding, ceilings
from niclab.traffic.limits.accepted_baseline import Against
from niclab.traffic.limits.limit import LimitBudget
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.outage.outage import Judgement
from niclab.traffic.runs import discarded, endpoints, experiment
from niclab.traffic.runs.asker import ToldAsker
from niclab.traffic.runs.experiment import Answer, Ended, Question
from niclab.traffic.runs.line_rate import line_mbps
from niclab.traffic.runs.looks import Looks
from niclab.traffic.runs.measuring import Session
from niclab.traffic.runs.progress import Tell
from niclab.traffic.runs.switch_counts import SwitchCountWatch
from niclab.traffic.runs.traffic_run import TrafficRun

BUDGETS: Mapping[Profile, LimitBudget] = {
    Profile.QUICK: LimitBudget(run_s=1, first_look=3, met_from=3, most=6, warm_up_runs=0, most_s=20),
    Profile.FULL: LimitBudget(run_s=10, first_look=5, met_from=5, most=12, warm_up_runs=1, most_s=600),
}
MOST_PART = 1.25
"""Assumption: a byte of data takes less than this at the port: 5 percent for Ethernet, IP and TCP at an MTU of 1500, 2
for headers of 8 KiB over iSCSI, less over NVMe, and what asks for data that is written."""
OTHERS_BYTES = 1 << 20


@dataclass(frozen=True)
class NetworkDisks:
    """Disks of a session, one for each volume of its target.

    ``names``: of the disks, as in ``/dev``; ``look``: what disks, target and TCP have counted until now; ``gone``: the
    volumes that the target has lost, in words.
    """

    names: tuple[str, ...]
    look: Callable[[], DiskCounts]
    gone: Callable[[], list[str]]


@dataclass(frozen=True)
class DiskProtocol:
    """A protocol by which the dut uses disks of the peer.

    ``name``, ``metric``: in words, and of its figures; ``tool``: in the conditions of a measurement, where another
    number makes figures that are compared with none of the former ones; ``target_binds``: the limit where nothing is
    full; ``target_within``: bytes by which counts of target and disks may be apart; ``attached``: the disks over a
    path, as long as its ``with`` block lasts.
    """

    name: str
    metric: str
    tool: str
    target_binds: Binding
    target_within: int
    attached: Callable[[Run, BenchPath], AbstractContextManager[NetworkDisks]]


@dataclass(frozen=True)
class LoadFound:
    """One load over one path.

    ``values``: of each run in ``unit``; ``counts``, ``stood``: of all its runs; ``binds``, ``against``: of the first
    path alone.
    """

    subject: str
    unit: str
    values: tuple[float, ...]
    runs: tuple[TrafficRun, ...]
    found: LoadFigures
    binds: Binding | None = None
    hindrances: tuple[str, ...] = ()
    against: Against | None = None
    counts: DiskCounts | None = None
    stood: tuple[Stood, ...] = ()

    @property
    def text(self) -> str:
        """The figures, what TCP has sent again meanwhile, and what held them back."""
        parts = [str(self.found)]
        parts += [] if self.counts is None else [self.counts.resent]
        return "; ".join([*parts, *([] if self.binds is None else [f"held back by {self.binds.value}"])])

    @property
    def lost(self) -> list[Judgement]:
        """The segments that TCP has sent again, where they are many. The card's: those that the dut's port counts."""
        if self.counts is None:
            return []
        ports = [run.dut.frames for run in self.runs]
        counted = {
            Role.DUT: sum(each.tx_errors + each.tx_dropped for each in ports),
            Role.PEER: sum(each.rx_missed_errors for each in ports),
        }
        found = list[Judgement]()
        for role, again in self.counts.resent_much.items():
            sent = self.counts.dut_sent if role is Role.DUT else self.counts.peer_sent
            words = f"{self.subject}: {role.value} sent {again} TCP segments again, {sent} others; expected at most "
            words += f"{RESENT_PART:.0%} (assumption); the dut's port counted {counted[role]} as lost"
            found.append(judged(words, again, counted[role], (*self.stood, *self.hindrances)))
        return found

    @property
    def baseline(self) -> Outcome | None:
        """The answer against the accepted baseline, if there is one."""
        return None if self.against is None else discarded.bounded(self.against.result(self.values), self.runs)


@dataclass(frozen=True)
class LoadsAnswer(Answer):
    """All loads over one path.

    Attributes:
        subject: The path.
        loads: Each load, but for those after all operations of one have failed.
        counts: What disks, target and TCP have counted.
        problems: Where counts disagree, in words.
        damaged: Data that were not those written, and operations that failed, in words.
        gone: What the target has lost meanwhile, in words, where anything is damaged.
        ended: How loads have ended that have no answer, and what has ended the loads before all paths were asked.
    """

    subject: str
    loads: tuple[LoadFound, ...]
    counts: DiskCounts
    problems: tuple[str, ...]
    damaged: tuple[str, ...]
    gone: tuple[str, ...] = ()
    ended: tuple[Ended, ...] = ()

    def lines(self) -> list[str]:
        lines = [f"{self.subject}: {self.counts}", *(f"{self.subject}: {each}" for each in self.problems)]
        lines += [f"{self.subject}: {each}" for each in self.damaged]
        for load in self.loads:
            lines.append(f"{load.subject}: {load.text}")
            lines += [f"the bench may hold it back: {hindrance}" for hindrance in load.hindrances]
            if load.against is not None:
                compared = load.baseline
                lines.append(f"{load.subject}: {compared.reason if compared else load.against.text}")
        return lines

    def charts(self) -> list[Chart]:
        charts = list[Chart]()
        for load in self.loads:
            title = load.subject.replace(",", "")
            points = tuple(Point(number, value, value, value) for number, value in enumerate(load.values, start=1))
            charts.append(LineChart(title, load.text, "run", load.unit, (ChartLine("each run", points),), None))
            if load.against is not None:
                trend = load.against.trend(f"{title} against the baseline", load.values)
                charts += [] if trend is None else [trend]
        return charts

    def made(self) -> list[TrafficRun]:
        return [run for load in self.loads for run in load.runs]

    def questions(self) -> list[Question]:
        asked = [(load, load.baseline, load.binds.doubts if load.binds else ()) for load in self.loads]
        return [
            Question(f"{load.subject}, baseline", each, load.hindrances, doubts) for load, each, doubts in asked if each
        ]


def measure(
    run: Run, protocol: DiskProtocol, loads: Sequence[StorageLoad], profile: Profile, tell: Tell
) -> list[LoadsAnswer]:
    """Load disks of the peer, over each path. Adds what was measured to the run folder.

    Args:
        run: The current run.
        protocol: How the dut uses them.
        loads: The loads.
        profile: How many runs may be made, and for how long.
        tell: Takes the progress of what lasts long.

    Returns:
        The answer of each path, but for those after one that has ended without an answer.

    Raises:
        BenchFault: The first target cannot be made, its session goes another way, or a run fails or is worthless.
        Undecided: The time was spent before the first look; the message names segments that were sent again.
    """
    answers = list[LoadsAnswer]()
    for path in run.bench.paths:
        try:
            with protocol.attached(run, path) as disks, ExitStack() as ending:
                agent = DiskAgent(run.server(Role.DUT))
                ending.callback(agent.end)  # before the session: it has the disks open
                client = DiskClient(agent, disks.names, secrets.token_hex(8))
                found = _Loads(run, path, client, protocol, disks, BUDGETS[profile], tell).asked(loads, not answers)
                answers.append(replace(found, gone=tuple(disks.gone())) if found.damaged else found)
        except (CardFailure, BenchFault, Undecided) as error:
            if not answers:
                raise
            answers[-1] = replace(answers[-1], ended=(*answers[-1].ended, error))
            break
    for answer in answers:
        _note(run, answer)
    return answers


def judge(run: Run, answers: Sequence[LoadsAnswer], say: Tell) -> None:
    """End the check: return only when content and counts are right, and no baseline is missed.

    Args:
        run: The current run.
        answers: What was found.
        say: Takes what becomes of frames that tell who damages data.

    Raises:
        CardFailure: The card damages frames, or loses many that its port counts, or a baseline is missed.
        BenchFault: The peer damages frames, the target has lost a volume, counts disagree, or the bench may be why a
            baseline is missed.
        Undecided: Nobody damages frames, many segments are lost somewhere, or the runs cannot tell.
    """

    def require_whole() -> None:
        for answer in answers:
            damage.require_undamaged(run, answer, say, answer.gone)
        if problems := [f"{answer.subject}: {each}" for answer in answers for each in answer.problems]:
            raise BenchFault("\n".join(problems))

    lost = [each for answer in answers for load in answer.loads for each in load.lost]
    ended = [each for answer in answers for each in answer.ended]
    asked = any(answer.questions() for answer in answers)
    resent.judge(lost, require_whole, lambda: experiment.judge(run.notes, answers, ended) if asked or ended else None)


@dataclass(frozen=True)
class DiskLoads:
    """Loads of the disks of one session, over one path.

    Attributes:
        run: The current run.
        path: The path.
        client: The program that loads the disks.
    """

    run: Run
    path: BenchPath
    client: DiskClient

    def session(self, ends: endpoints.Ends, rate_mbps: float) -> Session:
        """Return what makes runs of loads one after the other.

        Args:
            ends: Who sends to whom.
            rate_mbps: Line rate; a run that finds more is no measurement.
        """
        run, watch = self.run, standstill.watch(self.run)
        looks = Looks(watch, {port.role: run.interface(port) for port in (ends.from_port, ends.to_port)})
        switch, route = SwitchCountWatch(run, self.path), endpoints.route(run, ends)
        return Session(run, ends, self.client, route, looks, switch, rate_mbps, watch, True, Role.DUT)


@dataclass(frozen=True)
class _Loads(DiskLoads):
    """The loads over one path, for their content and their figures."""

    protocol: DiskProtocol
    disks: NetworkDisks
    budget: LimitBudget
    tell: Tell

    def asked(self, loads: Sequence[StorageLoad], is_first: bool) -> LoadsAnswer:
        before, found, ended = self.disks.look(), list[LoadFound](), list[Undecided]()
        self.client.fill()
        with until_all_fail([self.client]):
            for load in loads if is_first else loads[:1]:
                try:
                    found.append(self._counted(load, is_first))
                except Undecided as error:
                    ended.append(error)
        if ended and not found:
            raise ended[0]
        self.client.check()
        counts = self.disks.look().since(before)
        damaged = tuple(self.client.damaged)
        problems = [] if damaged else contradictions(counts, self.client.total, self.protocol.target_within)
        problems += [each for load in found for run in load.runs for each in too_much(run)] if not damaged else []
        return LoadsAnswer(
            subject=f"path {self.path.name}, {self.protocol.name}",
            loads=tuple(found),
            counts=counts,
            problems=tuple(problems),
            damaged=damaged,
            ended=tuple(ended),
        )

    def _counted(self, load: StorageLoad, is_first: bool) -> LoadFound:
        watch = standstill.watch(self.run)
        before, told = self.disks.look(), watch.told()
        try:
            found = self._measured(load) if is_first else self._once(load)
        except Undecided as error:
            again = self.disks.look().since(before).resent_much
            losses = [f"{role.value} sent {number} TCP segments again meanwhile" for role, number in again.items()]
            raise Undecided("; ".join([str(error), *losses])) from error
        counts = self.disks.look().since(before)
        return replace(found, counts=counts, stood=watch.between(told, watch.told()))

    def _once(self, load: StorageLoad) -> LoadFound:
        """One run, for its content."""
        ends = ends_of(self.run, self.path, load)
        session = self.session(ends, line_mbps(self.run, ends, self.path))
        made = session.measure(self._order(load))
        return LoadFound(self._subject(ends, load), unit_of(load), (value_of(made),), (made,), figures_of([made]))

    def _measured(self, load: StorageLoad) -> LoadFound:
        run, budget, order = self.run, self.budget, self._order(load)
        measured = MeasuredPath.looked_at(run, self.path, ends_of(self.run, self.path, load))
        subject, unit = self._subject(measured.ends, load), unit_of(load)
        plan = budget.plan((1.0 if load is StorageLoad.RANDOM else SEQUENTIAL_BYTES / 1e6) / budget.run_s)
        measurement = Measurement(
            test=subject,
            metric=f"{self.protocol.metric}_{load.value.replace('-', '_')}",
            unit=unit,
            better=Direction.HIGHER,
            samples=(0.0,),
            taken=now(),
            key=measured.key(order).model_copy(update={"tool": self.protocol.tool}),
        )
        against = Against.stored(run, measurement, plan)
        asker = ToldAsker(subject, unit, plan, budget.run_s, budget.most_s, self.tell)
        session = self.session(measured.ends, measured.rate_mbps)
        values = asker.values(lambda: asker.told(value_of(asker.keep(session.measure(order)))), against.decided)
        add(run.run_dir, measurement.model_copy(update={"samples": tuple(values)}))
        found = figures_of(asker.counted(values))
        binds = binding(found, ceilings(run, measured), self.protocol.target_binds)
        hindrances = measured.hindrances(asker.runs)
        return LoadFound(subject, unit, tuple(values), tuple(asker.runs), found, binds, hindrances, against)

    def _subject(self, ends: endpoints.Ends, load: StorageLoad) -> str:
        return f"{ends.name}, {self.protocol.name}, {WORDS[load]}"

    def _order(self, load: StorageLoad) -> LoadOrder:
        return LoadOrder(duration_s=self.budget.run_s, load=load)


def ends_of(run: Run, path: BenchPath, load: StorageLoad) -> endpoints.Ends:
    """Return who sends the data of a load to whom.

    Args:
        run: The current run.
        path: The path that carries them.
        load: The load.
    """
    return endpoints.ends(run, path, Role.DUT if load is StorageLoad.WRITE else Role.PEER)


def too_much(made: TrafficRun) -> list[str]:
    """Return that a port received more than the data with headers, in words; too little is refused before.

    Args:
        made: The run.
    """
    carried, most = made.receiver.frames.rx_bytes, MOST_PART * (made.result.received_bytes or 0.0) + OTHERS_BYTES
    if carried <= most:
        return []
    return [f"{made.receiver.port}: {carried} bytes received in {made.order.words}; expected at most {most:.0f}"]


def _note(run: Run, answer: LoadsAnswer) -> None:
    """The figures of the certificate that have no limit."""
    for load in answer.loads:
        run.notes.figure(
            NotedFigure(
                kind=FigureKind.TRAFFIC,
                subject=load.subject,
                found=load.text,
                expected="no limit: recorded",
                source="",
                outcome=Decision.UNDECIDED if load.lost else Decision.MET,
                unit=load.unit,
                value=median(load.values),
                runs=len(load.values),
            )
        )
