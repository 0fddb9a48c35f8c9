"""Numbered frames under load: how many may be lost, and which counters prove who lost them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from test_ledger import DUT, PEER, Side, exchanged

from niclab.bench.records import Port
from niclab.frames.blame.frame_findings import Culprit
from niclab.frames.ledger import Ledger
from niclab.frames.load.lost_frames import LostFrames, TooManyLost, charged, lost_frames, too_many_under_load
from niclab.frames.spec import Arrives

PER_S, LOAD = 50, 100_000


def of(sender: Port, arrived: int, holes: list[list[int]], here: Side | None = None, there: Side | None = None) -> Any:
    """Losses of 1000 frames; ports have counted a load as well, and what the sides say beyond it."""
    here, there = here or Side(), there or Side()
    here.gained = here.gained | {"tx_packets": here.gained.get("tx_packets", 0) + LOAD}
    there.gained = there.gained | {"rx_packets": there.gained.get("rx_packets", 0) + LOAD}
    ledger: Ledger = exchanged(sender, here, there, arrived, holes=holes)
    (leg,) = ledger.legs
    leg.streams[0] = replace(leg.streams[0], at_port=Arrives.SOME)  # type: ignore[index]  # a dict
    return lost_frames(ledger)


def judged(*args: Any) -> list[TooManyLost]:
    return too_many_under_load(of(*args), PER_S)


def test_what_congestion_loses_is_not_too_much() -> None:
    assert judged(PEER, 1000, []) == []
    assert judged(PEER, 990, [[100, 4], [500, 6]]) == []


@pytest.mark.parametrize(
    ("arrived", "holes"), [(989, [[number, 1] for number in range(0, 88, 8)]), (500, []), (0, []), (900, [[100, 100]])]
)
def test_more_than_one_in_a_hundred_is_too_much(arrived: int, holes: list[list[int]]) -> None:
    (found,) = judged(PEER, arrived, holes)
    assert f"{1000 - arrived} of 1000 frames lost" in found.text and "expected at most 1 %" in found.text


@pytest.mark.parametrize("hole", [(0, 13), (500, 13), (9_987, 13)])
def test_a_burst_within_one_second_is_too_much_however_long_the_load(hole: tuple[int, int]) -> None:
    (one,) = of(PEER, 1000, [])
    (found,) = too_many_under_load([replace(one, sent=10_000, runs=[hole])], PER_S)
    assert "13 of 50 in a row" in found.text and "expected at most 1 %, and 12.5 of 50 in a row" in found.text
    few = replace(one, sent=10_000, runs=[(0, 12), (50, 12), (hole[0] + 100, 1)])
    assert too_many_under_load([few], PER_S) == []


def test_a_second_lost_in_23_is_seen() -> None:
    runs = [(second * PER_S + 17, PER_S) for second in range(3, 300, 23)]
    (one,) = of(PEER, 1000, [])
    (found,) = too_many_under_load([replace(one, sent=300 * PER_S, runs=runs)], PER_S)
    assert "50 of 50 in a row" in found.text


BURST: Any = (950, [[300, 50]])


@pytest.mark.parametrize(("sender", "receivers"), [(PEER, Culprit.CARD), (DUT, Culprit.PEER)])
@pytest.mark.parametrize("counter", ["rx_missed_errors", "rx_dropped"])
def test_what_the_receiver_counts_as_lost_is_its_own(sender: Port, receivers: Culprit, counter: str) -> None:
    (found,) = judged(sender, *BURST, Side(), Side(gained={counter: 50}))
    assert found.culprit is receivers and f" as 50 {counter}; expected" in found.text
    (found,) = judged(sender, *BURST, Side(), Side(gained={counter: 1}))
    assert found.culprit is Culprit.TOOL and "counted by nobody as lost" in found.text


def test_frames_that_arrive_damaged_are_nobodys() -> None:
    """Either end of a cable spoils them; that they are counted at all is another check's finding."""
    (found,) = judged(PEER, *BURST, Side(), Side(gained={"rx_errors": 50}))
    assert found.culprit is Culprit.TOOL and "counted by nobody as lost" in found.text


def test_what_the_sender_drops_is_its_own() -> None:
    (found,) = judged(DUT, *BURST, Side(gained={"tx_dropped": 50}))
    assert found.culprit is Culprit.CARD and "counted as dropped by dut.p0" in found.text


def test_what_the_wire_has_delivered_is_lost_by_the_receiver() -> None:
    (found,) = judged(PEER, *BURST, Side(), Side(gained={"rx_packets": 50}))
    assert found.culprit is Culprit.CARD and "lost behind dut.p0" in found.text
    (found,) = judged(DUT, *BURST, Side(), Side(gained={"rx_packets": 50}))
    assert found.culprit is Culprit.PEER


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ({}, {}),  # a queue between the ports
        ({"tx_packets": -40_000}, {}),  # a driver that counts a frame for each it hands to the card to be cut up
        ({}, {"rx_packets": -40_000}),  # one that counts merged frames once
    ],
)
def test_what_nobody_has_counted_is_nobodys(here: dict[str, int], there: dict[str, int]) -> None:
    (found,) = judged(PEER, *BURST, Side(gained=here), Side(gained=there))
    assert found.culprit is Culprit.TOOL


def test_what_the_tool_lost_or_a_counter_hides_is_nobodys() -> None:
    (found,) = judged(PEER, *BURST, Side(), Side(gained={"rx_missed_errors": 50}, look={"dropped": 50}))
    assert found.culprit is Culprit.TOOL
    (found,) = judged(PEER, *BURST, Side(), Side(look={"dropped": 1}))
    assert found.culprit is Culprit.TOOL and "1 lost by the tool of dut" in found.text
    wraps = Side(before={"tx_bytes": (1 << 32) - 1}, gained={"tx_bytes": -(1 << 32)})
    (found,) = judged(PEER, *BURST, wraps, Side(gained={"rx_missed_errors": 50}))
    assert found.culprit is Culprit.TOOL and "tx_bytes runs backwards" in found.text


def test_a_server_that_had_a_reason_makes_it_nobodys() -> None:
    lost: list[LostFrames] = of(PEER, *BURST, Side(), Side(gained={"rx_missed_errors": 50}))
    found = too_many_under_load(lost, PER_S)
    sure, unknown = charged(found, list)
    assert [each.of_card for each in sure] == [True] and unknown == []
    sure, unknown = charged(found, lambda: ["dut: its busiest CPU had 1 % free time under full load"])
    assert sure == [] and len(unknown) == 2
    assert charged([], lambda: ["dut stood still for 900 ms"]) == ([], [])
