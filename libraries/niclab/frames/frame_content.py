"""Content of crafted frames: made, and judged when it arrives. Goes to the servers with the program that uses it.

Python 3.7 and its library only. A payload is: magic, token of the exchange, flow, its own length, number, bytes of a
pattern, and a hash of all of it. So each frame says by itself whether it was damaged, cut, sent twice or reordered.
"""

from __future__ import annotations

import hashlib
import random
import socket
import struct
from typing import Any

MAGIC = b"NLFR"
HEAD = struct.Struct("!4sIHHI")
"""Magic, token, flow, length of the payload, number."""
HASH = 8
LEAST = HEAD.size + HASH
ETHERTYPE = 0x88B6
"""IEEE 802, local experimental ethertype 2."""
VLAN, IPV4, IPV6 = 0x8100, 0x0800, 0x86DD
EXTENSIONS = (0, 43, 60)
"""Extension headers of IPv6 (RFC 8200) that are skipped: hop-by-hop options, routing, destination options."""
UDP, TCP = 17, 6
SPREAD, NOBODY = 2654435761, b"\xfe\xfe"
"""Draws addresses and ports from a number (Knuth's multiplicative hash); the end of an address that no server has."""
MOST = 65536
PATTERN_BYTES = 2 * MOST


class FrameContent:
    """Makes and judges the payloads of one exchange.

    Args:
        token: Says which exchange a payload belongs to; the bytes follow from it.
    """

    def __init__(self, token: int) -> None:
        self.token = token
        self._noise = random.Random(token).getrandbits(8 * PATTERN_BYTES).to_bytes(PATTERN_BYTES, "big")
        walking = bytes(1 << (n % 8) for n in range(256))
        self._plain = [pattern * (MOST // len(pattern)) for pattern in (b"\0", b"\xff", b"\x55\xaa", walking)]

    def make(self, flow: int, number: int, length: int) -> bytes:
        """A payload of so many bytes: half of them noise, the others zeros, ones, 0x55AA, or a bit that walks."""
        kind, size = number % 8, length - LEAST
        if size < 0:
            raise ValueError(f"payload of {length} bytes; expected at least {LEAST}")
        if kind < len(self._plain):
            start = (number * 4099 + flow) % (PATTERN_BYTES - MOST)
            body = self._noise[start : start + size]
        else:
            body = self._plain[kind - len(self._plain)][:size]
        data = HEAD.pack(MAGIC, self.token, flow, length, number) + body
        return data + _hash(data)

    def judge(self, data: bytes, padded_to: int) -> tuple[int, int, str] | None:
        """Flow, number, and what is wrong with a payload, in words; None: it is not of this exchange.

        Args:
            data: What arrived.
            padded_to: A shorter payload may have been padded to so many bytes.
        """
        if len(data) < LEAST or data[: len(MAGIC)] != MAGIC:
            return None
        _, token, flow, length, number = HEAD.unpack_from(data)
        if token != self.token:
            return None
        if length < LEAST or len(data) < length:
            return flow, number, f"cut to {len(data)} of {length} bytes"
        if _hash(data[: length - HASH]) != data[length - HASH : length]:
            return flow, number, self._difference(data[:length], flow, number)
        if len(data) > max(length, padded_to):
            return flow, number, f"{len(data)} bytes, {length} were sent"
        if any(data[length:]):
            return flow, number, f"its padding is {data[length:].hex()}, not zeros"
        return flow, number, ""

    def _difference(self, data: bytes, flow: int, number: int) -> str:
        sent = self.make(flow, number, len(data))
        places = [at for at in range(len(data)) if data[at] != sent[at]]
        if not places:
            return "its hash does not fit its content"
        at, bits = places[0], sum(bin(data[at] ^ sent[at]).count("1") for at in places)
        return f"byte {at} of {len(data)} is 0x{data[at]:02x}, sent 0x{sent[at]:02x}; {bits} bits differ"


def summed(data: bytes) -> int:
    """The checksum of the internet protocols (RFC 1071), not inverted: the sum of 16-bit words modulo 0xFFFF."""
    total = int.from_bytes(data + b"\0" * (len(data) % 2), "big")
    return total % 0xFFFF or (0xFFFF if total else 0)


def spoilt(value: int, number: int) -> int:
    """Another checksum, by one of 16 patterns; never 0, which says of UDP that there is none."""
    return value ^ (1 << number % 16) or value ^ (3 << number % 15)


def crafted(frame: dict[str, Any], content: FrameContent, flow: int, number: int, size: int) -> bytes:
    """A frame of ``size`` bytes, FCS not counted. ``frame``: as :class:`niclab.frames.spec.FrameSpec` writes it."""
    head = bytes.fromhex((frame["destination"] + frame["source"]).replace(":", ""))
    head += b"".join(struct.pack("!HH", VLAN, tag) for tag in frame["vlans"])
    if frame["kind"] == "ethernet":
        head += struct.pack("!H", ETHERTYPE)
        return head + content.make(flow, number, size - len(head))
    head += struct.pack("!H", IPV6 if ":" in frame["to"] else IPV4)
    return head + _packet(frame, content, flow, number, size - len(head))


def _packet(frame: dict[str, Any], content: FrameContent, flow: int, number: int, size: int) -> bytes:
    """A UDP datagram, or a SYN of TCP with data, in IPv4 or IPv6."""
    protocol, header = (UDP, 8) if frame["kind"] == "udp" else (TCP, 20)
    source, destination, port = _ends(frame, number)
    is_6 = len(source) == 16
    data = content.make(flow, number, size - header - (40 + 8 * frame["extensions"] if is_6 else 20))
    first, last = struct.pack("!HH", port, frame["port"]), b""
    if protocol == UDP:
        first += struct.pack("!H", header + len(data))
    else:
        first += struct.pack("!IIBBH", number << 16 & 0xFFFFFFFF, 0, 0x50, 2, 8192)
        last = b"\0\0"
    pseudo = source + destination + struct.pack("!HH", protocol, header + len(data))
    check = ~summed(pseudo + first + b"\0\0" + last + data) & 0xFFFF or 0xFFFF
    if frame["wrong"] == "transport":
        check = spoilt(check, number)
    inside = first + struct.pack("!H", check) + last + data
    if is_6:
        return _ip_6(frame["extensions"], protocol, source + destination, inside)
    ip = struct.pack("!BBHHHBB", 0x45, 0, 20 + len(inside), number & 0xFFFF, 0, 64, protocol)
    ip_check = ~summed(ip + b"\0\0" + source + destination) & 0xFFFF
    if frame["wrong"] == "ip":
        ip_check = spoilt(ip_check, number)
    return ip + struct.pack("!H", ip_check) + source + destination + inside


def _ends(frame: dict[str, Any], number: int) -> tuple[bytes, bytes, int]:
    """The addresses, and the port of the sender. Of many connections each has its own, and no system has them."""
    family = socket.AF_INET6 if ":" in frame["to"] else socket.AF_INET
    source, destination = (socket.inet_pton(family, frame[end]) for end in ("from", "to"))
    if frame["connections"] < 2:
        return source, destination, frame["port"]
    drawn = (number % frame["connections"] + 1) * SPREAD & 0xFFFFFFFF
    return source[:-2] + struct.pack("!H", drawn >> 16), destination[:-2] + NOBODY, 1024 + drawn % 64000


def _ip_6(extensions: int, protocol: int, addresses: bytes, inside: bytes) -> bytes:
    """Add the header of IPv6, and before the last one options that say nothing (PadN; RFC 8200, 4.2)."""
    kinds = [0, 60][2 - extensions :]
    options = b"".join(
        struct.pack("!BBBBI", following, 0, 1, 4, 0) for following in [*kinds[1:], protocol][: len(kinds)]
    )
    head = struct.pack("!IHBB", 6 << 28, len(options) + len(inside), (*kinds, protocol)[0], 64)
    return head + addresses + options + inside


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=HASH).digest()
