"""Every part of every requirement has a test that decides it, or says why it has none; no profile asks half a part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest
from robot.api import TestSuite

from niclab.card import load_card
from niclab.commands.certifying.robot_process import SUITES
from niclab.core.profile import LEFT_OUT, Profile
from niclab.files.repository import REPOSITORY
from niclab.report.allure.tags import DECIDES
from niclab.scope.requirements import load_requirements

SLOW = LEFT_OUT[Profile.QUICK]
REQUIREMENTS = load_requirements()
PARTS = REQUIREMENTS.every_part()


def every_test(suite: TestSuite) -> Iterator[tuple[str, set[str]]]:
    for test in suite.tests:
        yield test.name, set(test.tags)
    for child in suite.suites:
        yield from every_test(child)


@pytest.fixture(scope="module")
def deciding() -> dict[str, dict[str, set[str]]]:
    """The tests that decide each id of their tags, with their tags; an effect of a sheet is such a test as well."""
    found: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for name, tags in every_test(TestSuite.from_file_system(SUITES)):
        for tag in tags:
            if tag.startswith(DECIDES):
                found[tag.removeprefix(DECIDES)][name] = tags
    for sheet in (REPOSITORY / "lab" / "cards").glob("*.yaml"):
        for effect in load_card(sheet.stem).effects:
            found[effect.decides][f"{sheet.stem}: {effect.name}"] = {str(SLOW)}
    return found


def test_every_tag_is_a_part(deciding: dict[str, dict[str, set[str]]]) -> None:
    assert {name: list(tests) for name, tests in deciding.items() if name not in PARTS} == {}


def test_every_part_is_decided_or_says_why_not(deciding: dict[str, dict[str, set[str]]]) -> None:
    assert [name for name, part in PARTS.items() if bool(part.not_covered) == bool(deciding.get(name))] == []


def test_what_a_sheet_decides_is_marked(deciding: dict[str, dict[str, set[str]]]) -> None:
    by_sheets_alone = {name for name, found in deciding.items() if all(": " in test for test in found)}
    assert by_sheets_alone == {name for name, part in PARTS.items() if part.of_sheet}


def test_a_profile_asks_a_part_wholly_or_not_at_all(deciding: dict[str, dict[str, set[str]]]) -> None:
    half = {
        name: {test: SLOW in tags for test, tags in found.items()}
        for name, found in deciding.items()
        if len({SLOW in tags for tags in found.values()}) > 1
    }
    assert half == {}
