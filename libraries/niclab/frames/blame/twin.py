"""The same streams without the card: between a port of the peer that is suspected and another port of the peer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from niclab.bench.records import Port
from niclab.frames.blame.frame_findings import FrameDifference, FrameFinding
from niclab.frames.spec import (
    ETHERNET_HEADER,
    SHORTEST_TCP_FRAME,
    Arrives,
    FrameKind,
    FrameSpec,
    FrameStream,
    MadeBy,
    PortModes,
)

MOST_CHANCE = 0.05
"""Assumption: a peer that hits as many frames without the card as with it is taken for sound so often at most. That all
of k hits are in the exchange with the card has a chance of 1 / (1 + f)^k; the one without it is f times as long."""
UNCOUNTED = 997
"""Frames in place of a stream that lasts until it is stopped."""
LASTS_S = 30.0
"""Seconds that a stream of a given rate takes at most, long before its exchange ends by itself; it is faster then."""
COMMON_MTU, JUMBO_MTU = 1500, 9000
"""Bytes: what any switch carries (IEEE 802.3-2018, 3.2.7); assumption: what one with jumbo frames does, to which larger
frames are cut."""
NOBODY = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8::1", "2001:db8::2")}
"""Addresses of no system (RFC 5737, RFC 3849): none answers."""
HEADERS = 54
"""Bytes of Ethernet, IPv4 and TCP before the data of a segment."""
VLAN_BITS = 0xFFF
SHORTEST = SHORTEST_TCP_FRAME + 20
"""Bytes of a frame whose content can be numbered, of TCP over IPv6."""


@dataclass(frozen=True)
class Pair:
    """A suspected port of the peer, and another one that sends to it and receives from it.

    Attributes:
        suspect: The port.
        other: The other one.
        macs: The MAC addresses that they have now.
        mtu: Bytes; the smaller MTU of the two.
    """

    suspect: Port
    other: Port
    macs: Mapping[Port, str]
    mtu: int

    @property
    def longest(self) -> int:
        """Bytes of the longest frame between them."""
        return min(self.mtu, JUMBO_MTU) + ETHERNET_HEADER


def twins(pair: Pair, charges: Sequence[FrameFinding]) -> list[FrameStream]:
    """Return the suspected streams as they are without the card, as many frames as prove the suspect sound.

    Frames that only some switches carry are in streams of their own. What systems make of records is made here, and no
    system answers. Tags that no switch keeps are not tried: none are returned where nothing else is suspected.

    Args:
        pair: The two ports.
        charges: Findings with a suspicion, all against the same port.
    """
    factors, hits = dict[FrameStream, int](), Counter[FrameDifference]()
    suspicions = [(each.difference, each.suspicion) for each in charges if each.suspicion]
    for difference, suspicion in suspicions:
        hits[difference] += suspicion.hits
    for difference, suspicion in suspicions:
        for stream in suspicion.streams:
            if difference is FrameDifference.RETAGGED and gives_priority_alone(stream):
                continue
            factors[stream] = max(factors.get(stream, 1), math.ceil(longer(hits[difference])))
    return [part for stream, factor in factors.items() for part in _parts(_twin(pair, stream, factor))]


def longer(hits: int) -> float:
    """Return how many times as long as the exchange with the card the one without it must be, to prove the peer sound.

    Args:
        hits: Frames that were hit in the exchange with the card, all in the same way.
    """
    return math.pow(MOST_CHANCE, -1 / max(1, hits)) - 1


def modes(pair: Pair, streams: Sequence[FrameStream]) -> dict[Port, PortModes]:
    """Return the modes of the ports: one that is in no VLAN may refuse tags, but not while it is promiscuous.

    Args:
        pair: The two ports.
        streams: What is sent.
    """
    tagged = any(each.frame and each.frame.vlans and each.receiver == pair.other for each in streams)
    return {pair.other: PortModes(promiscuous=True)} if tagged else {}


def is_uncommon(stream: FrameStream) -> bool:
    """Return whether there are switches that do not carry the frames of a stream: large ones, and tagged ones.

    Args:
        stream: One of :func:`twins`.
    """
    return min(stream.sizes) > COMMON_MTU + ETHERNET_HEADER or bool(stream.frame and stream.frame.vlans)


def gives_priority_alone(stream: FrameStream) -> bool:
    """Return whether the outer tag has VLAN id 0: a switch takes such a tag away (IEEE 802.1Q-2018, 6.9.1).

    Args:
        stream: A stream, suspected or one of :func:`twins`.
    """
    tags = stream.tags_on_the_wire
    return bool(tags) and not tags[0] & VLAN_BITS


def _twin(pair: Pair, stream: FrameStream, factor: int) -> FrameStream:
    sender, receiver = (pair.suspect, pair.other) if stream.sender == pair.suspect else (pair.other, pair.suspect)
    source, destination = pair.macs[sender], pair.macs[receiver]
    if stream.frame is None:
        most = stream.mss + HEADERS if stream.mss else pair.longest
        sizes = tuple(size for each in stream.sizes for size in _frames(each, most))
        each_record = len(sizes) / len(stream.sizes)
        kind = FrameKind.UDP if stream.made_by is MadeBy.UDP else FrameKind.TCP
        if stream.tags_on_the_wire:  # of tagged IP from packet sockets, each size may leave by a queue of its own
            kind = FrameKind.ETHERNET
        addresses = NOBODY[_version(stream.addresses)]
        frame = FrameSpec(source, destination, kind, stream.tags_on_the_wire, addresses=addresses)
        count, per_s = math.ceil(stream.count * each_record), stream.per_s * each_record
    else:
        sizes = tuple(min(size, pair.longest) for size in stream.sizes)
        addresses = NOBODY[_version(stream.frame.addresses)]
        frame = replace(stream.frame, source=source, destination=destination, addresses=addresses)
        frame = replace(frame, vlans=stream.tags_on_the_wire)
        count, per_s = stream.count or UNCOUNTED, stream.per_s
    name, per_s = f"{stream.name}, without the card", max(per_s, factor * count / LASTS_S) if per_s else 0
    return FrameStream(name, sender, receiver, factor * count, sizes, frame, per_s=per_s)


def _frames(record: int, most: int) -> Iterator[int]:
    """The sizes of the frames that carry a record, the last one shorter."""
    for at in range(0, record, most - HEADERS):
        yield max(SHORTEST, min(most, record - at + HEADERS))


def _version(addresses: tuple[str, str]) -> int:
    return 6 if ":" in addresses[0] else 4


def _parts(twin: FrameStream) -> Iterator[FrameStream]:
    common = COMMON_MTU + ETHERNET_HEADER
    small, large = (tuple(size for size in twin.sizes if (size > common) is it) for it in (False, True))
    if small:
        yield replace(twin, sizes=small, at_port=Arrives.ALL)
    if large:
        yield replace(twin, name=f"{twin.name}, of more than {common} bytes", sizes=large, at_port=Arrives.ALL)
