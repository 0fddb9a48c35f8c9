"""The reach of a bench is reported before a run: the smallest bench, two servers and two cables, and a whole one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from niclab.bench.bench_file import load_bench
from niclab.card import load_card
from niclab.commands.certifying import certify
from niclab.commands.certifying.reach import Reach, missing, reach
from niclab.scope.requirements import load_requirements

REPOSITORY = Path(__file__).resolve().parents[2]
BENCHES = REPOSITORY / "lab" / "benches"
PLAIN = BENCHES / "example-two-servers.yaml"


def test_equipment_of_the_benches() -> None:
    assert missing(load_bench(PLAIN)) == ["bmc", "console", "cable", "switch"]
    assert missing(load_bench(BENCHES / "example-real.yaml")) == []
    assert missing(load_bench(BENCHES / "virtual.yaml")) == []


def lines(*lacks: str, tests: list[set[str]]) -> list[str]:
    return list(Reach([frozenset(tags) for tags in tests], lacks, load_requirements()).lines())


def test_requirements_are_decided_wholly_in_part_or_not() -> None:
    tests = [
        {"req:card-04/loss", "req:nfs-05"},
        {"req:card-04/switch-loss", "needs:switch", "needs:cable"},
        {"req:card-07/bmc", "needs:bmc"},
    ]
    said = lines("bmc", "switch", "cable", tests=tests)
    assert said[:4] == [
        "equipment: no bmc, no switch, no cable; 2 of 3 tests cannot be asked",
        "the bench can decide (1): NFS-05",
        "the bench can decide in part (1): CARD-04 (2 of 20 parts; without cable, switch: 1 of 2 tests)",
        "the bench cannot decide (1): CARD-07 (1 of 5 parts; without bmc: 1 of 1 tests)",
    ]
    assert said[4].startswith("without a test in this run (51): EMX-01, ")
    assert lines(tests=[])[0] == "equipment: everything that a test needs; 0 of 0 tests cannot be asked"


@pytest.fixture(scope="module")
def said() -> list[str]:
    """The report of the dry run of the full profile on the smallest bench."""
    bench, sheet = load_bench(PLAIN), load_card("emulex-oce11102")
    options = certify.chosen(bench, "emulex-oce11102", sheet, "full", {})
    return list(reach(bench, certify.look_ahead(options).tags, load_requirements()).lines())


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("the bench can decide (", ["NFS-05", "SUS-06", "SUS-07", "EMX-06", "CARD-06"]),
        ("the bench can decide in part", ["CARD-04 (without cable, switch", "CARD-05 (without switch"]),
        ("the bench cannot decide", ["CARD-07 (without bmc, console"]),
    ],
)
def test_the_smallest_bench_decides_failover(said: list[str], line: str, wanted: list[str]) -> None:
    (found,) = [each for each in said if each.startswith(line)]
    assert [name for name in wanted if name not in found] == []


def test_every_suite_over_cables_runs_on_the_smallest_bench() -> None:
    bench, sheet = load_bench(PLAIN), load_card("emulex-oce11102")
    options = [*certify.chosen(bench, "emulex-oce11102", sheet, "full", {}), *certify.only(["over_cables"])]
    found = list(reach(bench, certify.look_ahead(options).tags, load_requirements()).lines())
    assert re.search(r"no cable, no switch; 0 of \d\d tests cannot be asked$", found[0]), found[0]
    assert found[1].endswith("(3): NFS-05, SUS-06, SUS-07")
    assert "(2): CARD-04 (9 of 20 parts), CARD-05 (4 of 7 parts)" in found[2]
