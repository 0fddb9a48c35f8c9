"""Packets: RMCP, the ASF ping, IPMI 1.5 and 2.0 session headers, IPMI messages (IPMI chapter 13)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum


class MalformedError(Exception):
    """Bytes that are not the packet they should be. They get no answer."""


RMCP_VERSION = 6
NO_ACKNOWLEDGE = 0xFF
"""RMCP sequence number of packets that want no RMCP acknowledge; IPMI wants none."""
CLASS_ASF = 6
CLASS_IPMI = 7

FORMAT_RMCP_PLUS = 6
"""Authentication type byte that says "IPMI 2.0 header follows"."""
AUTHENTICATED = 0x40
ENCRYPTED = 0x80
_NEXT_HEADER = 7
_ASF_IANA = (4542).to_bytes(4, "big")


class Payload(IntEnum):
    """Payload types of RMCP+ (IPMI table 13-16)."""

    IPMI = 0x00
    OPEN_REQUEST = 0x10
    OPEN_RESPONSE = 0x11
    RAKP_1 = 0x12
    RAKP_2 = 0x13
    RAKP_3 = 0x14
    RAKP_4 = 0x15


@dataclass(frozen=True)
class Rmcp:
    """An RMCP packet: message class and what follows the header."""

    message_class: int
    content: bytes

    @classmethod
    def parse(cls, packet: bytes) -> Rmcp:
        """Take the header off.

        Raises:
            MalformedError: No RMCP, or an RMCP acknowledge.
        """
        if len(packet) < 5 or packet[0] != RMCP_VERSION:
            raise MalformedError("no RMCP packet")
        if packet[3] & 0x80:
            raise MalformedError("an RMCP acknowledge")
        return cls(packet[3], packet[4:])

    def pack(self) -> bytes:
        """The packet as bytes."""
        return bytes([RMCP_VERSION, 0, NO_ACKNOWLEDGE, self.message_class]) + self.content


def pong(ping: bytes) -> bytes:
    """The answer to an ASF presence ping (IPMI table 13-5): IPMI is supported.

    Raises:
        MalformedError: Not a ping.
    """
    if len(ping) < 8 or ping[:4] != _ASF_IANA or ping[4] != 0x80:
        raise MalformedError("no ASF ping")
    tag = ping[5]
    return _ASF_IANA + bytes([0x40, tag, 0, 16]) + _ASF_IANA + bytes([0, 0, 0, 0, 0x81, 0]) + bytes(6)


@dataclass(frozen=True)
class Header:
    """An RMCP+ session header (IPMI table 13-8) with the bytes it describes.

    Attributes:
        whole: Header, payload and what follows: padding, pad length, next header, integrity tag.
    """

    payload_type: int
    is_authenticated: bool
    is_encrypted: bool
    session_id: int
    sequence: int
    payload: bytes
    whole: bytes

    @classmethod
    def parse(cls, content: bytes) -> Header:
        """Read the header.

        Raises:
            MalformedError: Too short, or an OEM payload.
        """
        if len(content) < 12:
            raise MalformedError("RMCP+ header too short")
        flags, session_id, sequence, length = struct.unpack_from("<BIIH", content, 1)
        payload = content[12 : 12 + length]
        if len(payload) != length:
            raise MalformedError(f"{len(payload)} bytes of payload, {length} announced")
        return cls(
            flags & 0x3F, bool(flags & AUTHENTICATED), bool(flags & ENCRYPTED), session_id, sequence, payload, content
        )

    def signed_and_tag(self, tag_bytes: int) -> tuple[bytes, bytes]:
        """Return the bytes that the integrity tag covers, and the tag.

        Raises:
            MalformedError: When there is no room for padding, pad length, next header and tag.
        """
        if len(self.whole) < 12 + len(self.payload) + 2 + tag_bytes:
            raise MalformedError("no room for an integrity tag")
        return self.whole[:-tag_bytes], self.whole[-tag_bytes:]


def pack_plus(payload_type: int, payload: bytes, session_id: int = 0, sequence: int = 0) -> bytes:
    """An RMCP+ packet up to the end of the payload; ``payload_type`` with its flag bits."""
    return struct.pack("<BBIIH", FORMAT_RMCP_PLUS, payload_type, session_id, sequence, len(payload)) + payload


def with_trailer(packet: bytes) -> bytes:
    """Padding, pad length and next header, as they are signed (IPMI table 13-8, session trailer)."""
    padding = -(len(packet) + 2) % 4
    return packet + b"\xff" * padding + bytes([padding, _NEXT_HEADER])


def parse_v15(content: bytes) -> bytes:
    """The IPMI message in a packet with an IPMI 1.5 header outside of sessions.

    Raises:
        MalformedError: Too short, inside a session, or authenticated.
    """
    if len(content) < 10 or content[0] != 0:
        raise MalformedError("no unauthenticated IPMI 1.5 packet")
    if content[5:9] != bytes(4):
        raise MalformedError("IPMI 1.5 sessions are not offered")
    message = content[10 : 10 + content[9]]
    if len(message) != content[9]:
        raise MalformedError("IPMI 1.5 message shorter than announced")
    return message


def pack_v15(message: bytes) -> bytes:
    """An IPMI message with an IPMI 1.5 header outside of sessions."""
    return bytes(9) + bytes([len(message)]) + message


@dataclass(frozen=True)
class Message:
    """An IPMI request (IPMI table 13-8, LAN message format).

    Attributes:
        addresses: Responder and requester address.
        luns: Responder and requester LUN.
    """

    netfn: int
    command: int
    data: bytes
    sequence: int
    addresses: tuple[int, int]
    luns: tuple[int, int]

    @classmethod
    def parse(cls, message: bytes) -> Message:
        """Read and check a request.

        Raises:
            MalformedError: Too short, wrong check sums, or a response.
        """
        if len(message) < 7:
            raise MalformedError("IPMI message too short")
        if sum(message[:3]) & 0xFF or sum(message[3:]) & 0xFF:
            raise MalformedError("IPMI message with a wrong check sum")
        netfn = message[1] >> 2
        if netfn & 1:
            raise MalformedError("an IPMI response")
        return cls(
            netfn,
            message[5],
            message[6:-1],
            message[4] >> 2,
            (message[0], message[3]),
            (message[1] & 3, message[4] & 3),
        )

    def answer(self, body: bytes) -> bytes:
        """The response message; ``body`` is completion code and data."""
        responder, requester = self.addresses
        responder_lun, requester_lun = self.luns
        head = bytes([requester, (self.netfn | 1) << 2 | requester_lun])
        tail = bytes([responder, self.sequence << 2 | responder_lun, self.command]) + body
        return head + bytes([_checksum(head)]) + tail + bytes([_checksum(tail)])


def _checksum(content: bytes) -> int:
    return -sum(content) & 0xFF
