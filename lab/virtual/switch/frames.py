"""Ethernet frames: addresses, 802.1Q tags, sizes."""

from __future__ import annotations

import struct

HEADER_BYTES = 14
TAG_BYTES = 4
FCS_BYTES = 4
"""QEMU gives and takes frames without FCS; counters of octets count it (RFC 3635, 3.2.3)."""
MIN_BYTES = 60
MAX_BYTES = 9216 + HEADER_BYTES + TAG_BYTES
"""Longest accepted frame without FCS: 9216 octets of payload is what most switches with jumbo frames take."""
VLAN_TAG = 0x8100
SLOW_PROTOCOLS = 0x8809
MAC_CONTROL = 0x8808
"""Pause: the port's MAC keeps it. Counters of packets have what a MAC delivers to a higher layer (RFC 2863)."""
PULSE = bytes.fromhex("88b5") + (0x44524356).to_bytes(4, "big")
"""Beginning of light behind the addresses, as virtual cards see it (``card/silicon/wire.c``, ``VCARD_MAGIC``)."""
PULSE_FLAGS = slice(18, 22)
PULSE_LIGHT = 1
LLDP = 0x88CC
BROADCAST = b"\xff" * 6
LINK_LOCAL = bytes.fromhex("0180c20000")
"""01-80-C2-00-00-00 to -0F never pass a bridge (802.1Q-2018, table 8-1)."""
MAX_VLAN = 4094
VLAN_BITS = 0x0FFF


def octets(frame: bytes) -> int:
    """Return the octets by which counters count the frame: with FCS, and padded to the minimum."""
    return max(len(frame), MIN_BYTES) + FCS_BYTES


def link_local(frame: bytes) -> bool:
    """Is it for the switch itself or for nobody (LACP, LLDP, spanning tree, pause)?"""
    return frame[:5] == LINK_LOCAL and frame[5] < 0x10


def is_pulse(frame: bytes) -> bool:
    """Is it what a wire of virtual cards carries instead of light, and no frame?"""
    return frame[12 : PULSE_FLAGS.start] == PULSE


def light(pulse: bytes, source: bytes) -> bytes:
    """The pulse of a port that gives light, as an answer to ``pulse``; it asks for none."""
    shining = PULSE_LIGHT.to_bytes(4, "big")
    return pulse[:6] + source + pulse[12 : PULSE_FLAGS.start] + shining + pulse[PULSE_FLAGS.stop :]


def ether_type(frame: bytes) -> int:
    return int.from_bytes(frame[12:14], "big")


def tag_of(frame: bytes) -> int | None:
    """The 16 bits of the frame's tag, ``None`` without one."""
    if ether_type(frame) != VLAN_TAG or len(frame) < HEADER_BYTES + TAG_BYTES:
        return None
    return int.from_bytes(frame[14:16], "big")


def without_tag(frame: bytes) -> bytes:
    return frame[:12] + frame[16:]


def with_tag(frame: bytes, tag: int) -> bytes:
    return frame[:12] + struct.pack("!HH", VLAN_TAG, tag) + frame[12:]
