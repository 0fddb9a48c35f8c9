"""Sends flows, and tells by which receive queue each came: runs on Linux, sent there as source, Python 3.7 only.

Its steps (:mod:`niclab.run.step_program`): ``open`` listens at interfaces, ``send`` sends frames of flows, ``tell``
says what came since ``open``, and ends the listening.

A driver notes with each packet the queue that it took it from (``skb_record_rx_queue()``). A filter of a packet socket
can read that, and the number that it returns is the length which the socket gets: the length of what is read is the
queue. Linux since 3.1 (``SKF_AD_QUEUE``).
"""

from __future__ import annotations

import ctypes
import errno
import select
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

from niclab.frames.queues.flow_content import HEAD, LONGEST_START, flow_frame, flow_of, ports_of
from niclab.run.step_program import work

BASE = LONGEST_START + HEAD.size
"""Bytes of every frame that are read at least: all that says which flow it is."""
BURST, DRAIN = 16, 256
QUIET_S, LIMIT_S = 0.5, 5.0
EVERY_PROTOCOL = 3
# linux/if_packet.h, asm-generic/socket.h, linux/filter.h
SOL_PACKET, STATISTICS, ATTACH_FILTER, RCVBUFFORCE = 263, 6, 26, 33
BUFFER_BYTES = 32 << 20
LOAD_WORD, ADD_NUMBER, RETURN, QUEUE = 0x20, 0x04, 0x16, 0xFFFFF000 + 24


class Listener:
    """Everything that the driver of an interface delivers, with the queue of each frame that is long enough."""

    def __init__(self, iface: str, token: int) -> None:
        self.token = token
        self.came: dict[int, int] = {}
        self.moved: list[int] = []
        self.others = 0
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, BUFFER_BYTES)
        steps = [(LOAD_WORD, 0, 0, QUEUE), (ADD_NUMBER, 0, 0, BASE), (RETURN, 0, 0, 0)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
        words = struct.pack("HP", len(steps), ctypes.addressof(code))
        self.socket.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, words)
        self.socket.bind((iface, EVERY_PROTOCOL))

    def read(self) -> bool:
        """Read some; false where nothing was there."""
        for n in range(DRAIN):
            try:
                data, address = self.socket.recvfrom(1 << 16)
            except BlockingIOError:
                return n > 0
            except OSError as error:
                if error.errno != errno.ENETDOWN:
                    raise
                return n > 0  # the kernel says it once; frames come again when the interface is up
            if address[2] == socket.PACKET_OUTGOING:
                continue
            flow = flow_of(data, self.token)
            if flow is None:
                self.others += 1
            elif self.came.setdefault(flow, len(data) - BASE) != len(data) - BASE:
                self.moved.append(flow)
        return True

    def said(self) -> dict[str, Any]:
        """``came``: flow -> 1 and its queue, or 0 where the driver noted none; ``moved``: came by two queues."""
        _, dropped = struct.unpack("II", self.socket.getsockopt(SOL_PACKET, STATISTICS, 8))
        return {"came": self.came, "moved": self.moved, "others": self.others, "dropped": dropped}


class Program:
    """The sockets that are open between two steps."""

    def __init__(self) -> None:
        self.listeners: dict[str, Listener] = {}

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        if plan["do"] == "open":
            self.close()
            self.listeners = {iface: Listener(iface, plan["token"]) for iface in plan["ifaces"]}
            return {}
        if plan["do"] == "send":
            return send(plan["streams"], plan["token"])
        try:
            self.listen(plan["awaited"])
            return {iface: listener.said() for iface, listener in self.listeners.items()}
        finally:
            self.close()

    def listen(self, awaited: dict[str, int]) -> None:
        """Read until every flow has come, or nothing comes any more."""
        begin = last = time.monotonic()
        sockets = {listener.socket: listener for listener in self.listeners.values()}
        while time.monotonic() < min(last + QUIET_S, begin + LIMIT_S):
            known = sum(len(each.came) for each in self.listeners.values())
            for each in select.select(list(sockets), [], [], 0.05)[0]:
                sockets[each].read()
            if sum(len(each.came) for each in self.listeners.values()) > known:
                last = time.monotonic()
            if all(len(self.listeners[iface].came) >= count for iface, count in awaited.items()):
                return

    def close(self) -> None:
        while self.listeners:
            self.listeners.popitem()[1].socket.close()


def send(streams: list[dict[str, Any]], token: int) -> dict[str, Any]:
    """Send the streams one burst each in turn, and say how many frames of each were sent."""
    sockets, frames = [], []
    for plan in streams:
        ports = ports_of(plan["seed"], plan["count"])
        wanted = range(plan["count"]) if plan["only"] is None else plan["only"]
        frames.append([flow_frame(plan, token, number, ports[number]) for number in wanted])
        sockets.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
        sockets[-1].bind((plan["iface"], 0))
    begin, at = time.monotonic(), 0
    while any(at < len(each) for each in frames):
        for number, each in enumerate(frames):
            for frame in each[at : at + BURST]:
                sent(sockets[number], frame)
        at += BURST
        time.sleep(max(0.0, begin + at / streams[0]["per_s"] - time.monotonic()))  # noqa: TID251 - no niclab.core.wait
    for sender in sockets:
        sender.close()
    return {"sent": [len(each) for each in frames]}


def sent(sender: socket.socket, frame: bytes) -> None:
    """Send a frame, and again while the port's queue is full."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            sender.send(frame)
        except OSError as error:
            if error.errno != errno.ENOBUFS or time.monotonic() > deadline:
                raise
            select.select([], [], [], 0.002)
        else:
            return


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]), Program().do)
