"""Frames of many flows, one of each. Goes to the servers with the program that uses it.

Python 3.7 and its library only. The flows of one seed differ in both ports alone. TCP is a RST with data: a system that
knows no such connection says nothing to it, so that a card which follows connections by what it sends (ixgbe's
Application Targeted Routing) has nothing to follow.
"""

from __future__ import annotations

import random
import socket
import struct
from typing import Any

from niclab.frames.frame_content import IPV4, TCP, UDP, summed

MAGIC = b"NLFQ"
HEAD = struct.Struct("!4sII")
"""Magic, token of the exchange, number of the flow."""
IPV6 = 0x86DD
PAYLOAD = 256
"""Bytes: so many that the length of what is read can tell some 200 queues, see ``flow_program``."""
LONGEST_START = 14 + 40 + 20
"""Bytes before the payload: of TCP in IPv6."""
RST = 4


def ports_of(seed: int, count: int) -> list[tuple[int, int]]:
    """Source and destination port of each flow, no two alike and none 0; the same follow from the same seed.

    Args:
        seed: Any number.
        count: How many flows.
    """
    noise = random.Random(seed)
    found: dict[tuple[int, int], None] = {}
    while len(found) < count:
        both = noise.getrandbits(32)
        if both >> 16 and both & 0xFFFF:
            found[both >> 16, both & 0xFFFF] = None
    return list(found)


def flow_frame(plan: dict[str, Any], token: int, number: int, ports: tuple[int, int]) -> bytes:
    """Make the frame of a flow.

    Args:
        plan: ``source`` and ``destination`` (MAC addresses), ``kind`` (``tcp4``), ``from`` and ``to`` (IP addresses).
        token: Says which exchange the frame belongs to.
        number: Number of the flow.
        ports: Its source and destination port.
    """
    family = socket.AF_INET6 if plan["kind"].endswith("6") else socket.AF_INET
    source, destination = (socket.inet_pton(family, plan[end]) for end in ("from", "to"))
    data = HEAD.pack(MAGIC, token, number).ljust(PAYLOAD, b"\0")
    protocol = TCP if plan["kind"].startswith("tcp") else UDP
    inside = _transport(protocol, ports, source + destination, data)
    if family == socket.AF_INET6:
        kind, head = IPV6, struct.pack("!IHBB", 6 << 28, len(inside), protocol, 64) + source + destination
    else:
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(inside), number & 0xFFFF, 0, 64, protocol, 0)
        check = ~summed(head + source + destination) & 0xFFFF
        kind, head = IPV4, head[:-2] + struct.pack("!H", check) + source + destination
    macs = bytes.fromhex((plan["destination"] + plan["source"]).replace(":", ""))
    return macs + struct.pack("!H", kind) + head + inside


def _transport(protocol: int, ports: tuple[int, int], addresses: bytes, data: bytes) -> bytes:
    if protocol == TCP:
        head, last = struct.pack("!HHIIBBH", *ports, 0, 0, 0x50, RST, 0), b"\0\0"
    else:
        head, last = struct.pack("!HHH", *ports, 8 + len(data)), b""
    length = len(head) + 2 + len(last) + len(data)
    pseudo = addresses + struct.pack("!II", length, protocol)
    check = ~summed(pseudo + head + b"\0\0" + last + data) & 0xFFFF or 0xFFFF
    return head + struct.pack("!H", check) + last + data


def flow_of(data: bytes, token: int) -> int | None:
    """The number of the flow of a frame, None of another frame; the frame may be cut behind the head of its payload.

    Args:
        data: The frame.
        token: Of the exchange.
    """
    if len(data) < 38:
        return None
    kind = int.from_bytes(data[12:14], "big")
    if kind == IPV4:
        protocol, start = data[23], 14 + 4 * (data[14] & 15)
    elif kind == IPV6:
        protocol, start = data[20], 54
    else:
        return None
    start += {TCP: 20, UDP: 8}.get(protocol, 0)
    if len(data) < start + HEAD.size:
        return None
    magic, of, number = HEAD.unpack_from(data, start)
    return int(number) if (magic, of) == (MAGIC, token) else None
