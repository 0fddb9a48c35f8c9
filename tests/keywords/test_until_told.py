"""A measurement that cannot tell is made again, and never one that can: as Robot Framework runs the keyword."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from robot.api import ExecutionResult
from robot.run import run as robot  # type: ignore[import-untyped]  # the package has no marker

ROOT = Path(__file__).resolve().parents[2]
RESOURCE = ROOT / "resources/bonding.resource"
LIBRARY = """
from niclab.core.verdict import CardFailure, Undecided

TOLD = {told!r}
MADE = []

def a_measurement(what, by):
    MADE.append((what, by))
    word = TOLD[len(MADE) - 1]
    if word == "card":
        raise CardFailure("dut to peer: outage 900 ms")
    if word == "lost":
        raise Undecided("dut to peer: outage 0 to 1755 ms\\npeer to dut: outage 0 to 900 ms")

def made():
    return MADE
"""
SUITE = """
*** Settings ***
Resource    {resource}
Library     {library}

*** Test Cases ***
Asked
    [Teardown]    Count
    Until It Can Be Told    A Measurement    a gap    by=cable

*** Keywords ***
Count
    ${{made}} =    Made
    Log    ${{made}}
"""


@pytest.mark.parametrize(
    ("told", "made", "message"),
    [
        (("yes",), 1, ""),
        (("lost", "yes"), 2, ""),
        (("lost", "lost", "yes"), 3, ""),
        (("lost", "lost", "lost"), 3, "Undecided: dut to peer: outage 0 to 1755 ms\npeer to dut: outage 0 to 900 ms"),
        (("card", "yes"), 1, "CardFailure: dut to peer: outage 900 ms"),
        (("lost", "card", "yes"), 2, "CardFailure: dut to peer: outage 900 ms"),
    ],
)
def test_it_is_measured_again_while_it_cannot_be_told(
    tmp_path: Path, told: tuple[str, ...], made: int, message: str
) -> None:
    library = tmp_path / "Measuring.py"
    library.write_text(LIBRARY.format(told=told))
    suite = tmp_path / "toy.robot"
    suite.write_text(SUITE.format(resource=RESOURCE, library=library))
    quiet = {"log": None, "report": None, "console": "none", "stdout": io.StringIO(), "stderr": io.StringIO()}
    robot(str(suite), outputdir=str(tmp_path), **quiet)
    result = ExecutionResult(tmp_path / "output.xml")
    (test,) = result.suite.all_tests
    assert (test.message, test.passed) == (message, not message)
    assert test.teardown.body[1].body[0].message == str([("a gap", "cable")] * made)
    warnings = [each.message for each in result.errors.messages if each.level == "WARN"]
    assert len(warnings) == told[:made].count("lost") - (told[:made] == ("lost",) * 3)
    assert all("outage 0 to 1755 ms" in each for each in warnings)


def test_every_measurement_of_the_suites_is_a_keyword_of_the_resources() -> None:
    """A dry run does not look into the arguments of a keyword."""
    texts = [file.read_text() for file in (*ROOT.glob("resources/*.resource"), *ROOT.glob("suites/*/*.robot"))]
    asked = {name for text in texts for name in re.findall(r"^ +Until It Can Be Told {2,}(.+?)(?: {2,}|$)", text, re.M)}
    known = {line for text in texts for line in text.splitlines()}
    assert len(asked) >= 5
    assert asked <= known
