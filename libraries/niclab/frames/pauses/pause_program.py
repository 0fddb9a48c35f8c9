"""Sends frames without end, or asks who does so to pause: runs on Linux, sent there as source, Python 3.7 only.

Its steps (:mod:`niclab.run.step_program`): ``stream`` sends frames from interfaces until ``end``, ``blocked`` tells for
how long one of them could not be sent, and ``hold`` sends pause frames to who sends, and tells when each frame came.

One clock counts, that of the server that sends pause frames: its kernel notes when it took a frame from the driver.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from niclab.run.step_program import work

PROTOCOL, MAC_CONTROL, PAUSE = 0x88B6, 0x8808, 1
"""IEEE 802 local experimental ethertype 2; IEEE 802.3-2018, 31.4.1.3 and annex 31A."""
GROUP = "01:80:c2:00:00:01"
"""IEEE 802.3-2018, 31B.1: no bridge forwards it."""
HEAD = struct.Struct(">8sII")
"""Mark, token, number."""
MARK = b"NLFRpaus"
SIZE = 1000
"""Bytes of a frame: drivers copy short ones, and call them sent at once (Linux: cxgb4, is_eth_imm())."""
BACKLOG_BYTES = 1 << 17
"""The most that a socket may have sent and the card not yet: about a hundred frames, a fifth of a second."""
SHORTEST = 60
STEPPED_NS = 20_000_000
LOOKS_S = 0.01
# linux/if_packet.h, asm-generic/socket.h
SOL_PACKET, STATISTICS, RCVBUFFORCE, TIMESTAMPNS = 263, 6, 33, 35
TIMESPEC = struct.Struct("ll")
BUFFER_BYTES = 16 << 20


def opened(iface: str, protocol: int) -> socket.socket:
    """A packet socket of an interface, which gets frames of a protocol; 0: none."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    made.bind((iface, protocol))
    return made


def header(destination: str, source: str, protocol: int) -> bytes:
    return bytes.fromhex((destination + source).replace(":", "")) + struct.pack(">H", protocol)


class Streaming:
    """Sends numbered frames from an interface until it is ended."""

    def __init__(self, plan: dict[str, Any], token: int, per_s: float, seconds: float) -> None:
        self._head = header(plan["destination"], plan["source"], PROTOCOL)
        self._token, self._every_s, self._end = token, 1 / per_s, time.monotonic() + seconds
        self._begun, self._longest_s, self._over = 0.0, 0.0, False
        self._socket = opened(plan["iface"], 0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BACKLOG_BYTES)
        self._socket.settimeout(0.5)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number, due = 0, time.monotonic()
        while not self._over and due < self._end:
            frame = self._head + HEAD.pack(MARK, self._token, number)
            self._send(frame + bytes(SIZE - len(frame)))
            number = (number + 1) & 0xFFFFFFFF
            due = max(due + self._every_s, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))  # noqa: TID251 - on the server there is no niclab.core.wait

    def _send(self, frame: bytes) -> None:
        self._begun = time.monotonic()
        while not self._over:
            try:
                self._socket.send(frame)
            except TimeoutError:
                continue
            except OSError as error:
                if error.errno not in (errno.ENETDOWN, errno.ENOBUFS, errno.ENXIO):
                    raise
            break
        self._longest_s, self._begun = max(self._longest_s, time.monotonic() - self._begun), 0.0

    def blocked_s(self) -> float:
        """The longest time in s for which a frame could not be sent, since the last question."""
        begun, now = self._begun, time.monotonic()
        longest, self._longest_s = max(self._longest_s, now - begun if begun else 0.0), 0.0
        return longest

    def end(self) -> None:
        self._over = True
        self._thread.join()
        self._socket.close()


