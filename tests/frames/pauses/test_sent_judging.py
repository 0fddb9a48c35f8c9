"""A port that was flooded with pause frames off and on: each behaviour is seen, and too little is no verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from niclab.frames.pauses.sent_judging import Flood, FullPort, judge

OFF = Flood(sent=2000, waiting=0, lost=1500, missed=1500, asked=0, seen=0)
ON = Flood(sent=500, waiting=0, lost=0, missed=0, asked=3, seen=3)
MUTE = replace(ON, sent=2000, lost=1400, missed=1400, asked=0, seen=0)


def test_a_port_that_asks_is_sound() -> None:
    assert judge(OFF, ON) == (FullPort.ASKED, "")
    assert judge(replace(OFF, lost=0, missed=0), replace(ON, lost=8))[0] is FullPort.ASKED
    assert judge(OFF, replace(ON, lost=300))[0] is FullPort.ASKED


def test_a_port_that_lost_frames_and_did_not_ask_was_silent() -> None:
    assert judge(OFF, MUTE)[0] is FullPort.SILENT
    assert judge(OFF, replace(MUTE, seen=None))[0] is FullPort.SILENT


@pytest.mark.parametrize(
    ("off", "on"),
    [({"lost": 19, "missed": 19}, {}), ({}, {"lost": 19, "missed": 19}), ({"sent": 100, "lost": 19}, {})],
)
def test_a_port_that_lost_few_frames_was_not_filled(off: dict[str, int], on: dict[str, int]) -> None:
    assert judge(replace(OFF, **off), replace(MUTE, **on))[0] is FullPort.NOT_FILLED


def test_pause_frames_while_they_are_off_are_named() -> None:
    found, why = judge(replace(OFF, asked=2, seen=2), ON)
    assert found is FullPort.UNASKED and why == "its driver counted 2 pause frames that it sent"


def test_pause_frames_without_an_end_are_named_also_where_the_flood_never_left_the_peer() -> None:
    found, why = judge(OFF, replace(ON, asked_after=(12, 60), waiting=9000, back=20))
    assert found is FullPort.ENDLESS and "counted 12, and 60 more" in why
    assert judge(OFF, replace(ON, asked_after=(12, 0)))[0] is FullPort.ASKED


@pytest.mark.parametrize(
    ("off", "on", "why"),
    [
        ({"waiting": 1}, {}, "did not leave the peer"),
        ({}, {"waiting": 1}, "did not leave the peer"),
        ({}, {"back": 4}, "4 single frames after a flood did not come"),
        ({"back": 3}, {}, "3 single frames after a flood did not come"),
        ({"asked": None}, {}, "no counter of the name on the sheet"),
        ({}, {"asked": None}, "no counter of the name on the sheet"),
        ({"seen": 2}, {}, "the peer counted some, and the dut's driver none"),
        ({}, {"asked": 0}, "the peer counted pause frames, and the dut's driver none"),
        ({}, {"seen": 0}, "the dut's driver counted pause frames, and the peer none"),
        ({}, {"seen": None}, "the peer's driver has no counter of the name on the sheet"),
        ({}, {"lost": 400}, "asked too late, or the peer does not heed it"),
        ({}, {"asked": 0, "seen": 0, "sent": 2000, "lost": 1400, "missed": 600}, "where the frames were lost"),
    ],
)
def test_what_proves_nothing_is_no_verdict(off: dict[str, Any], on: dict[str, Any], why: str) -> None:
    found, said = judge(replace(OFF, **off), replace(ON, **on))
    assert found is FullPort.UNPROVEN and why in said


def test_a_flood_says_what_was_counted() -> None:
    said = str(replace(ON, seen=None))
    assert said.startswith("0 of 500 frames lost, 0 counted as missed, 3 pause frames sent, ")
    assert said.endswith(", no counter of pause frames received by the peer")
