"""The read loads of DEL-03 on a base and on a congested SAN, in turns: content, counts, losses, and figures.

Eight volumes on each: on the base SAN all of them come through one port of the peer, on the congested one half of them
through each of two. No sheet has a limit of it: figures are recorded, and judged against accepted runs of the same
conditions.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from niclab.bench.records import Port, Role
from niclab.card import PauseFacts, StorageLoad
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import Deadline, pause
from niclab.report import now
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.stats.measurements import Measurement, add
from niclab.stats.questions import Direction
from niclab.stats.run_plan import SamplingPlan
from niclab.storage import damage, resent
from niclab.storage.congestion.congested_answer import CongestedAnswer, CongestedLoad, San, SanFound
from niclab.storage.congestion.congested_san import CongestedSan
from niclab.storage.congestion.losses import Lost, lost_of
from niclab.storage.congestion.san_counts import Disks, SanCounter, SanCounts
from niclab.storage.disk_counts import DiskCounts, contradictions
from niclab.storage.disk_loads import WORDS, DiskAgent, DiskClient, LoadOrder
from niclab.storage.disk_program import SEQUENTIAL_BYTES
from niclab.storage.disk_workloads import DiskLoads, figures_of, unit_of, value_of
from niclab.storage.iscsi import iscsi_counts
from niclab.storage.iscsi.iscsi_initiator import attached
from niclab.storage.iscsi.iscsi_target import offering
from niclab.storage.iscsi.iscsi_workloads import require_asked
from niclab.storage.storage_figures import Binding, binding, ceilings
from niclab.storage.volumes import VOLUMES
from niclab.traffic.limits.accepted_baseline import Against
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs import endpoints, experiment
from niclab.traffic.runs.measuring import Session
from niclab.traffic.runs.progress import Tell
from niclab.traffic.runs.switch_counts import PortCount
from niclab.traffic.runs.traffic_run import TrafficRun

TOOL = "congested iSCSI load 1"
"""In the conditions of a measurement: another number makes figures that are compared with none of the former ones."""
LOADS = (StorageLoad.READ, StorageLoad.RANDOM)
"""Those whose data come to the dut; what it writes leaves by one port for two."""
COUNTED_WITHIN_S = 5.0
"""Assumption: some switches bring their counts up to date only every few seconds."""
CAME_PART = 0.98
"""As the receiving port of any run: headers come on top of the data, whose counts are read at other moments."""
_HALF = VOLUMES // 2
_VOLUMES = (range(VOLUMES), range(VOLUMES, VOLUMES + _HALF), range(VOLUMES + _HALF, 2 * VOLUMES))
"""Those of the base SAN, and of each source of the congested one. A load has volumes to itself, as it alone knows their
content; the peer's first port offers those of the first two."""


@dataclass(frozen=True)
class Turns:
    """The runs of a load. ``run_s``: of each; ``turns``: runs on each of both SANs."""

    run_s: int
    turns: int

    def plan(self, load: StorageLoad) -> SamplingPlan:
        """Return the plan of the runs on one SAN.

        Args:
            load: The load.
        """
        step = 1.0 if load is StorageLoad.RANDOM else SEQUENTIAL_BYTES / 1e6
        turns = self.turns
        return SamplingPlan(turns, turns, met_from=turns, warm_up_runs=0, resolution=step / self.run_s)


TURNS: Mapping[Profile, Turns] = {Profile.QUICK: Turns(run_s=1, turns=3), Profile.FULL: Turns(run_s=10, turns=5)}


def measure(run: Run, vlan: int, profile: Profile, tell: Tell) -> CongestedAnswer:
    """Load disks over iSCSI on a base and a congested SAN, in turns. Adds what was measured to the run folder.

    Args:
        run: The current run, with its cables laid to the switch.
        vlan: VLAN id of the switch for the SAN.
        profile: How many runs are made, and for how long.
        tell: Takes the progress of what lasts long.

    Returns:
        The answer.

    Raises:
        NotApplicable: The sheet asks for no load that reads, a server does not run Linux, fewer than two paths go
            through the switch, or its VLANs cannot be set.
        BenchFault: The dut has no initiator, the SAN or a target cannot be made, a session goes another way, or a run
            fails or is worthless.
        Undecided: A server stood still too often in a row.
    """
    facts = require_asked(run)
    loads = [each for each in LOADS if each in facts.workloads]
    if not loads:
        raise NotApplicable(f"sheet {run.card.name}: iscsi.workloads has no load that reads; expected one to congest")
    san = CongestedSan.of(run)
    with san.laid(run, vlan), _attached(run, san) as groups, ExitStack() as ending:
        sides = list[_Side]()
        for kind, disks in ((San.BASE, groups[:1]), (San.CONGESTED, groups[1:])):
            agent = DiskAgent(run.server(Role.DUT))
            ending.callback(agent.end)  # before the session: it has the disks open
            names = [name for each in disks for name in each.names]
            sides.append(_Side(run, kind, disks, DiskClient(agent, names, secrets.token_hex(8))))
        answer = _Loads(run, san, (sides[0], sides[1]), TURNS[profile], tell).asked(loads)
    for load in answer.loads:
        run.notes.figure(load.figure())
    return answer


