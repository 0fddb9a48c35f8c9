"""The effects of settings that the sheet predicts: each asked, shown and judged together.

Each raises Undecided where the runs cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from niclab.bench.records import BenchPath, SiliconFact
from niclab.card import Effect, Figure, Prediction, Setting, SettingKind
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, NotApplicable, SheetSilent, none_applies
from niclab.report.reporter import Reporter
from niclab.run.run import Run
from niclab.settings.offloads.unsafe import CHECKSUMS
from niclab.traffic.effects import effect
from niclab.traffic.effects.effect import EffectAnswer, EffectAnswers, EffectBudget
from niclab.traffic.runs import experiment
from niclab.traffic.runs.experiment import Ended
from niclab.traffic.runs.progress import Tell

EVERY = "every"
"""The name that means all effects of the sheet."""
CHECKSUM_NAMES = tuple(each.value for each in CHECKSUMS)
CPU_FIGURES = (Figure.SENDER_CPU, Figure.RECEIVER_CPU)
VLAN_ID, VLAN_REQUIREMENT = 3, "CARD-05"
BOND_MODE, BOND_VLAN_REQUIREMENT = "active-backup", "SUS-07"


def judge_effects(run: Run, name: str, profile: Profile, reporter: Reporter) -> None:
    """Judge whether settings have the effects that the sheet predicts, over the first path.

    Args:
        run: The current run.
        name: Name of an effect of the sheet, or ``every``.
        profile: How many runs may be made, and for how long.
        reporter: Where the effects are shown.

    Raises:
        CardFailure: An effect does not show, and nothing of the bench explains it.
        BenchFault: A run fails, the bench may explain a missing effect, or the sheet has no effect of that name.
        NotApplicable: The sheet predicts none, or a setting cannot be had here.
    """
    asked, budget = _Asked(run, reporter), effect.BUDGETS[profile]
    for each in _chosen(run, name):
        answer = asked.ask(each.name, partial(_ask_silicon, run, each, budget, reporter.progress))
        if answer is not None:
            experiment.show(EffectAnswers(f"Effect of {each.name}", (answer,)), reporter)
            for reference in run.card.references:
                if reference.requirement == each.requirement:
                    reporter.say(f"{each.name}: measured elsewhere: {reference}")
    asked.judge()


def judge_vlan(run: Run, profile: Profile, reporter: Reporter) -> None:
    """Judge whether TCP in a VLAN reaches the sheet's fraction of untagged TCP, over each path that is a cable.

    Args:
        run: The current run.
        profile: How many runs may be made, and for how long.
        reporter: Where the comparisons are shown.

    Raises:
        CardFailure: It does not, and nothing of the bench explains it.
        BenchFault: A run fails, or the bench may explain the loss.
        NotApplicable: The sheet does not know the fraction, or no path is a cable.
        SheetSilent: The sheet says nothing about it.
    """
    tagged = Setting(kind=SettingKind.VLAN, to=VLAN_ID)
    _judge_tagged(run, profile, reporter, "TCP in a VLAN against untagged", run.bench.paths, tagged)


def judge_vlan_on_bond(run: Run, profile: Profile, reporter: Reporter) -> None:
    """Judge whether TCP in a VLAN on active-backup bonds reaches the sheet's fraction of TCP over the bonds alone.

    Args:
        run: The current run.
        profile: How many runs may be made, and for how long.
        reporter: Where the comparison is shown.

    Raises:
        CardFailure: It does not, and nothing of the bench explains it.
        BenchFault: A run fails, or the bench may explain the loss.
        NotApplicable: The sheet does not know the fraction, or the bench has one path.
        SheetSilent: The sheet says nothing about it.
    """
    tagged, bond = Setting(kind=SettingKind.VLAN_ON_BOND, to=VLAN_ID), Setting(kind=SettingKind.BOND, to=BOND_MODE)
    title = "TCP in a VLAN on a bond against the bond"
    _judge_tagged(run, profile, reporter, title, run.bench.paths[:1], tagged, (bond,))


def _judge_tagged(
    run: Run,
    profile: Profile,
    reporter: Reporter,
    title: str,
    paths: Sequence[BenchPath],
    tagged: Setting,
    under: tuple[Setting, ...] = (),
) -> None:
    """Judge ``tagged`` traffic against untagged by the sheet's fraction. ``under``: settings of both."""
    field, card = "limits.vlan_fraction_of_untagged", run.card
    fact = card.limits.vlan_fraction_of_untagged
    if fact is None:
        raise SheetSilent(f"sheet {card.name} says nothing about {field}")
    fraction = card.known(fact, field)
    expected = Effect(
        name=tagged.kind.value,
        requirement=VLAN_REQUIREMENT if not under else BOND_VLAN_REQUIREMENT,
        change=(tagged,),
        under=under,
        wanted=Prediction(loses_at_most_percent=100 * (1 - fraction)),
        source=card.limits.source,
    )
    asked, budget, source = _Asked(run, reporter), effect.BUDGETS[profile], f"sheet {card.name}, {field} {fraction:g}"
    for path in paths:
        question = partial(effect.ask, run, path, expected, budget, reporter.progress, source=source)
        asked.ask(path.name, question)
    if asked.answers:
        experiment.show(EffectAnswers(title, tuple(asked.answers)), reporter)
    asked.judge()


