"""The question about a factor: the change of each load over iSCSI, in turns with and without a setting of the dut.

The document changes the host alone, so the peer keeps its settings, but for the MTU, which both ends must have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from niclab.bench.records import BenchPath, Role
from niclab.card import Prediction, Setting, SettingKind, Step, StorageLoad
from niclab.card import Sequence as Steps
from niclab.core.profile import Profile
from niclab.core.verdict import ended_by
from niclab.report import now
from niclab.run.run import Run
from niclab.settings.held import require_offered
from niclab.stats.measurements import Measurement
from niclab.stats.questions import Direction, Outcome
from niclab.stats.run_plan import SamplingPlan
from niclab.stats.runner import Pairs
from niclab.storage.disk_counts import DiskCounts
from niclab.storage.disk_figures import figures_of
from niclab.storage.disk_loads import WORDS, LoadOrder, until_all_fail
from niclab.storage.disk_workloads import ends_of, too_much
from niclab.storage.factors.factor_answer import Cost, FactorAnswer
from niclab.storage.factors.variant_sessions import VariantSessions
from niclab.storage.iscsi.iscsi_target import offering
from niclab.storage.iscsi.iscsi_workloads import TOOL
from niclab.storage.storage_figures import Binding, binding, ceilings
from niclab.storage.volumes import DiskTarget
from niclab.traffic.effects import effect, kept_figures
from niclab.traffic.effects.effect import SEED, WITH, WITHOUT, EffectAnswer, EffectBudget
from niclab.traffic.effects.variants import Variants, Way, applied
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs.asker import ToldAsker
from niclab.traffic.runs.progress import Tell
from niclab.traffic.runs.traffic_run import TrafficRun

BUDGETS: Mapping[Profile, EffectBudget] = {
    Profile.QUICK: EffectBudget(run_s=1, first_look=3, met_from=3, most=5, most_s=240),
    Profile.FULL: EffectBudget(run_s=4, first_look=4, met_from=4, most=12, most_s=600),
}
NOT_PREDICTED = Prediction(unknown="no document predicts it for loads over iSCSI")
_UNIT = "operations/s"
_OF_ONE_PORT = {SettingKind.OFFLOAD, SettingKind.SYSCTL, SettingKind.COALESCING, SettingKind.RING, SettingKind.PAUSE}


AtWork = Callable[[str], object]
"""Takes the name of a variant when a session of it has written all of its disks."""


@dataclass(frozen=True)
class Factor:
    """One factor.

    Attributes:
        name: Its name.
        settings: All settings of each variant.
        wanted: The prediction for every load.
        source: Where the prediction is from.
    """

    name: str
    settings: Mapping[str, tuple[Setting, ...]]
    wanted: Prediction
    source: str

    @classmethod
    def of_step(cls, run: Run, sequence: Steps, step: Step) -> Factor:
        """Return a step of the sheet's sequence, against its baseline.

        Args:
            run: The current run.
            sequence: The sequence.
            step: The step.
        """
        settings = {WITHOUT: sequence.baseline, WITH: step.settings}
        return cls(step.name, settings, step.iscsi or NOT_PREDICTED, f"sheet {run.card.name}, {step.name}")

    def split(self) -> tuple[tuple[Setting, ...], dict[str, tuple[Setting, ...]]]:
        """Return the settings that both variants begin with, and what each has of its own."""
        begin, (one, other) = 0, self.settings.values()
        while begin < min(len(one), len(other)) and one[begin] == other[begin]:
            begin += 1
        return one[:begin], {variant: settings[begin:] for variant, settings in self.settings.items()}


@contextmanager
def asking(
    run: Run, loads: Sequence[StorageLoad], profile: Profile, tell: Tell, at_work: AtWork = lambda _: None
) -> Iterator[Callable[[Factor], FactorAnswer]]:
    """Offer a target over the first path inside the ``with`` block; yields what asks about a factor.

    Args:
        run: The current run.
        loads: The loads.
        profile: How many runs may be made, and for how long.
        tell: Takes the progress.
        at_work: Called when a session has written all of its disks.

    Raises:
        BenchFault: The target cannot be made.
        CardFailure: A port of the dut negotiated another speed than the sheet's.
    """
    path = run.bench.paths[0]
    measured = {load: MeasuredPath.looked_at(run, path, ends_of(run, path, load)) for load in loads}
    with offering(run, path) as target:
        yield lambda factor: _Asked(run, path, target, measured, BUDGETS[profile], tell, at_work).ask(factor)


@dataclass(frozen=True)
class _Asked:
    """Asks about factors over a path."""

    run: Run
    path: BenchPath
    target: DiskTarget
    measured: Mapping[StorageLoad, MeasuredPath]
    budget: EffectBudget
    tell: Tell
    at_work: AtWork

    def ask(self, factor: Factor) -> FactorAnswer:
        run, budget = self.run, self.budget
        shared, own = factor.split()
        for setting in (each for settings in factor.settings.values() for each in settings):
            if setting.kind in _OF_ONE_PORT:
                require_offered(run, run.bench.end(self.path, Role.DUT), setting)
        plan = SamplingPlan(
            first_look=budget.first_look,
            met_from=budget.met_from,
            most=budget.most,
            warm_up_runs=0,  # each session writes all of its disks before its first run
            resolution=1 / budget.run_s,
        )
        subject = f"path {self.path.name}, {factor.name} under iSCSI"
        asker = ToldAsker(subject, _UNIT, plan, budget.run_s, budget.most_s, self.tell, 2 * len(self.measured))
        expected = dict.fromkeys(self.measured, effect.expectation_of(factor.wanted, factor.source))
        with applied(run, Way(self.path, Role.DUT, only=Role.DUT), shared) as way:
            variants = Variants(run, way, own)
            sessions = VariantSessions(run, self.path, self.target, variants, self.at_work)
            with ended_by(sessions.close):
                turns = _Turns(self.measured, budget.run_s, sessions, asker)
                found = dict[StorageLoad, tuple[Pairs, Outcome]]()
                with until_all_fail(sessions.clients):
                    found = asker.effects(turns.one, (WITHOUT, WITH), expected, SEED)
                sessions.finish()
        made = turns.made
        too_many = [words for each in made.values() for one in each for words in too_much(one.run)]
        return FactorAnswer(
            title=f"{factor.name} under iSCSI",
            answers=tuple(self._answer(factor, load, asker.plan, *found[load], made[load]) for load in found),
            loads=tuple(found),
            costs=tuple((_cost(WITHOUT, made[load]), _cost(WITH, made[load])) for load in found),
            damaged=tuple(sessions.damaged),
            problems=tuple(sessions.problems) if sessions.damaged else (*sessions.problems, *too_many),
            lost=dict(sessions.lost),
        )

    def _answer(
        self,
        factor: Factor,
        load: StorageLoad,
        plan: SamplingPlan,
        pairs: Pairs,
        result: Outcome,
        made: Sequence[_Made],
    ) -> EffectAnswer:
        run, measured, name = self.run, self.measured[load], f"{factor.name} under iSCSI"
        counted = [each.run for each in made]
        without = figures_of([each.run for each in made if each.variant == WITHOUT])
        whole = Measurement(
            test=f"{measured.ends.name}, {name}, {WORDS[load]}",
            metric=f"iscsi_{load.value.replace('-', '_')}_operations",
            unit=_UNIT,
            better=Direction.HIGHER,
            samples=(0.0,),
            taken=now(),
            key=measured.key(self._order(load)).model_copy(update={"tool": TOOL}),
        )
        figures = {
            each: (factor.settings[each], [pair[at] for pair in pairs]) for at, each in enumerate(factor.settings)
        }
        own = factor.split()[1]
        return EffectAnswer(
            run=measured.ends.name,
            name=f"{name}, {WORDS[load]}",
            what=", ".join(map(str, own[WITH])) or factor.name,
            wanted=factor.wanted,
            result=result,
            pairs=tuple(pairs),
            runs=tuple((each.variant, each.run) for each in made),
            before=measured.before,
            hindrances=measured.hindrances(counted),
            compared=kept_figures.compare_each(run, whole, factor.name, figures, plan, counted),
            doubts=binding(without, ceilings(run, measured), Binding.TARGET).doubts,
        )

    def _order(self, load: StorageLoad) -> LoadOrder:
        return LoadOrder(duration_s=self.budget.run_s, load=load)


@dataclass(frozen=True)
class _Made:
    """A run, and what was counted in it."""

    variant: str
    run: TrafficRun
    counts: DiskCounts


@dataclass
class _Turns:
    """Makes the runs of a turn, and keeps them."""

    measured: Mapping[StorageLoad, MeasuredPath]
    run_s: int
    sessions: VariantSessions
    asker: ToldAsker
    made: dict[StorageLoad, list[_Made]] = field(default_factory=dict)

    def one(self, variant: str, loads: Sequence[StorageLoad]) -> dict[StorageLoad, float]:
        """Load the disks once by each of ``loads``; returns operations a second."""
        return {load: self._run(variant, load) for load in loads}

    def _run(self, variant: str, load: StorageLoad) -> float:
        disks, measured = self.sessions.loads(variant), self.measured[load]
        before = disks.counts()
        session = disks.session(measured.ends, measured.rate_mbps)
        run = self.asker.keep(session.measure(LoadOrder(duration_s=self.run_s, load=load)))
        self.made.setdefault(load, []).append(_Made(variant, run, disks.counts().since(before)))
        return self.asker.told(figures_of([run]).operations_per_s)


def _cost(variant: str, made: Sequence[_Made]) -> Cost:
    own = [each for each in made if each.variant == variant]
    return Cost.of(variant, [each.run for each in own], [each.counts for each in own])
