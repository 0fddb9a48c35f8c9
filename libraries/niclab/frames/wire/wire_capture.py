"""Captures at an interface: packets as its driver is given them, and as it hands them over, and receive hashes.

Part of the frame program, Python 3.7 and its library only. Linux shows an outgoing packet after it has cut up, summed
and tagged what the driver has no offload for (net/core/dev.c, validate_xmit_skb() comes before dev_queue_xmit_nit()),
and an incoming one after GRO and LRO. The captures are read when the exchange is over, so that they slow nothing down.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from niclab.frames.frame_content import TCP
from niclab.frames.frame_sockets import BUFFER_BYTES, RCVBUFFORCE
from niclab.frames.wire.packet import Packet

# linux/if_packet.h, asm-generic/socket.h, linux/if_ether.h
SOL_PACKET, STATISTICS, AUXDATA, ATTACH_FILTER, EVERY_PROTOCOL = 263, 6, 8, 26, 3
SUM_NOT_READY, TAG_VALID, SUM_VALID = 1 << 3, 1 << 4, 1 << 7
MOST = 1 << 17
SEEN, HASH_BITS = 96, 10
"""Bytes of a frame that the filter leaves when it has no hash; when it has, one more and the hash's lowest bits."""
HASH_FILTER = (
    (0x20, 0, 0, 0xFFFFF000 + 32),  # A = the packet's hash as the driver left it (SKF_AD_RXHASH of linux/filter.h)
    (0x15, 3, 0, 0),  # none: the last line
    (0x54, 0, 0, (1 << HASH_BITS) - 1),
    (0x04, 0, 0, SEEN + 1),
    (0x16, 0, 0, 0),
    (0x06, 0, 0, SEEN),
)
NET = Path("/sys/class/net")


class View:
    """The packets of one protocol, in or out."""

    def __init__(self) -> None:
        self.frames = self.largest = self.oversize = self.unfinished = 0
        self.wrong_headers = self.wrong = self.cut = 0
        self.handed: dict[str, int] = {}
        self.inline: dict[str, int] = {}
        self.sizes: dict[int, int] = {}
        self.example = ""

    def take(self, packet: Packet, is_handed: bool, unfinished: bool, oversize: bool) -> None:
        size = packet.end - packet.at
        self.frames += 1
        self.largest = max(self.largest, size)
        self.oversize += oversize
        self.unfinished += unfinished
        tags, handed = (self.handed if is_handed else self.inline), ".".join(map(str, packet.tags))
        tags[handed] = tags.get(handed, 0) + 1

    def judge(self, packet: Packet) -> None:
        """Is a packet right that has come off the wire?"""
        payload = len(packet.payload)
        self.sizes[payload] = self.sizes.get(payload, 0) + 1
        if packet.is_cut:
            self.cut += 1
            self.note(f"packet of {packet.end - packet.at} bytes in a frame of {len(packet.data)}")
        elif packet.has_wrong_header:
            self.wrong_headers += 1
            self.note(f"packet with {payload} bytes of data: wrong checksum of its header")
        elif packet.wrong_sum:
            self.wrong += 1
            self.note(f"packet with {payload} bytes of data: {packet.wrong_sum}")

    def note(self, said: str) -> None:
        self.example = self.example or said

    def said(self) -> dict[str, Any]:
        names = ("frames", "largest", "oversize", "unfinished", "wrong_headers", "wrong", "cut", "handed", "inline")
        found = {name: getattr(self, name) for name in (*names, "example")}
        most = max(self.sizes, default=0)
        short = sum(count for size, count in self.sizes.items() if 0 < size < most)
        odd = sum(count for size, count in self.sizes.items() if size % 2)
        return dict(found, short=short, odd=odd)


