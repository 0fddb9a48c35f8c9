"""A test of its own for each row of the card's sheet: ``robot --prerunmodifier libraries/listeners/PerCard.py:CARD``.

A suite holds one test for all rows, whose name begins with ``Every Offload``, ``Every Ring``, ``Every Coalescing
Parameter`` or ``Every Setting``, and a keyword of it gets the argument ``every``. From ``Every Offload Can Be Switched
...`` become ``Offload tso4 Can Be Switched ...`` with the argument ``tso4``, and so on. Without this modifier, and for
a card whose sheet has no such rows, the one test stays: what is tested is the same.
"""

from __future__ import annotations

from collections.abc import Callable

from robot.api import SuiteVisitor
from robot.running import Keyword, TestCase, TestSuite

from niclab.bench.records import OperatingSystem
from niclab.card import Card, Coalescing, Effect, load_card

EVERY = "every"


def _offloads(card: Card, system: OperatingSystem) -> list[str]:
    return [name.value for name in card.offloads.rows(system)] if card.offloads else []


def _rings(card: Card, system: OperatingSystem) -> list[str]:
    rings = card.of_driver("rings", system)
    return [name for name in ("rx", "rx_mini", "rx_jumbo", "tx") if getattr(rings, name, None) is not None]


def _parameters(card: Card, system: OperatingSystem) -> list[str]:
    coalescing = card.of_driver("coalescing", system)
    return [parameter.name for parameter in coalescing.parameters] if isinstance(coalescing, Coalescing) else []


def _effects(card: Card, _: OperatingSystem) -> list[str]:
    return [effect.name for effect in card.effects]


ROWS: dict[str, Callable[[Card, OperatingSystem], list[str]]] = {
    "Offload": _offloads,
    "Ring": _rings,
    "Coalescing Parameter": _parameters,
    "Setting": _effects,
}


class PerCard(SuiteVisitor):
    """Puts one test for each row into the place of a test for all rows.

    :param card: name of a sheet, or its file.
    :param system: the operating system of the dut, whose rows are meant.
    """

    def __init__(self, card: str, system: str = OperatingSystem.LINUX.value) -> None:
        self._card, self._system = load_card(card), OperatingSystem(system)

    def start_suite(self, suite: TestSuite) -> None:
        suite.tests = [made for test in suite.tests for made in self._each(test)]

    def _each(self, test: TestCase) -> list[TestCase]:
        for noun, rows in ROWS.items():
            if test.name.startswith(f"Every {noun} ") and any(EVERY in call.args for call in _calls(test)):
                return [self._one(test, noun, row) for row in rows(self._card, self._system)] or [test]
        return [test]

    def _one(self, test: TestCase, noun: str, row: str) -> TestCase:
        made = _one(test, noun, row)
        if noun == "Setting":
            (effect,) = [each for each in self._card.effects if each.name == row]
            made.tags.add(_tags(effect))
        return made


def _tags(effect: Effect) -> list[str]:
    """The requirement of an effect, and its parameters for Allure."""
    parameters = {
        "setting": ", ".join(map(str, effect.change)),
        "against": ", ".join(map(str, effect.against)),
        "under": ", ".join(map(str, effect.under)),
        "workload": effect.workload.value,
        "sender": effect.sender.value,
        "figure": effect.figure.value,
    }
    tags = [f"allure.param.{name}:{value}" for name, value in parameters.items() if value]
    return [f"req:{effect.requirement}", *tags]


def _one(test: TestCase, noun: str, row: str) -> TestCase:
    made: TestCase = test.deepcopy(name=test.name.replace(f"Every {noun}", f"{noun} {row}", 1))
    for call in _calls(made):
        call.args = tuple(row if argument == EVERY else argument for argument in call.args)
    return made


def _calls(test: TestCase) -> list[Keyword]:
    return [step for step in test.body if isinstance(step, Keyword)]
