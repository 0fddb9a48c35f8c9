"""LLDP: the switch says who it is on each port, and remembers who said so to it (IEEE 802.1AB-2016)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from switch import frames

GROUP = bytes.fromhex("0180c200000e")
INTERVAL_S, HOLD = 5.0, 4
"""A short interval, the least that LLDP-MIB allows: a lab does not wait half a minute to see its wiring."""
BRIDGE = 0x0004  # capability bit 2
END, CHASSIS, PORT, TTL, PORT_DESCRIPTION, SYSTEM_NAME, SYSTEM_DESCRIPTION, CAPABILITIES = range(8)
CHASSIS_MAC, PORT_INTERFACE_NAME = 4, 5


@dataclass(frozen=True)
class Neighbour:
    """The report of a neighbour; text that it did not send is empty, as LLDP-MIB has it."""

    chassis_subtype: int
    chassis: bytes
    port_subtype: int
    port: bytes
    ttl_s: int
    port_description: bytes = b""
    system_name: bytes = b""
    system_description: bytes = b""
    capabilities: int = 0
    enabled_capabilities: int = 0


class LldpError(Exception):
    """The frame is no LLDPDU that 802.1AB allows."""


def encode(source: bytes, chassis: bytes, port: str, description: str, system: str, about: str) -> bytes:
    """The frame that the switch sends.

    Args:
        source: MAC address of the port.
        chassis: MAC address of the switch.
    """
    tlvs = (
        (CHASSIS, bytes([CHASSIS_MAC]) + chassis),
        (PORT, bytes([PORT_INTERFACE_NAME]) + port.encode()),
        (TTL, struct.pack("!H", int(INTERVAL_S) * HOLD)),
        (PORT_DESCRIPTION, description.encode()),
        (SYSTEM_NAME, system.encode()),
        (SYSTEM_DESCRIPTION, about.encode()),
        (CAPABILITIES, struct.pack("!HH", BRIDGE, BRIDGE)),
        (END, b""),
    )
    body = b"".join(struct.pack("!H", kind << 9 | len(value)) + value for kind, value in tlvs)
    return GROUP + source + struct.pack("!H", frames.LLDP) + body


def decode(frame: bytes) -> Neighbour:
    """Decode a frame.

    Raises:
        LldpError: Without chassis, port and time to live as its first three, or with one that is cut off.
    """
    tlvs: dict[int, bytes] = {}
    at = frames.HEADER_BYTES
    while True:
        if at + 2 > len(frame):
            raise LldpError("it ends without its end TLV")
        (head,) = struct.unpack_from("!H", frame, at)
        kind, length = head >> 9, head & 0x1FF
        value = frame[at + 2 : at + 2 + length]
        if len(value) != length:
            raise LldpError(f"TLV {kind} is cut off")
        if kind == END:
            break
        tlvs.setdefault(kind, value)
        at += 2 + length
    if list(tlvs)[:3] != [CHASSIS, PORT, TTL]:
        raise LldpError(f"its first TLVs are {list(tlvs)[:3]}; expected 1, 2, 3")
    if len(tlvs[CHASSIS]) < 2 or len(tlvs[PORT]) < 2 or len(tlvs[TTL]) < 2:
        raise LldpError("chassis, port or time to live is too short")
    able, enabled = struct.unpack("!HH", tlvs[CAPABILITIES]) if len(tlvs.get(CAPABILITIES, b"")) == 4 else (0, 0)
    return Neighbour(
        tlvs[CHASSIS][0],
        tlvs[CHASSIS][1:],
        tlvs[PORT][0],
        tlvs[PORT][1:],
        int.from_bytes(tlvs[TTL][:2], "big"),
        tlvs.get(PORT_DESCRIPTION, b""),
        tlvs.get(SYSTEM_NAME, b""),
        tlvs.get(SYSTEM_DESCRIPTION, b""),
        able,
        enabled,
    )


@dataclass(frozen=True)
class Known:
    """A row of the remote table: who, since and until when (monotonic, s), and the row's own number."""

    neighbour: Neighbour
    since: float
    until: float
    index: int


class Neighbours:
    """The neighbour at the other end of each port."""

    def __init__(self) -> None:
        self.known: dict[int, Known] = {}
        self.changes = 0
        self._rows = 0

    def heard(self, port: int, neighbour: Neighbour, now: float) -> None:
        """One has spoken; a time to live of 0 says that it leaves."""
        if neighbour.ttl_s == 0:
            self.forget(port)
            return
        before = self.known.get(port)
        if before is None or before.neighbour != neighbour:
            self.changes += 1
        if before is None:
            self._rows += 1
        since, index = (before.since, before.index) if before else (now, self._rows)
        self.known[port] = Known(neighbour, since, now + neighbour.ttl_s, index)

    def forget(self, port: int) -> None:
        if self.known.pop(port, None):
            self.changes += 1

    def age(self, now: float) -> None:
        for port in [port for port, known in self.known.items() if known.until < now]:
            self.forget(port)
