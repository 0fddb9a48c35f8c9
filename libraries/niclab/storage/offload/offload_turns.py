"""The loads of the sheet by the card's engine and by the software initiator, in turns, over the first path.

Ports and TCP of the dut do not count what an engine sends, so the program on the dut and the target count. A session is
made for each turn: two of them at once would share the disks.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from niclab.bench.records import BenchPath, Role
from niclab.card import IscsiLoad, IscsiOffload
from niclab.core.profile import Profile
from niclab.hosts.counts.load_records import load_between
from niclab.hosts.errors import unreadable
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.stats.questions import Outcome
from niclab.stats.run_plan import SamplingPlan
from niclab.stats.runner import Pairs
from niclab.storage import iscsi_counts
from niclab.storage.iscsi_counts import bytes_apart
from niclab.storage.iscsi_initiator import DEFAULT, attached
from niclab.storage.iscsi_loads import WORDS, IscsiAgent, IscsiClient
from niclab.storage.iscsi_target import IscsiTarget, offering
from niclab.storage.iscsi_workloads import require_asked
from niclab.storage.offload.engine import Engine, engine_of, forget_mac, require_engine, seen_mac
from niclab.storage.offload.offload_answer import Initiator, Made, OffloadAnswer, OffloadLoad
from niclab.traffic.effects.effect import SEED, EffectBudget, expectation_of
from niclab.traffic.runs.asker import ToldAsker
from niclab.traffic.runs.progress import Tell

BUDGETS: Mapping[Profile, EffectBudget] = {
    Profile.QUICK: EffectBudget(run_s=1, first_look=3, met_from=3, most=5, most_s=240),
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
    plan = SamplingPlan(
        first_look=budget.first_look,
        met_from=budget.met_from,
        most=budget.most,
        warm_up_runs=0,
        resolution=1 / budget.run_s,
    )
    asker = ToldAsker(subject, _UNIT, plan, budget.run_s, budget.most_s, tell, 2 * len(loads))
    expected = dict.fromkeys(loads, expectation_of(facts.wanted, f"sheet {run.card.name}"))
    with engine_of(run, path, facts) as engine, offering(run, path) as target:
        turns = _Turns(run, path, target, engine, budget.run_s, asker)
        variants = (Initiator.SOFTWARE.value, Initiator.ENGINE.value)
        found = asker.effects(turns.one, variants, expected, SEED)
    return _answer(subject, facts, turns, found)


def _answer(
    subject: str, facts: IscsiOffload, turns: _Turns, found: Mapping[IscsiLoad, tuple[Pairs, Outcome]]
) -> OffloadAnswer:
    answers = tuple(
        OffloadLoad(
            subject=f"{subject}, {WORDS[load]}",
            load=load,
            pairs=tuple(pairs),
            result=result,
            made=tuple(each for each in turns.made if each.load is load),
        )
        for load, (pairs, result) in found.items()
    )
    return OffloadAnswer(
        subject,
        facts,
        turns.engine,
        tuple(dict.fromkeys(turns.macs)),
        answers,
        tuple(turns.problems),
        tuple(turns.damaged),
    )


@dataclass
class _Turns:
    """Makes the loads of a turn, each turn in a session of its own, and keeps what was found."""

    run: Run
    path: BenchPath
    target: IscsiTarget
    engine: Engine
    run_s: int
    asker: ToldAsker
    made: list[Made] = field(default_factory=list)
    macs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def one(self, variant: str, loads: Sequence[IscsiLoad]) -> dict[IscsiLoad, float]:
        """Load the disks once by each of ``loads``; returns operations a second."""
        initiator = Initiator(variant)
        by_engine = initiator is Initiator.ENGINE
        forget_mac(self.run, self.path, self.engine)
        record = (self.engine.record, self.engine.address) if by_engine else (DEFAULT, "")
        with attached(self.run, self.path, self.target, *record) as disks, ExitStack() as ending:
            agent = IscsiAgent(self.run.server(Role.DUT))
            ending.callback(agent.end)  # before the session: it has the disks open
            client = IscsiClient(agent, disks, secrets.token_hex(8))
            before = iscsi_counts.look(self.run, disks)
            client.fill()
            rates = {load: self._load(initiator, client, disks, load) for load in loads}
            client.check()
            counts = iscsi_counts.look(self.run, disks).since(before)
            if by_engine:
                self.macs.append(seen_mac(self.run, self.path, self.engine))
        self.damaged += [f"{variant}: {each}" for each in client.damaged]
        self.problems += [] if client.damaged else [f"{variant}: {each}" for each in bytes_apart(counts, client.total)]
        return rates

    def _load(self, initiator: Initiator, client: IscsiClient, disks: Sequence[str], load: IscsiLoad) -> float:
        run, host = self.run, self.run.server(Role.DUT).host.counts
        watch = standstill.watch(run)
        told, before, cpu = watch.told(), iscsi_counts.look(run, disks), host.cpu_times()
        counts = client.load(load, self.run_s)
        spent = load_between(cpu, host.cpu_times())
        commands = iscsi_counts.look(run, disks).since(before).target_commands
        may_kib, can_kib = self._limits(disks)
        made = Made(
            initiator=initiator,
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

    def _limits(self, disks: Sequence[str]) -> tuple[int, int]:
        """Most data of a command in KiB: by the setting of the disks, and by their driver; of each the least."""
        names = ("max_sectors_kb", "max_hw_sectors_kb")
        command = "cat " + " ".join(f"/sys/block/{disk}/queue/{name}" for name in names for disk in disks)
        words = self.run.server(Role.DUT).run(command).stdout.split()
        if len(words) != 2 * len(disks) or not all(each.isdecimal() for each in words):
            raise unreadable(command, "text", " ".join(words), f"{2 * len(disks)} numbers")
        values = list(map(int, words))
        return min(values[: len(disks)]), min(values[len(disks) :])
