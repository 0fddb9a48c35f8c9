"""The streams without the card: as those with it, between two ports of the peer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from niclab.bench.records import Port, Role
from niclab.frames.blame import twin
from niclab.frames.blame.frame_findings import Culprit, FrameDifference, FrameFinding, Suspicion
from niclab.frames.blame.twin import Pair
from niclab.frames.spec import Arrives, FrameKind, FramePlan, FrameSpec, FrameStream, MadeBy, PortModes, Wrong, tag

DUT, P0, P1 = (
    Port(role, key, "", None, None) for role, key in ((Role.DUT, "p0"), (Role.PEER, "p0"), (Role.PEER, "p1"))
)
MACS = {P0: "02:00:5e:00:53:10", P1: "02:00:5e:00:53:11"}
PAIR = Pair(P0, P1, MACS, 1500)
FRAME = FrameSpec("02:00:5e:00:53:01", "03:00:5e:00:53:02")
STREAM = FrameStream("frames", DUT, P0, 997, (60, 1514), FRAME)


def charge(stream: FrameStream, hits: int, difference: FrameDifference = FrameDifference.DAMAGED) -> FrameFinding:
    return FrameFinding(difference, Culprit.CARD, "", Suspicion(P0, (stream,), hits))


def twins(stream: FrameStream, hits: int = 100, pair: Pair = PAIR) -> list[FrameStream]:
    return twin.twins(pair, [charge(stream, hits)])


def test_the_other_port_takes_the_place_of_the_card() -> None:
    (to_p0,) = twins(STREAM)
    assert (to_p0.sender, to_p0.receiver, to_p0.count, to_p0.sizes) == (P1, P0, 997, (60, 1514))
    assert to_p0.frame and (to_p0.frame.source, to_p0.frame.destination) == (MACS[P1], MACS[P0])
    group = replace(STREAM, sender=P0, receiver=DUT, frame=replace(FRAME, wrong=Wrong.TRANSPORT, kind=FrameKind.TCP))
    (from_p0,) = twins(group)
    assert (from_p0.sender, from_p0.receiver, from_p0.at_port) == (P0, P1, Arrives.ALL)
    assert from_p0.frame and from_p0.frame.destination == MACS[P1] and from_p0.frame.wrong is Wrong.TRANSPORT
    assert from_p0.frame.kind is FrameKind.TCP and from_p0.frame.addresses == ("192.0.2.1", "192.0.2.2")


@pytest.mark.parametrize(("hits", "times"), [(0, 19), (1, 19), (2, 4), (3, 2), (4, 2), (5, 1), (500, 1)])
def test_few_hits_need_more_frames(hits: int, times: int) -> None:
    (found,) = twins(STREAM, hits)
    assert found.count == times * 997
    assert (1 + times) ** -max(1, hits) <= twin.MOST_CHANCE


def test_records_with_a_tag_are_tried_by_tagged_frames_that_keep_their_order() -> None:
    records = FrameStream("records", DUT, P0, 24, (600,), made_by=MadeBy.TCP, addresses=("192.0.2.5", "192.0.2.6"))
    (found,) = twins(replace(records, tags=(tag(3, 5),)))
    assert found.frame and (found.frame.kind, found.frame.vlans) == (FrameKind.ETHERNET, (tag(3, 5),))
    (found,) = twins(records)
    assert found.frame and (found.frame.kind, found.frame.vlans) == (FrameKind.TCP, ())


def test_several_differences_of_a_stream_are_tried_once() -> None:
    (found,) = twin.twins(PAIR, [charge(STREAM, 9), charge(STREAM, 2, FrameDifference.TWICE)])
    assert found.count == 4 * 997


def test_hits_of_all_streams_count_together() -> None:
    other = replace(STREAM, name="others")
    found = twin.twins(PAIR, [charge(STREAM, 2), charge(other, 1), charge(other, 1, FrameDifference.LOST)])
    assert [each.count for each in found] == [2 * 997, 19 * 997]


def test_a_stream_without_end_gets_one_and_a_slow_one_is_in_time() -> None:
    (found,) = twins(replace(STREAM, count=0, per_s=50.0), hits=1)
    assert found.count == 19 * twin.UNCOUNTED and found.count / found.per_s == pytest.approx(twin.LASTS_S)


@pytest.mark.parametrize(
    ("made_by", "kind", "addresses"),
    [
        (MadeBy.UDP, FrameKind.UDP, ("198.18.10.1", "198.18.10.2")),
        (MadeBy.TCP, FrameKind.TCP, ("fd00::1", "fd00::2")),
    ],
)
def test_records_become_the_frames_that_carry_them(
    made_by: MadeBy, kind: FrameKind, addresses: tuple[str, str]
) -> None:
    record = FrameStream("records", DUT, P0, 10, (3000, 25), made_by=made_by, addresses=addresses, per_s=100.0)
    (found,) = twins(record)
    assert found.made_by is MadeBy.RAW and found.sizes == (1514, 1514, 134, twin.SHORTEST)
    assert (found.count, found.per_s) == (20, 200.0)
    assert found.frame and found.frame.kind is kind and (":" in found.frame.addresses[0]) is (":" in addresses[0])
    (cut,) = twins(replace(record, mss=1001))
    assert cut.sizes[0] == 1001 + twin.HEADERS


def test_frames_that_a_switch_need_not_carry_are_apart() -> None:
    small, large = twins(replace(STREAM, sizes=(60, 9014, 1514, 1515)), pair=replace(PAIR, mtu=9000))
    assert (small.sizes, large.sizes) == ((60, 1514), (9014, 1515))
    assert (twin.is_uncommon(small), twin.is_uncommon(large)) == (
        False,
        True,
    ) and "of more than 1514 bytes" in large.name
    for mtu in (1500, 9000, 9600):
        (cut,) = twins(replace(STREAM, sizes=(9614,)), pair=replace(PAIR, mtu=mtu))
        assert cut.sizes == (min(mtu, twin.JUMBO_MTU) + 14,)


def test_a_port_that_is_in_no_vlan_takes_tags() -> None:
    tagged = replace(STREAM, sender=P0, receiver=DUT, frame=replace(FRAME, vlans=(tag(7, 5),)))
    made = twins(tagged)
    assert made[0].frame and made[0].frame.vlans == (tag(7, 5),)
    assert twin.is_uncommon(made[0]) and twin.modes(PAIR, made) == {P1: PortModes(promiscuous=True)}
    assert twin.modes(PAIR, twins(STREAM)) == {} and FramePlan(tuple(made)).roles == [Role.PEER]
