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

from niclab.bench.records import Role
from niclab.card import StorageLoad
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import Deadline, pause, persistent_problems
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.storage import damage, resent
from niclab.storage.congestion import pause_frames
from niclab.storage.congestion.congested_answer import STRAY_FRAMES, CongestedAnswer, San
from niclab.storage.congestion.congested_runs import CongestedRun, DisksLoaded, Loaded, Turns, answered, of_all
from niclab.storage.congestion.congested_san import CongestedSan
from niclab.storage.congestion.losses import Lost, lost_of
from niclab.storage.congestion.pause_frames import PortPauses
from niclab.storage.congestion.san_counts import Disks, SanCounter, SanCounts
from niclab.storage.disk_counts import DiskCounts, contradictions
from niclab.storage.disk_loads import WORDS, DiskAgent, DiskClient, LoadOrder, until_all_fail
from niclab.storage.disk_workloads import DiskLoads
from niclab.storage.iscsi import iscsi_counts
from niclab.storage.iscsi.iscsi_initiator import attached
from niclab.storage.iscsi.iscsi_target import offering
from niclab.storage.iscsi.iscsi_workloads import require_asked
from niclab.storage.volumes import VOLUMES
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs import endpoints, experiment
from niclab.traffic.runs.measuring import Session
from niclab.traffic.runs.progress import Tell

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
    loads, san, turns = require_loads(run), CongestedSan.of(run), TURNS[profile]
    with san.laid(run, vlan):
        measured = look_before(run, san, loads)
        made = [load_disks(run, san, measured, turns, tell)]
        return answered(run, san, of_all(measured, made), turns, made)


def require_loads(run: Run) -> list[StorageLoad]:
    """Return the loads of the sheet that congest a SAN.

    Args:
        run: The current run.

    Raises:
        NotApplicable: The sheet asks for no load that reads, or a server does not run Linux.
        BenchFault: The dut has no initiator.
    """
    facts = require_asked(run)
    loads = [each for each in LOADS if each in facts.workloads]
    if not loads:
        raise NotApplicable(f"sheet {run.card.name}: iscsi.workloads has no load that reads; expected one to congest")
    return loads


def look_before(run: Run, san: CongestedSan, loads: Sequence[StorageLoad]) -> dict[StorageLoad, MeasuredPath]:
    """Look at both servers before each load.

    Args:
        run: The current run.
        san: The paths, in one VLAN.
        loads: The loads.

    Raises:
        CardFailure: The dut's port negotiated another speed than the sheet's.
        BenchFault: The peer's port did, or an end cannot be read.
        Undecided: A server stood still in each of many runs with itself.
    """
    ends = endpoints.ends(run, san.first, Role.PEER)
    return {load: MeasuredPath.looked_at(run, san.first, ends) for load in loads}


def load_disks(
    run: Run, san: CongestedSan, measured: Mapping[StorageLoad, MeasuredPath], turns: Turns, tell: Tell
) -> DisksLoaded:
    """Load the disks of both SANs by each load, in sessions of their own.

    Args:
        run: The current run.
        san: The paths, in one VLAN.
        measured: Both servers before each load.
        turns: The runs of each load.
        tell: Takes the progress of what lasts long.

    Raises:
        CardFailure: A counter of the dut's port runs backwards.
        BenchFault: A target or a session cannot be made, or a run fails or is worthless.
        Undecided: A server stood still too often in a row.
    """
    with _attached(run, san) as groups, ExitStack() as ending:
        sides = list[_Side]()
        for kind, disks in ((San.BASE, groups[:1]), (San.CONGESTED, groups[1:])):
            agent = DiskAgent(run.server(Role.DUT))
            ending.callback(agent.end)  # before the session: it has the disks open
            names = [name for each in disks for name in each.names]
            sides.append(_Side(run, kind, disks, DiskClient(agent, names, secrets.token_hex(8))))
        return _Loads(run, san, (sides[0], sides[1]), turns, tell).asked(measured)


