"""The loads of the sheet by the card's engine and by the software initiator, in turns, over the first path.

Ports and TCP of the dut do not count what an engine sends, so the program on the dut and the target count. Each of both
has a session, a target and disks of its own all the time; one is idle while the other is loaded.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from niclab.bench.records import BenchPath, Role
from niclab.card import StorageLoad
from niclab.core.profile import Profile
from niclab.hosts.counts.load_records import load_between
from niclab.hosts.errors import unreadable
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.stats.run_plan import SamplingPlan
from niclab.storage.disk_counts import DiskCounts, bytes_apart
from niclab.storage.disk_loads import WORDS, DiskAgent, DiskClient
from niclab.storage.iscsi import iscsi_counts
from niclab.storage.iscsi.iscsi_initiator import attached
from niclab.storage.iscsi.iscsi_target import offering
from niclab.storage.iscsi.iscsi_workloads import require_asked
from niclab.storage.offload.engine import Engine, engine_of, forget_mac, require_engine, seen_mac
from niclab.storage.offload.offload_answer import Initiator, Made, OffloadAnswer, OffloadLoad
from niclab.storage.volumes import VOLUMES
from niclab.traffic.effects.effect import SEED, EffectBudget, expectation_of
from niclab.traffic.runs.asker import ToldAsker
from niclab.traffic.runs.progress import Tell

BUDGETS: Mapping[Profile, EffectBudget] = {
    Profile.QUICK: EffectBudget(run_s=1, first_look=3, met_from=3, most=8, most_s=240),
    Profile.FULL: EffectBudget(run_s=4, first_look=4, met_from=4, most=12, most_s=600),
}
_UNIT = "operations/s"


def measure(run: Run, profile: Profile, tell: Tell) -> OffloadAnswer:
    """Load disks by the engine and by the software initiator, in turns.

    Args:
        run: The current run.
        profile: How many runs may be made, and for how long.
        tell: Takes the progress.

    Raises:
        NotApplicable: The sheet has no engine or no load, the kernel no such transport, or a server does not run Linux.
        CardFailure: The engine's MAC address is not that on the sheet.
        BenchFault: A session cannot be made, goes another way, or a program fails.
        Undecided: The port has no engine, or the time was spent before the first look.
    """
    loads, facts = require_asked(run).workloads, require_engine(run)
    path, budget = run.bench.paths[0], BUDGETS[profile]
    subject = f"{run.bench.end(path, Role.DUT).name}, iSCSI by {facts.transport}"
    expected = dict.fromkeys(loads, expectation_of(facts.wanted, f"sheet {run.card.name}"))
    with engine_of(run, path, facts) as engine:
        forget_mac(run, path, engine)
        with _sides(run, path, engine) as sides:
            before = [_counted(run, side) for side in sides]
            for side in sides:
                side.client.fill()
            asker = ToldAsker(subject, _UNIT, _plan(budget), budget.run_s, budget.most_s, tell, 2 * len(loads))
            turns = _Turns(run, sides, budget.run_s, asker)
            found = asker.effects(turns.one, (Initiator.SOFTWARE, Initiator.ENGINE), expected, SEED)
            for side in sides:
                side.client.check()
            mac = seen_mac(run, path, engine)
            counts = [_counted(run, side).since(each) for side, each in zip(sides, before, strict=True)]
    damaged = tuple(f"{side.initiator.value}: {each}" for side in sides for each in side.client.damaged)
    apart = [
        f"{side.initiator.value}: {each}"
        for side, counted in zip(sides, counts, strict=True)
        for each in bytes_apart(counted, side.client.total)
    ]
    return OffloadAnswer(
        subject=subject,
        facts=facts,
        engine=engine,
        mac=mac,
        loads=tuple(
            OffloadLoad(f"{subject}, {WORDS[load]}", load, tuple(pairs), result, turns.of(load))
            for load, (pairs, result) in found.items()
        ),
        problems=() if damaged else tuple(apart),
        damaged=damaged,
    )


def _plan(budget: EffectBudget) -> SamplingPlan:
    return SamplingPlan(
        first_look=budget.first_look,
        met_from=budget.met_from,
        most=budget.most,
        warm_up_runs=0,  # each session has written all of its disks before
        resolution=1 / budget.run_s,
    )


@dataclass(frozen=True)
class _Side:
    """One initiator with a session of its own. ``volumes``: their numbers at the target."""

    initiator: Initiator
    client: DiskClient
    disks: tuple[str, ...]
    volumes: range


@dataclass
class _Turns:
    """Makes the loads of a turn, and keeps what was found."""

    run: Run
    sides: tuple[_Side, ...]
    run_s: int
    asker: ToldAsker
    made: list[Made] = field(default_factory=list)

    def of(self, load: StorageLoad) -> tuple[Made, ...]:
        """Return what was made by one load."""
        return tuple(each for each in self.made if each.load is load)

    def one(self, variant: str, loads: Sequence[StorageLoad]) -> dict[StorageLoad, float]:
        """Load the disks of one initiator once by each of ``loads``; returns operations a second."""
        (side,) = (each for each in self.sides if each.initiator.value == variant)
        return {load: self._load(side, load) for load in loads}

    def _load(self, side: _Side, load: StorageLoad) -> float:
        run, host = self.run, self.run.server(Role.DUT).host.counts
        watch = standstill.watch(run)
        told, before, cpu = watch.told(), _counted(run, side), host.cpu_times()
        counts = side.client.load(load, self.run_s)
        spent = load_between(cpu, host.cpu_times())
        commands = _counted(run, side).since(before).target_commands
        may_kib, can_kib = _limits(run, side.disks)
        made = Made(
            initiator=side.initiator,
            load=load,
            counts=counts,
            commands=commands,
            busy=spent.busiest[1].busy,
            waiting=spent.mean_waiting,
            may_kib=may_kib,
            can_kib=can_kib,
            stood=watch.between(told, watch.told()),
        )
        self.made.append(made)
        return self.asker.told(made.per_s)


@contextmanager
def _sides(run: Run, path: BenchPath, engine: Engine) -> Iterator[tuple[_Side, ...]]:
    """A session of each initiator inside the ``with`` block, each with a target and disks of its own."""
    own, others = range(VOLUMES), range(VOLUMES, 2 * VOLUMES)
    with (
        offering(run, path, own) as first,
        offering(run, path, others, after=first) as second,
        attached(run, path, first) as by_software,
        attached(run, path, second, engine.record, engine.address) as by_engine,
        ExitStack() as ending,
    ):
        found = list[_Side]()
        for initiator, disks, volumes in (
            (Initiator.SOFTWARE, by_software, own),
            (Initiator.ENGINE, by_engine, others),
        ):
            agent = DiskAgent(run.server(Role.DUT))
            ending.callback(agent.end)  # before the session: it has the disks open
            found.append(_Side(initiator, DiskClient(agent, disks, secrets.token_hex(8)), disks, volumes))
        yield tuple(found)


def _counted(run: Run, side: _Side) -> DiskCounts:
    return iscsi_counts.look(run, side.disks, side.volumes)


def _limits(run: Run, disks: Sequence[str]) -> tuple[int, int]:
    """Most data of a command in KiB: by the setting of the disks, and by their driver; of each the least."""
    names = ("max_sectors_kb", "max_hw_sectors_kb")
    command = "cat " + " ".join(f"/sys/block/{disk}/queue/{name}" for name in names for disk in disks)
    words = run.server(Role.DUT).run(command).stdout.split()
    if len(words) != 2 * len(disks) or not all(each.isdecimal() for each in words):
        raise unreadable(command, "text", " ".join(words), f"{2 * len(disks)} numbers")
    values = list(map(int, words))
    return min(values[: len(disks)]), min(values[len(disks) :])
