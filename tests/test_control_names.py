"""Negative controls name tests of the suites: each of them is there, or a control would select nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from robot import running

REPOSITORY = Path(__file__).resolve().parents[1]
CONTROLS = sorted((REPOSITORY / "tests/controls").glob("*.py"))
NAME = re.compile(r"[A-Z][\w'-]*( [\w'.-]+){2,}")
ROW = re.compile(r"^(Offload|Ring|Coalescing Parameter|Setting) \S+ ")
"""A test of one row of the sheet, made from the test of every row."""


def all_tests() -> list[str]:
    """Names of the tests of the suites, and of those that the documentation shows."""
    folders = (REPOSITORY / "suites", REPOSITORY / "docs" / "examples")
    return [test.name for folder in folders for test in running.TestSuite.from_file_system(folder).all_tests]


@pytest.fixture(scope="module")
def tests() -> set[str]:
    return set(all_tests())


def named(text: str) -> Iterator[str]:
    """Strings that have the form of a test's name; texts that stand alone are documentation."""
    tree = ast.parse(text)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        value = getattr(node, "value", None)
        if (
            isinstance(node, ast.Constant)
            and id(node) not in alone
            and isinstance(value, str)
            and NAME.fullmatch(value)
        ):
            yield value


def missing(text: str, tests: set[str]) -> list[str]:
    """Names, or beginnings of names, that no test has."""
    wanted = {name: ROW.sub(r"Every \1 ", name) for name in named(text)}
    return [name for name, of_all_rows in wanted.items() if not any(test.startswith(of_all_rows) for test in tests)]


@pytest.mark.parametrize("file", CONTROLS, ids=lambda file: file.stem)
def test_every_test_that_a_control_names_exists(file: Path, tests: set[str]) -> None:
    assert missing(file.read_text(), tests) == []


def test_a_name_that_is_gone_would_be_found(tests: set[str]) -> None:
    """Negative control of this file's own search; a few names of either kind are found in the controls."""
    assert missing('GONE = "Every Link Is Purple"\n"""Only A Text Here"""', tests) == ["Every Link Is Purple"]
    found = {name for file in CONTROLS for name in named(file.read_text())}
    assert len(found) > 40 and "Losing A Link Of A balance-alb Bond Costs At Most The Allowed Outage" in found


def test_no_two_tests_have_the_same_name(tests: set[str]) -> None:
    """A control, a report and ``--test`` select tests by name."""
    assert len(all_tests()) == len(tests)
