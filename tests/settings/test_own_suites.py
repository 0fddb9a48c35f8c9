"""Keywords for suites of one's own: names of ports, verdicts by the side that is named, the undo of a command."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, Blamed, CardFailure
from niclab.run.run import Run
from niclab.settings.tuning import Tuning
from OwnSuites import OwnSuites

FAILS = [(Blamed.CARD, CardFailure), (Blamed.BENCH, BenchFault)]


def test_ports_are_named_as_in_the_bench_file(taken: Run) -> None:
    own = OwnSuites()
    assert taken and (own.interface_of("dut"), own.interface_of("peer.p1")) == ("enp1s0", "enp2s0")
    assert (own.address_of("dut.p0"), own.address_of("peer")) == ("198.18.10.1", "198.18.10.2")
    with pytest.raises(BenchFault, match=r"dut\.p7"):
        own.interface_of("dut.p7")


def test_what_is_as_expected_passes() -> None:
    own = OwnSuites()
    own.should_be(Blamed.CARD, "driver", "e1000e\n", "e1000e")
    own.should_match(Blamed.CARD, "driver", "version: 4.2", r"version: \d")
    own.should_be_at_least(Blamed.BENCH, "speed", 1000, 1000)
    own.should_be_at_most(Blamed.BENCH, "errors", 0, 0)


@pytest.mark.parametrize(("blamed", "verdict"), FAILS)
def test_a_failure_says_what_was_measured_and_is_of_the_side_that_is_named(
    blamed: Blamed, verdict: type[Exception]
) -> None:
    own = OwnSuites()
    with pytest.raises(verdict, match=r"^driver of dut: 'igb'; expected 'e1000e' \(data sheet\)$"):
        own.should_be(blamed, "driver of dut", "igb\n", "e1000e", "data sheet")
    with pytest.raises(verdict, match=r"^speed in Mbit/s: 100; expected at least 1000$"):
        own.should_be_at_least(blamed, "speed in Mbit/s", 100, 1000)
    with pytest.raises(verdict, match=r"^errors: 3; expected at most 0$"):
        own.should_be_at_most(blamed, "errors", 3, 0)
    with pytest.raises(verdict, match=r"^link: 'down'; expected a match of up\|unknown$"):
        own.should_match(blamed, "link", "down", "up|unknown")


def test_a_number_that_is_none_is_nothing_to_pass_with() -> None:
    with pytest.raises(BenchFault, match=r"^speed: nan; expected a number$"):
        OwnSuites().should_be_at_least(Blamed.CARD, "speed", float("nan"), 1)


def test_a_change_is_undone_when_the_test_has_ended(bench: FakeBench, taken: Run) -> None:
    bench.ssh[Role.PEER].replies["modprobe -r dummy"] = ""
    tuning, before = taken.part(Tuning), len(taken.journal.pending())
    tuning.begin("t1")
    OwnSuites().undo_afterwards(Role.PEER, "a file is made", "modprobe -r dummy")
    assert taken.journal.pending()[0].action.command == "modprobe -r dummy"
    tuning.end("t1")
    assert len(taken.journal.pending()) == before