class Held:
    """An interface whose other end is asked to pause."""

    def __init__(self, plan: dict[str, Any], token: int) -> None:
        self.pause_ns, self._token = int(plan["pause_s"] * 1e9), token
        self.asked: list[int] = []
        self.came: list[int] = []
        self._frame = header(GROUP, plan["source"], MAC_CONTROL) + struct.pack(">HH", PAUSE, plan["quanta"])
        self._frame += bytes(SHORTEST - len(self._frame))
        self._sender = opened(plan["iface"], 0)
        self._sender.setblocking(False)
        self._receiver = opened(plan["iface"], PROTOCOL)
        self._receiver.setblocking(False)
        self._receiver.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, BUFFER_BYTES)
        self._receiver.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)

    def ask(self) -> None:
        """Send a pause frame; one for which there is no room is not sent, and not noted."""
        now = time.time_ns()
        try:
            self._sender.send(self._frame)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOBUFS):
                raise
        else:
            self.asked.append(now)

    def read(self) -> None:
        """Note when each frame of ours came that lies at the socket."""
        while True:
            try:
                data, notes, _, address = self._receiver.recvmsg(2048, socket.CMSG_SPACE(TIMESPEC.size))
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENETDOWN:
                    raise
                return
            if len(data) != SIZE or HEAD.unpack_from(data, 14)[:2] != (MARK, self._token):
                continue
            if address[2] == socket.PACKET_HOST:
                seconds, ns = TIMESPEC.unpack(notes[0][2])
                self.came.append(seconds * 10**9 + ns)

    @property
    def is_back(self) -> bool:
        """Has a frame come after the pause?"""
        return bool(self.came and self.asked) and self.came[-1] > self.asked[-1] + self.pause_ns

    def said(self) -> dict[str, Any]:
        """Times in microseconds since the first pause frame, and frames for which there was no room."""
        _, dropped = struct.unpack("II", self._receiver.getsockopt(SOL_PACKET, STATISTICS, 8))
        first = self.asked[0] if self.asked else time.time_ns()
        asked, came = ([(each - first) // 1000 for each in times] for times in (self.asked, self.came))
        return {"asked_us": asked, "came_us": came, "dropped": dropped}

    def close(self) -> None:
        self._sender.close()
        self._receiver.close()


def hold(plan: dict[str, Any]) -> dict[str, Any]:
    """Wait for frames, ask who sends them to pause for a while, and wait until they come again."""
    ends = [Held(each, plan["token"]) for each in plan["ends"]]
    apart = time.time_ns() - time.monotonic_ns()
    try:
        _until(ends, lambda end: bool(end.came), plan["begin_within_s"])
        time.sleep(plan["lead_s"])  # noqa: TID251 - on the server there is no niclab.core.wait
        for end in ends:
            end.read()  # a frame that came before the kernel began to note times gets the time at which it is read
        begin, asked = time.monotonic(), 0
        while asked * plan["every_s"] < plan["hold_s"]:
            for end in ends:
                end.ask()
            asked += 1
            time.sleep(max(0.0, begin + asked * plan["every_s"] - time.monotonic()))  # noqa: TID251
        longest_s = max(end.pause_ns for end in ends) / 1e9
        _until(ends, lambda end: end.is_back, longest_s + plan["back_within_s"])
        if abs(time.time_ns() - time.monotonic_ns() - apart) > STEPPED_NS:
            raise RuntimeError("the clock was set meanwhile")
        return {plan["iface"]: end.said() for plan, end in zip(plan["ends"], ends)}  # noqa: B905 - Python 3.7
    finally:
        for end in ends:
            end.close()


def _until(ends: list[Held], done: Callable[[Held], bool], within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while True:
        for end in ends:
            end.read()
        if all(done(end) for end in ends) or time.monotonic() > deadline:
            return
        time.sleep(LOOKS_S)  # noqa: TID251 - on the server there is no niclab.core.wait


class Stepping:
    """The streams that are sent between two steps."""

    def __init__(self) -> None:
        self.streams: dict[str, Streaming] = {}

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        if plan["do"] == "hold":
            return hold(plan)
        if plan["do"] == "blocked":
            return {iface: each.blocked_s() for iface, each in self.streams.items()}
        while self.streams:
            self.streams.popitem()[1].end()
        if plan["do"] == "stream":
            for each in plan["streams"]:
                self.streams[each["iface"]] = Streaming(each, plan["token"], plan["per_s"], plan["seconds"])
        return {}


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]), Stepping().do)
