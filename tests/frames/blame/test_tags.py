"""Changed tags: charged to the card only when the peer is proven to leave tags as they are."""

from __future__ import annotations

import pytest
from paneled import Paneled

from niclab.bench.records import Role, Wiring
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.frames.exchange import FrameBench, exchange
from niclab.frames.spec import FrameStream, PortModes, tag

IN_VLAN, IN_NONE = (tag(7, 5),), (tag(0, 6),)
SIZES = (118, 1514)


def tagged(bench: Paneled, *vlans: tuple[int, ...]) -> list[FrameStream]:
    made = FrameBench(bench.run)
    ports = made.of(Role.DUT)
    return [made.frames(f"frames {each}", port, 50, SIZES, vlans=each) for port in ports for each in vlans]


def tried(bench: Paneled, *vlans: tuple[int, ...]) -> None:
    streams = tagged(bench, *vlans)
    exchange(bench.run, streams, str, {each.receiver: PortModes(promiscuous=True) for each in streams})


def test_tags_that_arrive_as_sent_are_right(paneled: Paneled) -> None:
    tried(paneled, IN_VLAN, IN_NONE, (tag(7, 3), tag(9, 5)))
    assert paneled.commands == []


def test_a_card_that_changes_tags_fails_when_the_peer_is_proven_sound(paneled: Paneled) -> None:
    paneled.spoil("retag", "from dut.p1")
    said = r"dut\.p1 to peer\.p1: frames \(40967,\): arrived with tags 40967 \(\d+\), 7 \(\d\) at peer\.p1.*; "
    with pytest.raises(CardFailure, match=f"{said}expected 40967"):
        tried(paneled, IN_VLAN, IN_NONE)


@pytest.mark.parametrize("places", [("to peer.p1",), ("from dut.p1", "from peer.p0")])
def test_tags_that_change_without_the_card_charge_nobody(paneled: Paneled, places: tuple[str, ...]) -> None:
    """The switch that the cables were laid to may have done it."""
    paneled.spoil("retag", *places)
    with pytest.raises(Undecided, match=r"nobody knows whether peer\.p1 .* did it: .*: arrived with tags "):
        tried(paneled, IN_VLAN)


def test_tags_that_change_without_the_card_on_paths_of_the_switch_are_the_benchs(
    paneled: Paneled, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in paneled.run.bench.paths:
        monkeypatch.setattr(path, "through", Wiring.SWITCH)
    paneled._obey("to the switch")
    paneled.spoil("retag", "to peer.p1")
    with pytest.raises(BenchFault, match=r"peer\.p1 .* does so without the card: .*: arrived with tags "):
        tried(paneled, IN_VLAN)
    paneled._obey("back")


def test_a_tag_of_no_vlan_passes_no_switch_and_charges_nobody(paneled: Paneled) -> None:
    paneled.spoil("retag", "from dut.p1")
    with pytest.raises(Undecided, match=r"did it: a switch need not keep tags of VLAN id 0"):
        tried(paneled, IN_NONE)