def judge(run: Run, answers: Sequence[CongestedAnswer], say: Tell, undecided: Sequence[str] = ()) -> None:
    """End the check: return only when content and counts are right, and what was lost is the switch's doing.

    Args:
        run: The current run.
        answers: What was found; the first one must be of a SAN that was congested.
        say: Takes what becomes of frames that tell who damages data.
        undecided: Other reasons why nobody knows.

    Raises:
        CardFailure: The card damages frames, or loses many that its port counts, or a baseline is missed.
        BenchFault: The peer damages frames, counts disagree, or the bench may be why a baseline is missed.
        Undecided: Nobody damages frames, many segments are lost where nobody counts them, no load filled the switch's
            port, or the runs cannot tell.
    """

    def require_whole() -> None:
        for answer in answers:
            damage.require_undamaged(run, answer, say)
        if problems := [f"{answer.subject}: {each}" for answer in answers for each in answer.problems]:
            raise BenchFault("\n".join(problems))

    lost = [each for answer in answers for load in answer.loads for each in load.judgements]
    idle = (
        f"{answers[0].subject}: no load filled the switch's port to the dut, and the switch discarded no more than "
        f"{STRAY_FRAMES} frames of each; expected a congested SAN"
    )
    asked = [question for answer in answers for question in answer.questions()]
    resent.judge(
        lost,
        require_whole,
        lambda: experiment.judge_questions(run.notes, asked) if asked else None,
        [*undecided, *([] if any(load.is_congested for load in answers[0].loads) else [idle])],
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
class _Loads:
    """The loads on both SANs."""

    run: Run
    san: CongestedSan
    sides: tuple[_Side, _Side]
    turns: Turns
    tell: Tell

    def asked(self, measured: Mapping[StorageLoad, MeasuredPath]) -> DisksLoaded:
        counter = SanCounter(self.run, self.san, self._disks)
        before = counter.look()
        for side in self.sides:
            side.client.fill()
        found = dict[StorageLoad, Loaded]()
        with until_all_fail([side.client for side in self.sides]):
            for load, each in measured.items():
                found[load] = self._turns(load, each, counter)
        for side in self.sides:
            side.client.check()
        damaged = tuple(f"{side.san.value}: {each}" for side in self.sides for each in side.client.damaged)
        problems = [] if damaged else self._apart(lambda: counter.since(before))
        return DisksLoaded(found, tuple(problems), damaged)

    def _turns(self, load: StorageLoad, measured: MeasuredPath, counter: SanCounter) -> Loaded:
        """One load on each SAN, in turns; which one is first changes with every turn."""
        run, order = self.run, LoadOrder(duration_s=self.turns.run_s, load=load)
        sessions = {
            side.san: DiskLoads(run, self.san.first, side.client).session(measured.ends, measured.rate_mbps)
            for side in self.sides
        }
        watch, made = standstill.watch(run), {side.san: list[CongestedRun]() for side in self.sides}
        told, before, pauses = watch.told(), counter.look(), self._pauses()
        for turn in range(self.turns.turns):
            for side in self.sides if turn % 2 == 0 else self.sides[::-1]:
                made[side.san].append(self._made(sessions[side.san], side, order))
            self.tell(f"{self.san.named(run)}, {WORDS[load]}: turn {turn + 1} of {self.turns.turns}")
        counts, lost = self._settled(lambda: counter.since(before))
        return Loaded(
            made=made,
            shares=_shares(self.sides[1].disks, counts.disks[1:]),
            pauses={port: each.since(pauses[port]) for port, each in self._pauses().items()},
            lost=lost,
            stood=watch.between(told, watch.told()),
        )

    def _made(self, session: Session, side: _Side, order: LoadOrder) -> CongestedRun:
        names = [name for each in side.disks for name in each.names]
        volumes = [number for each in side.disks for number in each.volumes]
        before = iscsi_counts.look(self.run, names, volumes)
        session.forget()  # the other SAN has used the ports
        run = session.measure(order)
        counts = iscsi_counts.look(self.run, names, volumes).since(before)
        return CongestedRun(run, counts.dut_resent, counts.peer_resent)

    def _settled(self, counted: Callable[[], SanCounts]) -> tuple[SanCounts, tuple[Lost, ...]]:
        """The counts and losses, once the switch has had the time to count what explains them."""
        deadline, dut = Deadline(COUNTED_WITHIN_S), self.run.bench.end(self.san.first, Role.DUT)
        while True:
            counts = counted()
            lost = lost_of(counts.disks[0], counts.switch, counts.ports, dut.name)
            if deadline.expired or not any(each.is_much for each in lost):
                return counts, lost
            pause(min(1.0, deadline.left))

    def _apart(self, counted: Callable[[], SanCounts]) -> list[str]:
        """The contradictions, once the switch has had the time to count what came."""
        return persistent_problems(lambda: self._contradictions(counted()), within=COUNTED_WITHIN_S, every=1)

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

    def _pauses(self) -> dict[str, PortPauses]:
        ports = (self.run.bench.end(self.san.first, Role.DUT), *self.san.sources(self.run))
        return {port.name: pause_frames.look(self.run, port) for port in ports}

    @property
    def _disks(self) -> list[Disks]:
        return [each for side in self.sides for each in side.disks]


def _shares(disks: Sequence[Disks], counts: Sequence[DiskCounts]) -> dict[str, int]:
    return {
        each.source.name: found.disk_read_bytes + found.disk_written_bytes
        for each, found in zip(disks, counts, strict=True)
    }