def judge(run: Run, answer: CongestedAnswer, say: Tell) -> None:
    """End the check: return only when content and counts are right, and what was lost is the switch's doing.

    Args:
        run: The current run.
        answer: What was found.
        say: Takes what becomes of frames that tell who damages data.

    Raises:
        CardFailure: The card damages frames, or loses many that its port counts, or a baseline is missed.
        BenchFault: The peer damages frames, counts disagree, or the bench may be why a baseline is missed.
        Undecided: Nobody damages frames, many segments are lost where nobody counts them, no load filled the switch's
            port, or the runs cannot tell.
    """
    damage.require_undamaged(run, answer, say)
    if answer.problems:
        raise BenchFault("\n".join(f"{answer.subject}: {each}" for each in answer.problems))
    lost = [each for load in answer.loads for each in load.judgements]
    idle = (
        f"{answer.subject}: no load filled the switch's port to the dut, and the switch discarded nothing; "
        "expected a congested SAN"
    )
    asked = answer.questions()
    resent.judge(
        lost,
        lambda: experiment.judge_questions(run.notes, asked) if asked else None,
        [] if any(load.is_congested for load in answer.loads) else [idle],
    )


@contextmanager
def _attached(run: Run, san: CongestedSan) -> Iterator[tuple[Disks, ...]]:
    """The disks of the base SAN, and those of each source of the congested one, inside the ``with`` block."""
    base, near, far = _VOLUMES
    first, second = san.sources(run)
    with (
        offering(run, san.first, range(base.start, near.stop)) as here,
        attached(run, san.first, here) as own,
        offering(run, san.second, far) as there,
        attached(run, san.second, there) as others,
    ):
        yield (
            Disks(first, own[: len(base)], base),
            Disks(first, own[len(base) :], near),
            Disks(second, others, far),
        )


@dataclass(frozen=True)
class _Side:
    """One SAN, and who loads its disks."""

    run: Run
    san: San
    disks: Sequence[Disks]
    client: DiskClient


@dataclass(frozen=True)
class _Made:
    """One run: ``dut_resent``, ``peer_resent``: TCP segments that were sent again meanwhile."""

    run: TrafficRun
    dut_resent: int
    peer_resent: int


