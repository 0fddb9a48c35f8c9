"""The peer is tried before a difference is charged to the card: relays spoil frames at either end of the cables."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from namespaces import ADDRESSES, Namespaces
from paneled import Paneled, refuse

from niclab.bench.records import Port, Role, Wiring
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.frames import delivery, spec
from niclab.frames.blame import peer_trial
from niclab.frames.blame.frame_findings import Culprit, FrameDifference, FrameFinding, Suspicion
from niclab.frames.exchange import FrameBench, exchange
from niclab.frames.spec import FrameSpec, FrameStream

AROUND = ["to the switch", "back"]
WORDS = {
    "flip": "frames arrived damaged at",
    "twice": "frames arrived twice at",
    "swap": "frames arrived behind later ones at",
    "drop": "frames arrived at",
}


def test_a_sound_card_is_never_tried(paneled: Paneled) -> None:
    delivery.once_in_order(paneled.run, str)
    assert paneled.commands == []


@pytest.mark.parametrize(("word", "says"), WORDS.items())
@pytest.mark.parametrize("place", ["to dut.p1", "from dut.p1"])
def test_a_card_that_spoils_frames_fails_when_the_peer_is_proven_sound(
    paneled: Paneled, word: str, says: str, place: str
) -> None:
    said = list[str]()
    paneled.spoil(word, place)
    with pytest.raises(CardFailure, match=rf"(dut|peer)\.p1 to (peer|dut)\.p1: .*{says} (peer|dut)\.p1"):
        delivery.once_in_order(paneled.run, said.append)
    assert paneled.commands == AROUND
    proof = r"(\d+) of \1 frames between it and peer\.p0 arrived, each once, in order and unchanged"
    assert re.fullmatch(rf"peer\.p1 \(0000:01:00\.0\) without the card: {proof}", said[-1]), said


@pytest.mark.parametrize(("word", "says"), WORDS.items())
@pytest.mark.parametrize("place", ["to peer.p1", "from peer.p1"])
def test_a_peer_that_spoils_frames_is_a_fault_of_the_bench(paneled: Paneled, word: str, says: str, place: str) -> None:
    way = "peer.p0 to peer.p1" if place.startswith("to") else "peer.p1 to peer.p0"
    paneled.spoil(word, place)
    match = rf"peer\.p1 \(0000:01:00\.0\) does so without the card: {way}: frames of mixed sizes, .*{says} peer\.p"
    with pytest.raises(BenchFault, match=match):
        delivery.once_in_order(paneled.run, str)
    assert paneled.commands == AROUND


def streams(bench: Namespaces) -> list[FrameStream]:
    made = FrameBench(bench.run)
    return [stream for port in made.ports[:2] for stream in delivery._records(made, port)]


@pytest.mark.parametrize(
    ("place", "verdict"), [("to dut.p0", CardFailure), ("from dut.p0", CardFailure), ("to peer.p0", BenchFault)]
)
def test_records_are_tried_by_frames_like_theirs(paneled: Paneled, place: str, verdict: type[Exception]) -> None:
    paneled.spoil("drop", place)
    with pytest.raises(verdict, match=r"p0: datagrams: \d+ of 149 frames arrived at a program of "):
        exchange(paneled.run, streams(paneled), str)
    assert paneled.commands == AROUND


@pytest.mark.parametrize("place", ["to peer.p1", "to dut.p1"])
def test_without_a_way_past_the_card_nobody_is_charged(
    paneled: Paneled, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paneled.spoil("flip", place)
    monkeypatch.setattr(paneled.run.bench, "switch", None)
    why = r"nobody knows whether peer\.p1 \(0000:01:00\.0\) did it: bench namespaces has no switch that joins"
    with pytest.raises(Undecided, match=why):
        delivery.once_in_order(paneled.run, str)


def test_a_panel_that_does_not_work_charges_nobody(paneled: Paneled, monkeypatch: pytest.MonkeyPatch) -> None:
    paneled.spoil("flip", "to dut.p1")
    monkeypatch.setattr(paneled.run.controller, "check", refuse)
    with pytest.raises(Undecided, match=r"did it: to the switch: exit status 1; expected 0"):
        delivery.once_in_order(paneled.run, str)
    assert paneled.commands == ["back"] and paneled.run.journal.pending() == []


def test_paths_that_lead_through_the_switch_need_no_panel(paneled: Paneled, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in paneled.run.bench.paths:
        monkeypatch.setattr(path, "through", Wiring.SWITCH)
    paneled._obey("to the switch")
    paneled.commands.clear()
    for name in ("peer.p0", "peer.p1"):  # the switch learns who is where, by ARP
        ask = f"import socket; socket.create_connection(('{ADDRESSES[name]}', 9), 5)"
        refused = paneled.servers[Role.DUT].run(f'python3 -c "{ask}" 2>&1 || true').stdout
        assert "ConnectionRefusedError" in refused
    paneled.spoil("flip", "to peer.p0")
    with pytest.raises(BenchFault, match=r"does so without the card: peer\.p1 to peer\.p0: "):
        delivery.once_in_order(paneled.run, str)
    assert paneled.commands == []
    paneled._obey("back")


def test_what_the_dut_counts_by_itself_needs_no_trial(paneled: Paneled, monkeypatch: pytest.MonkeyPatch) -> None:
    """A counter that covers the loss names the card; the panel is not asked."""
    monkeypatch.setattr(spec, "QUIET_S", 5.0)  # frames that the panel carries late are lost too, and nobody counts them
    dut = paneled.servers[Role.DUT]
    dut.run("ip link set p1 mtu 1000")
    with pytest.raises(CardFailure, match=r"frames could be sent \(EMSGSIZE"):
        delivery.once_in_order(paneled.run, str)
    dut.run("ip link set p1 mtu 1500")
    assert paneled.commands == []


def test_a_port_that_gets_no_carrier_at_the_switch_charges_nobody(
    paneled: Paneled, monkeypatch: pytest.MonkeyPatch
) -> None:
    paneled.spoil("flip", "to dut.p1")
    monkeypatch.setattr(paneled.run, "await_carrier", lambda ports, **_: list(ports)[:1])
    with pytest.raises(Undecided, match=r"did it: peer\.p1 \(0000:01:00\.0\): no carrier within 30 s at sw; expected"):
        delivery.once_in_order(paneled.run, str)
    assert paneled.commands == AROUND


def test_frames_that_do_not_pass_without_the_card_charge_nobody(
    paneled: Paneled, monkeypatch: pytest.MonkeyPatch
) -> None:
    paneled.spoil("flip", "to dut.p1")
    monkeypatch.setattr(peer_trial, "PASSES_WITHIN_S", 0.0)
    monkeypatch.setattr(peer_trial, "FIRST_SIZES", (60,))
    monkeypatch.setattr(paneled, "_obey", paneled.commands.append)
    monkeypatch.setattr(paneled.run.controller, "check", paneled.commands.append)
    with pytest.raises(Undecided, match=r"did it: peer\.p0 to peer\.p1: no frame passes within 0 s; expected some"):
        delivery.once_in_order(paneled.run, str)
    assert paneled.commands == AROUND


def lost(sizes: tuple[int, ...], vlans: tuple[int, ...] = (), culprit: Culprit = Culprit.PEER) -> FrameFinding:
    (here, there) = (Port(Role.PEER, key, "", None, None) for key in ("p0", "p1"))
    stream = FrameStream("frames", here, there, 9, sizes, FrameSpec("", "", vlans=vlans))
    return FrameFinding(FrameDifference.LOST, culprit, "lost", Suspicion(there, (stream,), 1))


@pytest.mark.parametrize(
    ("finding", "is_asked", "is_foreign", "proves_nothing"),
    [
        (lost((60,)), True, True, False),
        (lost((60,)), False, True, True),
        (lost((9014,)), True, True, True),
        (lost((9014,)), True, False, False),
        (lost((60,), vlans=(7,)), True, True, True),
        (lost((60,), culprit=Culprit.TOOL), True, False, True),
        (replace(lost((9014,)), difference=FrameDifference.DAMAGED), False, True, False),
        (replace(lost((9014,)), suspicion=None), True, True, False),
    ],
)
def test_a_switch_that_is_not_on_the_path_need_not_carry_every_frame(
    finding: FrameFinding, is_asked: bool, is_foreign: bool, proves_nothing: bool
) -> None:
    assert peer_trial._proves_nothing(finding, is_asked, is_foreign) is proves_nothing
