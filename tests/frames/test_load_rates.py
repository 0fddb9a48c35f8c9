"""Full load: what ports carried is judged against the sheet's share of line rate, each second and each lost frame."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from loads import looks

from niclab.bench.records import Port, Role
from niclab.core.decision import Decision
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.frames.blame.frame_findings import Culprit
from niclab.frames.load.load_rates import (
    WantedLoad,
    is_open,
    losses,
    own_troubles,
    questions,
    require_no_stall,
    stalls,
    without_free_cpu,
)
from niclab.frames.load.lost_frames import charged
from niclab.run.run_notes import RunNotes
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic.runs.experiment import judge_questions

DUT, PEER = (Port(role, "p0", "0000:01:00.0", "52:54:00:00:00:01", None) for role in (Role.DUT, Role.PEER))
PLAN = SamplingPlan(first_look=6, met_from=6, most=12, step=3, warm_up_runs=0)
WANTED = WantedLoad(mbps=6000.0, line_mbps=10000.0, source="sheet", plan=PLAN)


@pytest.fixture
def notes(tmp_path: Path) -> RunNotes:
    return RunNotes(tmp_path)


NEAR = [9000.0, 9100.0, 8900.0, 9050.0, 8950.0, 9000.0]


def test_a_port_that_carries_its_share_is_good(notes: RunNotes) -> None:
    seen = {DUT: looks(NEAR), PEER: looks(NEAR)}
    judge_questions(notes, questions(seen, WANTED))
    assert not is_open(seen, WANTED) and not stalls(DUT, seen[DUT], WANTED)
    assert not losses(DUT, seen[DUT]) and not own_troubles(DUT, seen[DUT])


def test_a_steady_trickle_is_the_cards(notes: RunNotes) -> None:
    trickle = looks([1.0, 1.1, 0.9, 1.0, 1.1, 0.9])
    seen = {DUT: trickle, PEER: trickle}
    with pytest.raises(CardFailure, match=r"dut\.p0 receives under full load: .*missed"):
        judge_questions(notes, questions(seen, WANTED))
    assert [each.of_card for each in stalls(DUT, trickle, WANTED)] == [True, True]
    assert stalls(DUT, trickle, None) == []  # nobody knows what is wanted, and it is steady


def test_a_stall_is_nobodys_while_a_server_has_no_cpu_left() -> None:
    short = [*NEAR, 3.0]
    with pytest.raises(CardFailure, match=r"^dut\.p0 .*worst second of full load"):
        require_no_stall({DUT: looks(short), PEER: looks(NEAR)}, WANTED, ())
    with pytest.raises(BenchFault, match=r"^peer\.p0 .*worst second"):
        require_no_stall({DUT: looks(NEAR), PEER: looks(short)}, WANTED, ())
    with pytest.raises(Undecided, match=r"worst second(.*\n)*peer: its busiest CPU had 0 % free time"):
        require_no_stall({DUT: looks(short), PEER: looks(NEAR, busy=1.0)}, WANTED, ())
    with pytest.raises(Undecided, match=r"worst second(.*\n)*dut stood still for 900 ms"):
        require_no_stall({DUT: looks(short), PEER: looks(NEAR)}, WANTED, ["dut stood still for 900 ms"])
    require_no_stall({DUT: looks(NEAR), PEER: looks(NEAR, busy=1.0)}, WANTED, ["dut stood still"])


def test_half_of_the_rate_is_missed_although_nothing_stalls(notes: RunNotes) -> None:
    """Two ports that share one engine, or a slot of half the lanes."""
    half = looks([4700.0, 4600.0, 4800.0, 4700.0, 4650.0, 4750.0])
    assert stalls(DUT, half, WANTED) == []
    with pytest.raises(CardFailure):
        judge_questions(notes, questions({DUT: half, PEER: half}, WANTED))


@pytest.mark.parametrize("role", Role)
def test_a_server_without_free_cpu_is_the_benchs(role: Role, notes: RunNotes) -> None:
    half = [4700.0, 4600.0, 4800.0, 4700.0, 4650.0, 4750.0]
    seen = {port: looks(half, busy=0.99 if port.role is role else 0.5) for port in (DUT, PEER)}
    with pytest.raises(BenchFault, match=f"{role.value}: its busiest CPU had 1 % free time"):
        judge_questions(notes, questions(seen, WANTED))


def test_rates_near_the_limit_are_asked_for_longer() -> None:
    seen = {DUT: looks([6900.0, 5300.0, 6500.0, 5400.0, 6800.0, 5500.0]), PEER: looks(NEAR)}
    assert {each.result.decision for each in questions(seen, WANTED)} == {Decision.UNDECIDED}
    assert is_open(seen, WANTED) and not is_open(seen, None)


def test_one_second_without_traffic_is_a_stall() -> None:
    (first, _) = stalls(DUT, looks([*NEAR, 3.0]), WANTED)
    assert first.of_card and "receives 3.00 Mbit/s in the worst second" in first.text
    (first, _) = stalls(PEER, looks([*NEAR, 3.0]), WANTED)
    assert not first.of_card


def test_half_a_million_missed_frames_a_second_are_lost() -> None:
    (found,) = losses(DUT, looks(NEAR, rx_missed_errors=500_000))
    assert found.culprit is Culprit.CARD and "rx_missed_errors" in found.text and "expected at most 1 %" in found.text


@pytest.mark.parametrize(("port", "of_card"), [(DUT, True), (PEER, False)])
def test_a_counter_that_wraps_under_load_is_its_ports(port: Port, of_card: bool) -> None:
    """At its end it is higher than at its begin."""
    seen = looks(NEAR)
    wrapped = [replace(each.load.frames, tx_bytes=each.load.frames.tx_bytes % (1 << 32)) for each in seen]
    assert wrapped[-1].tx_bytes > wrapped[0].tx_bytes
    pairs = zip(seen, wrapped, strict=True)
    seen = [replace(each, load=replace(each.load, frames=frames)) for each, frames in pairs]
    found = own_troubles(port, seen)
    assert losses(port, seen) == []
    assert found and {each.of_card for each in found} == {of_card}
    assert f"{port.name} (0000:01:00.0) tx_bytes runs backwards, from 3" in found[0].text


@pytest.mark.parametrize(("counter", "way"), [("rx_dropped", "rx"), ("tx_dropped", "tx")])
def test_frames_lost_in_one_direction_are_a_part_of_those(counter: str, way: str) -> None:
    """They were less than one in a hundred of both directions together."""
    (found,) = losses(DUT, looks(NEAR, **{counter: 12_000}))
    assert f"lost 1.6 % of its frames ({way}) under full load" in found.text


def test_congestion_is_none() -> None:
    assert losses(DUT, looks(NEAR, rx_dropped=500, rx_missed_errors=100)) == []


@pytest.mark.parametrize("port", [DUT, PEER])
def test_damaged_frames_are_none_too_few_and_nobodys(port: Port) -> None:
    seen = looks(NEAR, rx_errors=1)
    (found,) = losses(port, seen)
    assert own_troubles(port, seen) == [] and found.culprit is Culprit.TOOL
    assert "counted 6 rx_errors" in found.text and "either end of its cable" in found.text


@pytest.mark.parametrize(("port", "of_card"), [(DUT, True), (PEER, False)])
def test_frames_that_could_not_be_sent_are_their_ports(port: Port, of_card: bool) -> None:
    seen = looks(NEAR, tx_errors=1)
    (found,) = own_troubles(port, seen)
    assert losses(port, seen) == [] and found.of_card is of_card and "counted 6 tx_errors" in found.text


def test_frames_that_a_starved_server_missed_are_nobodys() -> None:
    seen = {DUT: looks(NEAR, busy=0.995, rx_missed_errors=40_000), PEER: looks(NEAR)}
    sure, unknown = charged(losses(DUT, seen[DUT]), lambda: without_free_cpu(seen))
    assert sure == [] and "rx_missed_errors" in unknown[0] and "dut: its busiest CPU had 1 % free" in unknown[1]
