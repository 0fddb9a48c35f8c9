"""One test for each row of a sheet."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import pytest
from parsed_suites import parsed, suites
from robot import running  # type: ignore[import-untyped]  # the package has no marker

from listeners.PerCard import PerCard
from niclab.card import load_card
from niclab.core.verdict import BenchFault


def all_tests(suite: running.TestSuite) -> list[running.TestCase]:
    return [*suite.tests, *(test for child in suite.suites for test in all_tests(child))]


@cache
def modified(card: str, system: str = "linux") -> dict[str, running.TestCase]:
    """The tests of the suites as the modifier leaves them."""
    suite = suites()
    suite.visit(PerCard(card, system))
    return {test.name: test for test in all_tests(suite)}


def test_each_row_has_a_test_named_after_it_that_asks_for_it() -> None:
    made = modified("emulex-oce11102")
    test = made["Offload tso4 Can Be Switched As On The Sheet"]
    assert [call.args for call in test.body] == [("tso4",)]
    assert "req:EMX-06/switching" in test.tags
    assert [call.args for call in made["Ring rx Takes Its Range"].body] == [("rx",)]
    assert [call.args for call in made["Coalescing Parameter rx-usecs Can Be Set"].body] == [("rx-usecs",)]
    assert not [name for name in made if name.startswith(("Every Offload", "Every Ring", "Every Coalescing"))]
    assert "Every Link Is Up" in made  # no row of a sheet


def test_every_row_of_the_sheet_has_one() -> None:
    made, card = modified("emulex-oce11102"), load_card("emulex-oce11102")
    assert card.offloads is not None
    rows = [row.name.value for row in card.offloads.table if row.linux is not None]
    assert [f"Offload {row} Can Be Switched As On The Sheet" in made for row in rows] == [True] * len(rows)
    assert "Offload vlan-mtu Can Be Switched As On The Sheet" not in made  # a row of FreeBSD alone


def test_rows_are_those_of_the_duts_system() -> None:
    chelsio, emulex = modified("chelsio-t580-cr", "freebsd"), modified("emulex-oce11102", "freebsd")
    assert "Ring rx Takes Its Range" in chelsio and "Ring rx_mini Takes Its Range" not in chelsio
    assert [name for name in chelsio if name.startswith("Coalescing Parameter")] == [
        "Coalescing Parameter rx-usecs Can Be Set"
    ]
    assert "Every Coalescing Parameter Can Be Set" in emulex  # which says why it cannot
    assert "Offload vlan-mtu Can Be Switched As On The Sheet" in emulex


def test_a_sheet_without_rows_keeps_the_test_that_says_so() -> None:
    made = modified("alteon-acenic")
    assert [call.args for call in made["Every Coalescing Parameter Can Be Set"].body] == [("every",)]
    assert "Offload gro Can Be Switched As On The Sheet" in made


def test_without_the_modifier_the_same_is_asked_in_one() -> None:
    plain = {test.name: test for test in all_tests(parsed())}
    assert [call.args for call in plain["Every Offload Can Be Switched As On The Sheet"].body] == [("every",)]


def toy(folder: Path, name: str, argument: str, tag: str) -> running.TestSuite:
    """A suite of one test with a tag, as the modifier leaves it."""
    file = folder / "toy.robot"
    file.write_text(f"*** Test Cases ***\n{name}\n    [Tags]    {tag}\n    Log    {argument}\n")
    suite = running.TestSuite.from_file_system(file)
    suite.visit(PerCard("emulex-oce11102"))
    return suite


def test_the_name_of_a_test_decides_nothing(tmp_path: Path) -> None:
    (test,) = all_tests(toy(tmp_path, "Every Offload Works", "every", "slow"))
    assert (test.name, test.body[0].args) == ("Every Offload Works", ("every",))
    found = all_tests(toy(tmp_path, "Rings Work", "every", "per:ring"))
    assert [(test.name, test.body[0].args) for test in found] == [
        ("Rings Work: rx", ("rx",)),
        ("Rings Work: tx", ("tx",)),
    ]


@pytest.mark.parametrize(
    ("tag", "argument", "message"),
    [
        (
            "per:ofload",
            "every",
            "tag per:ofload; expected one of per:offload, per:ring, per:coalescing, per:setting",
        ),
        (
            "per:offload    per:ring",
            "every",
            "tag per:offload, per:ring; expected one of per:offload, per:ring, per:coalescing, per:setting",
        ),
        ("per:offload", "all", "tag per:offload; expected a keyword with the argument 'every'"),
    ],
)
def test_a_tag_that_cannot_be_expanded_fails_the_test(tmp_path: Path, tag: str, argument: str, message: str) -> None:
    suite = toy(tmp_path, "Every Offload Works", argument, tag)
    (test,) = suite.run(output=None, stdout=io.StringIO(), stderr=io.StringIO()).suite.tests
    assert test.failed and test.message == f"BenchFault: test 'Every Offload Works': {message}"


def test_a_card_without_sheet_stops_the_run() -> None:
    with pytest.raises(BenchFault, match="there is no card sheet 'no-card'"):
        PerCard("no-card")


def test_each_effect_has_a_test_with_its_requirement_and_parameters() -> None:
    made = modified("solarflare-sfn5122f")
    test = made["Setting gro-off Has The Effect On The Sheet"]
    assert [call.args for call in test.body] == [("gro-off",)]
    assert {"req:SUS-04", "slow", "allure.param.setting:offload gro off at the receiver"} <= set(test.tags)
    assert "req:CARD-06/effects" in modified("intel-x520")["Setting tso-off Has The Effect On The Sheet"].tags
    assert "Setting vlan-on-bond Has The Effect On The Sheet" in made
    assert "Every Setting Has The Effect On The Sheet" not in made
