"""The least that a point of the sweep must carry, by what was measured at another one.

A message costs no more than a larger one, and a frame no more than a larger one: who sends so many messages, or
frames, a second of the one kind can send as many of the smaller kind. Larger frames carry no less than smaller ones. A
curve that falls below that shows a defect at that size, whatever the servers are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from niclab.traffic.tools.tool import TrafficTest

SLACK = 0.25
"""Assumption: servers differ a little from size to size; a defect costs more than this part."""
IP_HEADER, UDP_HEADER, TCP_HEADERS = 20, 8, 52
"""IPv4; UDP; IPv4 20, TCP 20 and time stamps 12 (RFC 7323)."""
FRAGMENT_STEP = 8
"""Fragments but the last one carry a multiple of so many bytes (RFC 791, 3.2)."""


@dataclass(frozen=True)
class Spot:
    """One point of the sweep."""

    test: TrafficTest
    mtu: int
    message_bytes: int

    def __str__(self) -> str:
        return f"{self.test.value} of {self.message_bytes} bytes at MTU {self.mtu}"

    @property
    def frames(self) -> float:
        """Frames of one message: that of UDP with its fragments; a part of one where TCP puts several into a frame."""
        if self.test is not TrafficTest.UDP_STREAM:
            return self.message_bytes / (self.mtu - TCP_HEADERS)
        room = (self.mtu - IP_HEADER) // FRAGMENT_STEP * FRAGMENT_STEP
        return math.ceil((self.message_bytes + UDP_HEADER) / room)


@dataclass(frozen=True)
class Floor:
    """The least that a point must carry, and why."""

    mbps: float
    why: str


def floor(spot: Spot, known: Mapping[Spot, float], standard_mtu: int) -> Floor | None:
    """Predict the least that a point carries.

    Args:
        spot: The point.
        known: Throughput in Mbit/s at the points that were measured before.
        standard_mtu: The MTU whose points the others are compared with.

    Returns:
        The highest floor of all that other points say; None where none says one.
    """
    floors = [*_by_larger_message(spot, known), *_by_standard(spot, known, standard_mtu)]
    return max(floors, key=lambda each: each.mbps, default=None)


def _by_larger_message(spot: Spot, known: Mapping[Spot, float]) -> list[Floor]:
    larger = [each for each in known if _is_larger_alike(each, spot)]
    if not larger:
        return []
    nearest = min(larger, key=lambda each: each.message_bytes)
    carried = known[nearest] * spot.message_bytes / nearest.message_bytes
    return [_floor(carried, f"as many messages a second as {nearest}")]


def _by_standard(spot: Spot, known: Mapping[Spot, float], standard_mtu: int) -> list[Floor]:
    standard = Spot(spot.test, standard_mtu, spot.message_bytes)
    if standard not in known:
        return []
    if spot.mtu > standard_mtu:
        return [_floor(known[standard], f"no less than {standard}")]
    return [_floor(known[standard] * standard.frames / spot.frames, f"as many frames a second as {standard}")]


def _is_larger_alike(other: Spot, spot: Spot) -> bool:
    return (other.test, other.mtu) == (spot.test, spot.mtu) and other.message_bytes > spot.message_bytes


def _floor(mbps: float, why: str) -> Floor:
    return Floor((1 - SLACK) * mbps, f"assumption: {why}, {mbps:.4g} Mbit/s, less {100 * SLACK:g} %")


def by_frame_rate(spot: Spot, frames_per_s: float, line_mbps: float) -> float:
    """Return the Mbit/s that a datagram's size allows by a frame rate, or by the line where that comes first.

    Args:
        spot: The point.
        frames_per_s: The frame rate of the card.
        line_mbps: The line rate.
    """
    payload_bits = 8 * spot.message_bytes
    wire_bytes = spot.message_bytes + UDP_HEADER + spot.frames * (IP_HEADER + 14 + 24)  # Ethernet; IEEE 802.3, 4A.4.2
    return min(frames_per_s / spot.frames * payload_bits * 1e-6, line_mbps * payload_bits / (8 * wire_bytes))
