"""What settings do to the traffic, against what the sheet predicts: with and without, in turns."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import BenchPath
from niclab.card import Effect, Setting, SettingKind
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.run.run import current
from niclab.traffic import effect
from niclab.traffic.effect import Answer
from Sweeps import show_chart

EVERY = "every"
"""Stands for all effects of the sheet."""
UNSAFE = "DEL-08"
"""The requirement of the foible that checksum offload must stay on under iSCSI."""


@library(scope="GLOBAL")
class Effects(BenchLibrary):
    """Keywords about the effects of settings. Constructing the library connects to nothing."""

    @keyword
    def effect_should_be_as_on_the_sheet(self, name: str, profile: Profile) -> None:
        """A setting of the sheet's ``effects`` (or ``every``) has the effect that the sheet predicts.

        Runs with and without it are made in turns until the change is clearly as predicted or clearly not, or the
        budget is spent. Every setting is read back, and put back. What nobody can predict is measured, and the test
        is not applicable.
        """
        run = self.run
        answers, others = list[Answer](), list[str]()
        for each in _chosen(run.card.effects, name):
            _warn(each.change + each.under)
            try:
                answers.append(effect.ask(run, _path(), each, effect.BUDGETS[profile], logger.console))
            except NotApplicable as error:
                others.append(f"{each.name}: {error}")
                continue
            _show(f"Effect of {each.name}", [answers[-1]])
        _judge(answers, others)

    @keyword
    def each_factor_alone_should_change_what_the_sheet_predicts(self, profile: Profile) -> None:
        """The sheet's ``sequence``: each step against its baseline and back, one factor at a time, in percent of it."""
        run = self.run
        sequence = run.card.section(run.card.sequence, "sequence")
        answers, others = list[Answer](), list[str]()
        for number, step in enumerate(sequence.steps, 1):
            _warn(step.settings)
            try:
                answers.append(effect.ask_step(run, _path(), sequence, step, effect.BUDGETS[profile], logger.console))
            except NotApplicable as error:
                others.append(f"{step.name}: {error}")
                continue
            logger.info(f"step {number} of {len(sequence.steps)}: {step.name}: {answers[-1].reason}", also_console=True)
        if answers:
            _show(f"One factor at a time {answers[0].run}", answers)
        _judge(answers, others)


def _judge(answers: list[Answer], others: list[str]) -> None:
    """Judge what could be asked; what could not is told.

    :raises NotApplicable: when nothing could.
    """
    for text in others:
        logger.info(f"not applicable: {text}")
    if not answers:
        raise NotApplicable("; ".join(others))
    effect.judge(answers)


def _chosen(effects: tuple[Effect, ...], name: str) -> list[Effect]:
    """:raises NotApplicable: when the sheet predicts none.
    :raises BenchFault: for a name that the sheet does not have.
    """
    card = current().card.name
    if not effects:
        raise NotApplicable(f"sheet {card} predicts no effects")
    chosen = [each for each in effects if name in (EVERY, each.name)]
    if not chosen:
        known = ", ".join(each.name for each in effects)
        raise BenchFault(f"effect {name!r} is not on sheet {card}; wanted: {EVERY}, {known}")
    return chosen


def _warn(settings: tuple[Setting, ...]) -> None:
    """Say so when something is switched that the sheet calls unsafe."""
    for setting in settings:
        if setting.kind is SettingKind.OFFLOAD and setting.name in ("tx-checksum", "rx-checksum") and not setting.to:
            for foible in current().card.foibles:
                if foible.requirement == UNSAFE:
                    logger.warn(f"{setting}: {foible.text} ({foible.source})")


def _show(title: str, answers: list[Answer]) -> None:
    for answer in answers:
        logger.info(f"{answer.subject}: {answer.reason}")
        for compared in answer.compared:
            logger.info(f"{answer.subject}, {compared}")
        for hindrance in answer.hindrances:
            logger.info(f"the bench may hold it back: {hindrance}")
    show_chart(effect.chart(title, answers), tuple(run for answer in answers for _, run in answer.runs))


def _path() -> BenchPath:
    return current().bench.paths[0]
