"""Verdicts about outages: proven too long is red, possibly too long is undecided, within the limit is green."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from niclab.core.verdict import CardFailure, Undecided
from niclab.traffic.outage import outage
from niclab.traffic.outage.outage import Allowed, Judgement
from niclab.traffic.outage.outage_records import Noise, Outage, OutageReport, ProbedDirection

QUIET = Noise(3000, 1.0, 1.2, 2.0, 5.0, ())
GOOD = ProbedDirection("dut to peer", 3000, 3000, 0, 0, 0, 0, 0, 1.0, (), 2.0, 2.5, QUIET, QUIET)
LIMIT_MS = 1100
ALLOWED = Allowed(LIMIT_MS, "sheet intel-82574l allows 1100 ms")


def lost(proven_ms: float, at_most_ms: float, *, heard: int = 5, over: bool = True) -> Outage:
    return Outage(0, proven_ms, at_most_ms, 5, 0, heard, over)


def found(way: str = "back", **changes: object) -> OutageReport:
    """Both directions good, but for the ``changes`` of one."""
    forth, back = GOOD, replace(GOOD, name="peer to dut")
    if way == "forth":
        return OutageReport(replace(forth, **changes), back)  # type: ignore[arg-type]  # the names are the test's
    return OutageReport(forth, replace(back, **changes))  # type: ignore[arg-type]  # the names are the test's


def test_no_outage_is_good() -> None:
    nothing = Judgement([], [])
    assert outage.within(found(), ALLOWED) == nothing and outage.unbroken(found()) == nothing
    assert outage.duplicated(found()) == [] and outage.too_many_lost(found(), ALLOWED) == []


def test_an_outage_within_the_limit_is_good() -> None:
    assert outage.within(found(outages=(lost(LIMIT_MS - 2, LIMIT_MS),)), ALLOWED) == Judgement([], [])


@pytest.mark.parametrize(("way", "name"), [("forth", "dut to peer"), ("back", "peer to dut")])
def test_an_outage_that_is_longer_is_proven(way: str, name: str) -> None:
    (problem,) = outage.within(found(way, outages=(lost(600, 602), lost(501, 503))), ALLOWED).proven
    assert problem.startswith(f"{name}: outage 1101.0 to 1105.0 ms; ")
    assert problem.endswith("; sheet intel-82574l allows 1100 ms")


@pytest.mark.parametrize(
    "change",
    [
        {"outages": (lost(90, LIMIT_MS + 1),)},
        {"outages": (lost(90, 100, over=False),)},
        {"blind_most_ms": LIMIT_MS + 1.0},
        {"silent_most_ms": LIMIT_MS + 1.0},
    ],
    ids=["longer", "not over", "blind", "silent"],
)
def test_an_outage_that_may_be_longer_is_possible(change: dict[str, object]) -> None:
    judgement = outage.within(found(**change), ALLOWED)
    (problem,) = judgement.possible
    assert not judgement.proven
    assert problem.startswith("peer to dut: ") and "allows 1100 ms; sender: 3000 ticks" in problem


def test_an_outage_that_does_not_end_and_is_longer_is_proven() -> None:
    (problem,) = outage.within(found(outages=(lost(LIMIT_MS + 1, LIMIT_MS + 1, over=False),)), ALLOWED).proven
    assert "not over" in problem


class TestPacketsLostOneByOne:
    """A bond that sends round robin loses every second packet with a link."""

    def test_as_many_as_are_sent_in_the_allowed_time_are_good(self) -> None:
        assert outage.too_many_lost(found(outages=(lost(0, 2, heard=1),) * LIMIT_MS), ALLOWED) == []

    @pytest.mark.parametrize("way", ["forth", "back"])
    def test_one_more_is_a_problem(self, way: str) -> None:
        (problem,) = outage.too_many_lost(found(way, outages=(lost(0, 2, heard=1),) * (LIMIT_MS + 1)), ALLOWED)
        wanted = "1101 were lost for sure, as many as are sent in 1101 ms; sheet intel-82574l allows 1100 ms"
        assert problem.endswith(wanted)

    def test_an_end_that_sends_seldom_sends_few_in_that_time(self) -> None:
        seldom = found(outages=(lost(0, 4, heard=1),) * 600, sender=replace(QUIET, median_ms=2.0))
        (problem,) = outage.too_many_lost(seldom, ALLOWED)
        assert "600 were lost for sure, as many as are sent in 1200 ms" in problem

    def test_packets_that_the_receiver_may_not_have_heard_are_not_counted(self) -> None:
        assert outage.too_many_lost(found(outages=(lost(0, 3000, heard=0),)), ALLOWED) == []


def test_one_lost_packet_breaks_unbroken_traffic() -> None:
    (problem,) = outage.unbroken(found(outages=(lost(0, 2, heard=1),))).proven
    assert problem.startswith("peer to dut: ") and problem.endswith("; expected every packet once, and in time")


def test_packets_lost_in_a_pause_of_the_receiver_prove_nothing() -> None:
    judgement = outage.unbroken(found(outages=(lost(0, 20, heard=0),)))
    assert not judgement.proven and "the receiver stood still meanwhile" in judgement.possible[0]


@pytest.mark.parametrize("which", ["blind_most_ms", "silent_most_ms"])
@pytest.mark.parametrize("copies", [False, True])
def test_a_time_in_which_nothing_was_sent_or_arrived_is_not_unbroken(which: str, copies: bool) -> None:
    """A driver that holds the server up or the packets back for most of a second loses none."""
    judgement = outage.unbroken(found(**{which: 900.0}), copies=copies)
    assert not judgement.proven
    assert "nothing arrived for 900 ms; expected every packet" in judgement.possible[0]
    assert outage.unbroken(found(**{which: 100.0}), copies=copies) == Judgement([], [])


def test_duplicates_are_problems() -> None:
    twice = found("forth", duplicated=1)
    (problem,) = outage.duplicated(twice)
    assert problem.startswith("dut to peer: ") and "1 duplicated" in problem
    assert "1 duplicated" in outage.unbroken(twice).proven[0]


class TestRepeat:
    """A measurement that is undecided is repeated, at most twice, and never one that proves something."""

    @staticmethod
    def measure(*results: str) -> tuple[Callable[[], Judgement], list[str]]:
        made: list[str] = []

        def one() -> Judgement:
            made.append(results[len(made)])
            proven = ["dut to peer: outage 1755 ms"] if "proven" in made[-1] else []
            return Judgement(proven, ["dut to peer: outage 0 to 1755 ms"] if "possible" in made[-1] else [])

        return one, made

    @pytest.mark.parametrize("results", [("good",), ("possible", "good"), ("possible", "possible", "good")])
    def test_a_decided_measurement_ends_it(self, results: tuple[str, ...]) -> None:
        measure, made = self.measure(*results)
        warnings: list[str] = []
        outage.repeat_while_undecided(measure, warnings.append)
        assert made == list(results)
        wanted = "measured again after measurement {} of 3: dut to peer: outage 0 to 1755 ms"
        assert warnings == [wanted.format(number) for number in range(1, len(results))]

    @pytest.mark.parametrize("results", [("proven",), ("possible proven",), ("possible", "proven")])
    def test_a_proven_problem_ends_it(self, results: tuple[str, ...]) -> None:
        measure, made = self.measure(*results, "good")
        with pytest.raises(CardFailure, match=r"^dut to peer: outage 1755 ms$"):
            outage.repeat_while_undecided(measure, lambda _: None)
        assert made == list(results)

    def test_three_undecided_measurements_are_undecided(self) -> None:
        measure, made = self.measure("possible", "possible", "possible")
        with pytest.raises(Undecided, match=r"^dut to peer: outage 0 to 1755 ms$"):
            outage.repeat_while_undecided(measure, lambda _: None)
        assert len(made) == 3
