"""The peer is tried before late answers are charged to the card: a panel holds frames at either end of the cables."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from paneled import Paneled, refuse

from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.frames.latency import late_trial, ping_pong, stalls

AROUND = ["to the switch", "back"]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ping_pong, "LATE_S", 0.25)
    monkeypatch.setattr(ping_pong, "RESTS_S", (0.0002, 0.001))
    monkeypatch.setattr(stalls, "SECONDS", dict.fromkeys(Profile, 1.0))
    monkeypatch.setattr(late_trial, "PART_S", 0.5)
    monkeypatch.setattr(late_trial, "FIRST_S", 0.1)
    # A panel that holds frames changes their order, too, which is looked for where a slow server counts some as lost.
    monkeypatch.setattr(stalls.delivery, "once_in_order", lambda *_: None)


def judged(bench: Paneled) -> list[str]:
    said = list[str]()
    stalls.require_none(bench.run, Profile.QUICK, said.append)
    return said


def test_a_sound_card_is_never_tried(paneled: Paneled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ping_pong, "LATE_S", 2.0)
    assert all(each.startswith("path p") for each in judged(paneled))
    assert paneled.commands == []


def test_a_card_that_holds_answers_fails_when_the_peer_sends_in_time(paneled: Paneled) -> None:
    paneled.spoil("swap", "to dut.p1")
    with pytest.raises(CardFailure, match=r"^dut\.p1 .*had answers that its program got late: .*expected every one"):
        judged(paneled)
    assert paneled.commands == AROUND


@pytest.mark.parametrize("place", ["from peer.p1", "to peer.p0"])
def test_a_peer_that_sends_late_past_the_card_is_a_fault_of_the_bench(paneled: Paneled, place: str) -> None:
    """Whichever of its two ports it is, neither is the card."""
    paneled.spoil("swap", "to dut.p1", place)
    says = r"peer\.p1 .*sends late without the card: frames to peer\.p0 came up to 0\.[0-9]+ s late"
    with pytest.raises(BenchFault, match=says):
        judged(paneled)
    assert paneled.commands == AROUND and paneled.run.journal.pending() == []


def test_without_a_way_past_the_card_nobody_is_charged(paneled: Paneled, monkeypatch: pytest.MonkeyPatch) -> None:
    paneled.spoil("swap", "to dut.p1")
    monkeypatch.setattr(paneled.run.bench, "switch", None)
    with pytest.raises(Undecided, match=r"nobody knows whether peer\.p1 .* sent them late: bench namespaces has no sw"):
        judged(paneled)


def test_a_panel_that_does_not_work_charges_nobody(paneled: Paneled, monkeypatch: pytest.MonkeyPatch) -> None:
    paneled.spoil("swap", "to dut.p1")
    monkeypatch.setattr(paneled.run.controller, "check", refuse)
    with pytest.raises(Undecided, match=r"sent them late: to the switch: exit status 1; expected 0"):
        judged(paneled)


def test_a_switch_that_passes_nothing_charges_nobody(paneled: Paneled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_trial, "PASSES_WITHIN_S", 0.0)
    paneled.spoil("swap", "to dut.p1")
    monkeypatch.setattr(ping_pong.PingPong, "past", lambda *_: SimpleNamespace(trips_us=()))
    with pytest.raises(Undecided, match=r"peer\.p1 .*: no frame reaches peer\.p0 within 0 s"):
        judged(paneled)


def test_a_trial_that_is_too_short_charges_nobody(paneled: Paneled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_trial, "MOST_PARTS", 1)
    monkeypatch.setattr(late_trial, "TIMES", 10_000)
    paneled.spoil("swap", "to dut.p1")
    with pytest.raises(
        Undecided, match=r"(?m)sent them late: [0-9]+ frames came to peer\.p0 in time; expected [0-9]+0000$"
    ):
        judged(paneled)


def test_a_server_that_stood_still_in_the_trial_charges_nobody(
    paneled: Paneled, monkeypatch: pytest.MonkeyPatch
) -> None:
    stood = [(), ("peer stood still for 80 ms",)]

    class Watch:
        def told(self) -> None: ...

        def between(self, _: None, __: None) -> Sequence[str]:
            return stood.pop(0) if len(stood) > 1 else stood[0]

    monkeypatch.setattr(stalls.standstill, "watch", lambda *_: Watch())
    paneled.spoil("swap", "to dut.p1", "from peer.p1")
    with pytest.raises(Undecided, match=r"(?m)sent them late: peer stood still for 80 ms$"):
        judged(paneled)
    assert len(stood) == 1
