"""A test for each row of the card's sheet: ``robot --prerunmodifier libraries/listeners/PerCard.py:CARD suites/``.

A suite holds one test for all rows. Its tag names the axis, such as ``per:offload``, and a keyword of it has the
argument ``every``. ``Every Offload Can Be Switched ...`` becomes ``Offload tso4 Can Be Switched ...`` with the argument
``tso4``, and so on. Without this modifier, and for a card whose sheet has no such rows, the one test stays: what is
tested is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robot.api import SuiteVisitor
from robot.running import Keyword, TestCase, TestSuite

from niclab.bench.records import OperatingSystem
from niclab.card import Card, CoalescingFacts, Effect, load_card
from niclab.report.allure.tags import DECIDES

EVERY = "every"
PREFIX = "per:"


def _offloads(card: Card, system: OperatingSystem) -> list[str]:
    return [name.value for name in card.offloads.rows(system)] if card.offloads else []


def _rings(card: Card, system: OperatingSystem) -> list[str]:
    rings = card.of_driver("rings", system)
    return [name for name in ("rx", "rx_mini", "rx_jumbo", "tx") if getattr(rings, name, None) is not None]


def _parameters(card: Card, system: OperatingSystem) -> list[str]:
    coalescing = card.of_driver("coalescing", system)
    return [parameter.name for parameter in coalescing.parameters] if isinstance(coalescing, CoalescingFacts) else []


def _effects(card: Card, _: OperatingSystem) -> list[str]:
    return [effect.name for effect in card.effects]


@dataclass(frozen=True)
class Axis:
    """Rows of a sheet. ``noun``: what a row is called in the name of its test."""

    noun: str
    rows: Callable[[Card, OperatingSystem], list[str]]


AXES: dict[str, Axis] = {
    "offload": Axis("Offload", _offloads),
    "ring": Axis("Ring", _rings),
    "coalescing": Axis("Coalescing Parameter", _parameters),
    "setting": Axis("Setting", _effects),
}


class PerCard(SuiteVisitor):
    """Puts one test for each row into the place of a test for all rows.

    A test whose tag names no axis, or that has such a tag and no argument ``every``, fails with the reason.

    Args:
        card: Name of a sheet, or its file.
        system: Operating system of the dut, whose rows are meant.

    Raises:
        BenchFault: There is no such sheet, or it is wrong.
    """

    def __init__(self, card: str, system: str = OperatingSystem.LINUX.value) -> None:
        self._card, self._system = load_card(card), OperatingSystem(system)

    def start_suite(self, suite: TestSuite) -> None:
        """Replace the tests of a suite.

        Args:
            suite: The suite; tests without a tag ``per:`` stay as they are.
        """
        suite.tests = [made for test in suite.tests for made in self._each(test)]

    def _each(self, test: TestCase) -> list[TestCase]:
        names = [str(tag)[len(PREFIX) :] for tag in test.tags if str(tag).startswith(PREFIX)]
        if not names:
            return [test]
        problem = _problem(test, names)
        if problem:
            test.error = f"BenchFault: {problem}"
            return [test]
        axis = AXES[names[0]]
        return [self._one(test, names[0], row) for row in axis.rows(self._card, self._system)] or [test]

    def _one(self, test: TestCase, axis: str, row: str) -> TestCase:
        suite, test.parent = test.parent, None  # or every suite of the run is copied along
        made: TestCase = test.deepcopy(name=_name(test.name, AXES[axis].noun, row))
        test.parent = suite
        for call in _calls(made):
            call.args = tuple(row if argument == EVERY else argument for argument in call.args)
        if axis == "setting":
            (effect,) = [each for each in self._card.effects if each.name == row]
            made.tags.add(_tags(effect))
        return made


def _problem(test: TestCase, names: list[str]) -> str | None:
    """Return what keeps a test with the tags ``per:NAME`` from becoming one test a row."""
    known = ", ".join(f"{PREFIX}{name}" for name in AXES)
    if len(names) > 1 or names[0] not in AXES:
        return f"test {test.name!r}: tag {', '.join(PREFIX + name for name in names)}; expected one of {known}"
    if not any(EVERY in call.args for call in _calls(test)):
        return f"test {test.name!r}: tag {PREFIX}{names[0]}; expected a keyword with the argument {EVERY!r}"
    return None


def _name(name: str, noun: str, row: str) -> str:
    every = f"Every {noun} "
    return f"{noun} {row} {name.removeprefix(every)}" if name.startswith(every) else f"{name}: {row}"


def _tags(effect: Effect) -> list[str]:
    """The part of a requirement that an effect decides, and its parameters for Allure."""
    parameters = {
        "setting": ", ".join(map(str, effect.change)),
        "against": ", ".join(map(str, effect.against)),
        "under": ", ".join(map(str, effect.under)),
        "workload": effect.workload.value,
        "sender": effect.sender.value,
        "figure": effect.figure.value,
    }
    tags = [f"allure.param.{name}:{value}" for name, value in parameters.items() if value]
    return [f"{DECIDES}{effect.decides}", *tags]


def _calls(test: TestCase) -> list[Keyword]:
    return [step for step in test.body if isinstance(step, Keyword)]
