"""The LACPDU, the frame in which the two ends of an aggregation tell each other their state (802.1AX-2014, 6.4.2)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntFlag

from switch import frames

GROUP = bytes.fromhex("0180c2000002")
SUBTYPE, VERSION = 1, 1
INFORMATION_BYTES = 15
ACTOR_AT = frames.HEADER_BYTES + 4
PARTNER_AT = ACTOR_AT + 20


class State(IntFlag):
    """Actor_State; in the frame the first of them is the lowest bit."""

    ACTIVITY = 0x01
    TIMEOUT = 0x02  # short
    AGGREGATION = 0x04
    SYNCHRONIZATION = 0x08
    COLLECTING = 0x10
    DISTRIBUTING = 0x20
    DEFAULTED = 0x40
    EXPIRED = 0x80
    NOTHING = 0


@dataclass(frozen=True)
class Information:
    """The information that one end sends about itself, or about the other."""

    system_priority: int = 0
    system: bytes = bytes(6)
    key: int = 0
    port_priority: int = 0
    port: int = 0
    state: State = State.NOTHING

    def encoded(self) -> bytes:
        return struct.pack(
            "!H6sHHHB", self.system_priority, self.system, self.key, self.port_priority, self.port, self.state
        )

    @staticmethod
    def decoded(data: bytes) -> Information:
        priority, system, key, port_priority, port, state = struct.unpack("!H6sHHHB", data)
        return Information(priority, system, key, port_priority, port, State(state))


@dataclass(frozen=True)
class Lacpdu:
    actor: Information
    partner: Information


def encode(source: bytes, pdu: Lacpdu) -> bytes:
    """The frame."""
    head = GROUP + source + struct.pack("!HBB", frames.SLOW_PROTOCOLS, SUBTYPE, VERSION)
    actor = b"\x01\x14" + pdu.actor.encoded() + bytes(3)
    partner = b"\x02\x14" + pdu.partner.encoded() + bytes(3)
    return head + actor + partner + b"\x03\x10" + bytes(14) + bytes(52)


def decode(frame: bytes) -> Lacpdu | None:
    """The LACPDU in a frame of the slow protocols; ``None`` when it is none, or a broken one."""
    if len(frame) < PARTNER_AT + 18 or frame[14] != SUBTYPE:
        return None
    if frame[16:18] != b"\x01\x14" or frame[PARTNER_AT - 2 : PARTNER_AT] != b"\x02\x14":
        return None
    return Lacpdu(
        Information.decoded(frame[ACTOR_AT : ACTOR_AT + INFORMATION_BYTES]),
        Information.decoded(frame[PARTNER_AT : PARTNER_AT + INFORMATION_BYTES]),
    )