class WireCapture:
    """Packets of TCP and UDP of this exchange at an interface."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.name, self.port, self.mss = plan["iface"], plan["port"], plan["mss"]
        self.mtu = int((NET / self.name / "mtu").read_text())
        self.views: dict[str, View] = {}
        self.socket = opened(self.name)

    def said(self) -> Iterator[dict[str, Any]]:
        for data, extra, outgoing in drained(self.socket):
            self.take(data, extra, outgoing)
        views = {name: view.said() for name, view in sorted(self.views.items())}
        yield {"kind": "wire", "port": self.name, "views": views, "dropped": dropped(self.socket)}

    def take(self, data: bytes, extra: list[Any], outgoing: bool) -> None:
        tag, status = None, 0
        for _, kind, value in extra:
            if kind == AUXDATA:
                status, _, _, _, _, tci, _ = struct.unpack_from("=IIIHHHH", value)
                tag = tci if status & TAG_VALID else None
        packet = Packet(data, tag)
        if not packet.over or self.port not in packet.ports:
            return
        view = self.views.setdefault(f"{'out' if outgoing else 'in'} {packet.over}", View())
        unfinished = bool(status & SUM_NOT_READY)
        oversize = packet.end - packet.at > self.mtu
        oversize |= packet.protocol == TCP and 0 < self.mss < len(packet.payload)
        view.take(packet, tag is not None, unfinished, oversize)
        if not outgoing and not unfinished and not packet.is_fragment:
            view.judge(packet)


class HashCapture:
    """The hashes that the driver gives to frames of this exchange with at least 1120 bytes, by connection."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.name, self.port = plan["iface"], plan["port"]
        self.hashes: dict[tuple[bytes, int], set[int]] = {}
        self.frames = self.hashless = 0
        lines = b"".join(struct.pack("HBBI", *line) for line in HASH_FILTER)
        self.lines = ctypes.create_string_buffer(lines)
        program = struct.pack("HL", len(HASH_FILTER), ctypes.addressof(self.lines))
        self.socket = opened(self.name, program)

    def said(self) -> Iterator[dict[str, Any]]:
        for data, extra, outgoing in drained(self.socket):
            if not outgoing:
                self.take(data, extra)
        found = {"frames": self.frames, "hashless": self.hashless, "connections": len(self.hashes)}
        found["values"] = len(set().union(*self.hashes.values()))
        found["unsteady"] = sum(len(each) > 1 for each in self.hashes.values())
        queues = sorted((NET / self.name / "queues").glob("rx-*"))
        steered = any(int((each / "rps_cpus").read_text().replace(",", ""), 16) for each in queues)
        yield dict(
            found, kind="hashes", port=self.name, queues=len(queues), steered=steered, dropped=dropped(self.socket)
        )

    def take(self, data: bytes, extra: list[Any]) -> None:
        lengths = [struct.unpack_from("=II", value)[1] for _, kind, value in extra if kind == AUXDATA]
        packet = Packet(data)
        if not packet.over or packet.ports[1] != self.port or lengths[0] < SEEN + 1 + (1 << HASH_BITS):
            return
        self.frames += 1
        self.hashless += len(data) == SEEN
        self.hashes.setdefault((packet.addresses, packet.ports[0]), set()).add(len(data))


def opened(iface: str, program: bytes = b"") -> socket.socket:
    """A socket that gets every frame of an interface, in and out."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, BUFFER_BYTES)
    made.setsockopt(SOL_PACKET, AUXDATA, 1)
    if program:
        made.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, program)
    made.bind((iface, EVERY_PROTOCOL))
    return made


def drained(captured: socket.socket) -> Iterator[tuple[bytes, list[Any], bool]]:
    """The frames that a socket has got, with what the kernel says of each; the last is whether it is outgoing."""
    with contextlib.suppress(BlockingIOError):
        while True:
            data, extra, _, address = captured.recvmsg(MOST, 64)
            yield data, extra, address[2] == socket.PACKET_OUTGOING


def dropped(captured: socket.socket) -> int:
    """The frames for which a socket had no room."""
    return int(struct.unpack("II", captured.getsockopt(SOL_PACKET, STATISTICS, 8))[1])