def judge_sequence(run: Run, profile: Profile, reporter: Reporter) -> None:
    """Judge each step of the sheet's sequence against its baseline, one factor at a time, over the first path.

    Args:
        run: The current run.
        profile: How many runs may be made, and for how long.
        reporter: Where the steps are shown.

    Raises:
        CardFailure: A step does not change what the sheet predicts, and nothing of the bench explains it.
        BenchFault: A run fails, or the bench may explain a missing change.
        NotApplicable: The sheet has no sequence, or no step can be had here.
    """
    sequence = run.card.section(run.card.sequence, "sequence")
    asked, budget = _Asked(run, reporter), effect.BUDGETS[profile]
    for number, step in enumerate(sequence.steps, 1):
        question = partial(effect.ask_step, run, run.bench.paths[0], sequence, step, budget, reporter.progress)
        answer = asked.ask(step.name, question)
        if answer is not None:
            said = f"step {number} of {len(sequence.steps)}: {step.name}: {answer.reason}"
            reporter.say(said)
            reporter.progress(said)
    if asked.answers:
        title = f"One factor at a time {asked.answers[0].run}"
        experiment.show(EffectAnswers(title, tuple(asked.answers)), reporter)
    asked.judge()


@dataclass
class _Asked:
    """The effects that were asked. ``others``: names of those that cannot be asked here, and why.

    ``ended``: how those have ended that have no answer; they hide no failure of another.
    """

    run: Run
    reporter: Reporter
    answers: list[EffectAnswer] = field(default_factory=list)
    others: list[tuple[str, NotApplicable]] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)

    def ask(self, name: str, question: Callable[[], EffectAnswer]) -> EffectAnswer | None:
        """Ask for one effect; None where it is not applicable, or has no answer."""
        try:
            answer = experiment.asked(question, self.ended)
        except NotApplicable as error:
            self.others.append((name, error))
            return None
        if answer is not None:
            self.answers.append(answer)
        return answer

    def judge(self) -> None:
        """Judge what could be asked, and log what could not; where nothing could, for the kind of reason they share."""
        for name, error in self.others:
            self.reporter.say(f"not applicable: {name}: {error}")
        if not self.answers and not self.ended:
            raise none_applies(self.others)
        experiment.judge(self.run.notes, [EffectAnswers("effects", tuple(self.answers))], self.ended)


def _ask_silicon(run: Run, asked: Effect, budget: EffectBudget, tell: Tell) -> EffectAnswer:
    """Ask for an effect over the first path, unless the bench declares that its emulated card cannot show it."""
    sums = any(each.kind is SettingKind.OFFLOAD and each.name in CHECKSUM_NAMES for each in asked.change)
    declared = run.bench.deviation(run.card.name, SiliconFact.CHECKSUM_WORK)
    if sums and asked.figure in CPU_FIGURES and declared is not None:
        raise declared.verdict(f"a checksum that is left to the card costs the server nothing, {asked.name}")
    return effect.ask(run, run.bench.paths[0], asked, budget, tell)


def _chosen(run: Run, name: str) -> list[Effect]:
    effects, card = run.card.effects, run.card.name
    if not effects:
        raise NotApplicable(f"sheet {card} predicts no effects")
    chosen = [each for each in effects if name in (EVERY, each.name)]
    if not chosen:
        known = ", ".join(each.name for each in effects)
        raise BenchFault(f"effect {name!r} is not on sheet {card}; expected {EVERY}, {known}")
    return chosen