@dataclass(frozen=True)
class _Loads:
    """The loads on both SANs."""

    run: Run
    san: CongestedSan
    sides: tuple[_Side, _Side]
    turns: Turns
    tell: Tell

    def asked(self, loads: Sequence[StorageLoad]) -> CongestedAnswer:
        counter = SanCounter(self.run, self.san, self._disks)
        before = counter.look()
        for side in self.sides:
            side.client.fill()
        found = tuple(self._turns(each, counter) for each in loads)
        for side in self.sides:
            side.client.check()
        damaged = tuple(f"{side.san.value}: {each}" for side in self.sides for each in side.client.damaged)
        problems = () if damaged else tuple(self._contradictions(counter.since(before)))
        return CongestedAnswer(self._name, found, problems, damaged)

    def _turns(self, load: StorageLoad, counter: SanCounter) -> CongestedLoad:
        """One load on each SAN, in turns; which one is first changes with every turn."""
        run, order = self.run, LoadOrder(duration_s=self.turns.run_s, load=load)
        measured = MeasuredPath.looked_at(run, self.san.first, endpoints.ends(run, self.san.first, Role.PEER))
        sessions = {
            side.san: DiskLoads(run, self.san.first, side.client).session(measured.ends, measured.rate_mbps)
            for side in self.sides
        }
        watch, made = standstill.watch(run), {side.san: list[_Made]() for side in self.sides}
        told, before, pauses = watch.told(), counter.look(), self._pauses()
        for turn in range(self.turns.turns):
            for side in self.sides if turn % 2 == 0 else self.sides[::-1]:
                made[side.san].append(self._made(sessions[side.san], side, order))
            self.tell(f"{self._name}, {WORDS[load]}: turn {turn + 1} of {self.turns.turns}")
        counts, lost = self._settled(lambda: counter.since(before))
        base, congested = (_found(side.san, made[side.san], measured.ends.to_port.name) for side in self.sides)
        subject = f"{self._name}, iSCSI, {WORDS[load]}"
        return CongestedLoad(
            subject=subject,
            unit=unit_of(load),
            base=base,
            congested=congested,
            line_mbps=measured.rate_mbps,
            shares=_shares(self.sides[1].disks, counts.disks[1:]),
            pauses=_gained(pauses, self._pauses()),
            lost=lost,
            binds=binding(congested.figures, ceilings(run, measured), Binding.TARGET),
            hindrances=measured.hindrances(congested.runs),
            stood=watch.between(told, watch.told()),
            against=self._recorded(subject, load, congested, measured, order),
        )

    def _recorded(
        self, subject: str, load: StorageLoad, found: SanFound, measured: MeasuredPath, order: LoadOrder
    ) -> Against:
        """The measurement is added to the run folder; what it is compared with."""
        measurement = Measurement(
            test=subject,
            metric=f"iscsi_congested_{load.value.replace('-', '_')}",
            unit=unit_of(load),
            better=Direction.HIGHER,
            samples=found.values,
            taken=now(),
            key=measured.key(order).model_copy(update={"tool": TOOL}),
        )
        against = Against.stored(self.run, measurement, self.turns.plan(load))
        add(self.run.run_dir, measurement)
        return against

    def _made(self, session: Session, side: _Side, order: LoadOrder) -> _Made:
        names = [name for each in side.disks for name in each.names]
        volumes = [number for each in side.disks for number in each.volumes]
        before = iscsi_counts.look(self.run, names, volumes)
        session.forget()  # the other SAN has used the ports
        run = session.measure(order)
        counts = iscsi_counts.look(self.run, names, volumes).since(before)
        return _Made(run, counts.dut_resent, counts.peer_resent)

    def _settled(self, counted: Callable[[], SanCounts]) -> tuple[SanCounts, tuple[Lost, ...]]:
        """The counts and losses, once the switch has had the time to count what explains them."""
        deadline, dut = Deadline(COUNTED_WITHIN_S), self.run.bench.end(self.san.first, Role.DUT)
        while True:
            counts = counted()
            lost = lost_of(counts.disks[0], counts.switch, counts.ports, dut.name)
            if deadline.expired or not any(each.is_much for each in lost):
                return counts, lost
            pause(min(1.0, deadline.left))

    def _contradictions(self, counts: SanCounts) -> list[str]:
        """The points in which disks, targets, programs and the switch disagree, in words."""
        base, *others = counts.disks
        problems = contradictions(base, self.sides[0].client.total)
        both = others[0].plus(others[1])
        problems += contradictions(both, self.sides[1].client.total)
        came = {each.port: each.counted["in_octets"] for each in counts.switch}
        data = dict.fromkeys((each.source.name for each in self._disks), 0)
        for each, found in zip(self._disks, counts.disks, strict=True):
            data[each.source.name] += found.disk_read_bytes
        for name, size in data.items():
            if came[name] < CAME_PART * size:
                problems.append(f"{name}: {came[name]} bytes came from it into the switch; expected the {size} read")
        return problems

    def _pauses(self) -> dict[str, int | None]:
        """Pause frames that each port has received, by the sheet's name of that counter."""
        facts, found = self.run.card.pause, dict[str, int | None]()
        name = facts.received_counter if isinstance(facts, PauseFacts) else None
        for port in (self.run.bench.end(self.san.first, Role.DUT), *self.san.sources(self.run)):
            found[port.name] = self._counter(port, name) if name else None
        return found

    def _counter(self, port: Port, name: str) -> int | None:
        counters = self.run.server_of(port).host.counts.counters(self.run.interface(port))
        if name not in counters:  # the peer may have another card
            return None
        return counters[name]

    @property
    def _disks(self) -> list[Disks]:
        return [each for side in self.sides for each in side.disks]

    @property
    def _name(self) -> str:
        first, second = self.san.sources(self.run)
        return f"{first.name} and {second.name} to {self.run.bench.end(self.san.first, Role.DUT).name}"


def _found(san: San, made: Sequence[_Made], dut: str) -> SanFound:
    runs = tuple(each.run for each in made)
    return SanFound(
        san=san,
        values=tuple(map(value_of, runs)),
        runs=runs,
        figures=figures_of(runs),
        dut_resent=sum(each.dut_resent for each in made),
        peer_resent=sum(each.peer_resent for each in made),
        discards=sum(_discards(run.switch, dut) for run in runs),
    )


def _discards(counts: Sequence[PortCount], port: str) -> int:
    return sum(each.counted["out_discards"] for each in counts if each.port == port)


def _shares(disks: Sequence[Disks], counts: Sequence[DiskCounts]) -> dict[str, int]:
    return {
        each.source.name: found.disk_read_bytes + found.disk_written_bytes
        for each, found in zip(disks, counts, strict=True)
    }


def _gained(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> dict[str, int | None]:
    return {
        port: None if then is None or (last := after[port]) is None else last - then for port, then in before.items()
    }
