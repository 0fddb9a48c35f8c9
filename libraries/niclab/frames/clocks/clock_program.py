"""Reads and sets a port's clock and exchanges stamped frames: runs on Linux, sent there as source, Python 3.7 only.

Its steps (:mod:`niclab.run.step_program`): ``look``, ``watch``, ``set``, ``tune``, ``stamp``, ``answer``, ``exchange``.

Each reading of a clock lies between two of the server's own (CLOCK_MONOTONIC_RAW, which nobody tunes): however long
the server stood still, the truth is between them. Likewise a frame's stamps: one frame goes at a time, and the clock is
read before it is sent and after its answer has come.

The frames are Sync messages of IEEE 1588-2008 (version 2) in Ethernet, which every filter for events of that version
lets through; the peer answers each by another one.
"""

from __future__ import annotations

import select
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

from niclab.frames.clocks.clock_calls import SCALED, Clock, offered, stamp, stamping
from niclab.run.step_program import work

RAW = 4
"""CLOCK_MONOTONIC_RAW."""
STEERING = ("ptp4l", "phc2sys", "ts2phc", "timemaster", "chronyd")
"""Programs that set hardware clocks. chronyd does where it was asked to: where it has the clock's file open."""
READS = 100
EVERY_S = 0.002
GROUP, ETH_P_1588 = bytes.fromhex("011b19000000"), 0x88F7
MARK = b"niclab"
ASKS, ANSWERS = 1, 2
PTP = struct.Struct(">BBHBBHq4x8sHHBb10x")
"""Kind, version, length, domain, reserved, flags, correction, identity, port, number, control, interval, time."""
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_MULTICAST, PACKET_TX_TIMESTAMP = 263, 1, 0, 16
SO_TIMESTAMPING, MSG_ERRQUEUE = 37, 0x2000
WITHIN_S, LOOKS_S, APART_S = 2.0, 0.05, 0.001
MOST_LACKING = 3
LONGEST_PAUSE_S = 1.0


def own_ns() -> int:
    return time.clock_gettime_ns(RAW)


def reading(clock: Clock) -> list[int]:
    return [own_ns(), clock.now(), own_ns()]


def tightest(clock: Clock) -> list[int]:
    """The reading, of many, between whose two others the least time has passed."""
    return min((reading(clock) for _ in range(READS)), key=lambda each: each[2] - each[0])


def steering(number: int) -> list[str]:
    """Programs that have a clock open, and those that may open it at any time."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "comm").read_text().strip()
            if name in STEERING[:-1]:
                found.add(name)
            elif name in STEERING:
                found |= {name for each in (folder / "fd").iterdir() if str(each.resolve()) == f"/dev/ptp{number}"}
        except OSError:
            continue
    return sorted(found)


def look(plan: dict[str, Any]) -> dict[str, Any]:
    number, sends, passes = offered(plan["iface"])
    said = {"number": number, "sends": sends, "passes": passes, "stamping": stamping(plan["iface"])}
    if number < 0:
        return said
    clock = Clock(number)
    try:
        try:
            scaled = clock.frequency()
        except OSError:
            scaled = 0
        ahead = clock.now() - time.time_ns()
        return {**said, "most_ppb": clock.most_ppb(), "scaled": scaled, "ahead_ns": ahead, "steers": steering(number)}
    finally:
        clock.close()


def watch(clock: Clock, seconds: float) -> dict[str, Any]:
    """Read it for some time: the first and the last reading, and those that are earlier than the one before."""
    first = tightest(clock)
    back: list[int] = []
    count, same = 0, 0
    before, end_ns = clock.now(), own_ns() + int(seconds * 1e9)
    while own_ns() < end_ns:
        now = clock.now()
        count += 1
        same += now == before
        if now < before and len(back) < 3:
            back.append(before - now)
        before = now
        if count % READS == 0:
            time.sleep(EVERY_S)  # noqa: TID251 - on the server there is no niclab.core.wait
    return {"first": first, "last": tightest(clock), "reads": count, "back_ns": back, "same": same}


def set_by(clock: Clock, by_ns: int) -> dict[str, Any]:
    """Set it to another time; ``set``: when, and to what."""
    target = clock.now() + by_ns
    begun = own_ns()
    try:
        clock.set(target)
    except OSError as error:
        return {"refused": str(error), "errno": error.errno}
    return {"set": [begun, target, own_ns()], "read": reading(clock)}


def tune(clock: Clock, ppb: int) -> dict[str, Any]:
    try:
        clock.frequency(int(ppb * SCALED))
    except OSError as error:
        return {"refused": str(error), "errno": error.errno}
    return {}


def switch(plan: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"granted": stamp(plan["iface"], plan["sends"], plan["passes"])}
    except OSError as error:
        return {"refused": str(error), "errno": error.errno}


def opened(iface: str) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_1588))
    made.bind((iface, ETH_P_1588))
    joined = struct.pack("=iHH8s", socket.if_nametoindex(iface), PACKET_MR_MULTICAST, len(GROUP), GROUP)
    made.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, joined)
    return made


def sync(source: bytes, way: int, number: int, ns: int = 0) -> bytes:
    """A frame; ``number``: its place in the sequence; ``ns``: the sender's own time, in the field of the correction."""
    message = PTP.pack(0, 2, PTP.size, 0, 0, 0, ns, MARK + bytes(2), way, number, 0, 0)
    return (GROUP + source + struct.pack(">H", ETH_P_1588) + message).ljust(60, b"\0")


def numbered(data: bytes, way: int) -> int:
    """The number of a frame of ours that goes one way; -1: it is another one."""
    if len(data) < 14 + PTP.size or data[12:14] != struct.pack(">H", ETH_P_1588):
        return -1
    fields = PTP.unpack_from(data, 14)
    return fields[9] if fields[7][: len(MARK)] == MARK and fields[8] == way else -1


class AnsweringSync:
    """Answers every frame that asks, until it is ended."""

    def __init__(self, iface: str) -> None:
        self._socket = opened(iface)
        self._source: bytes = self._socket.getsockname()[4]
        self._over, self._thread = False, threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over:
            if select.select([self._socket], [], [], LONGEST_PAUSE_S)[0]:
                number = numbered(self._socket.recv(2048), ASKS)
                if number >= 0:
                    self._socket.send(sync(self._source, ANSWERS, number, own_ns()))

    def end(self) -> None:
        self._over = True
        self._thread.join()
        self._socket.close()


def hardware_ns(controls: list[tuple[int, int, bytes]]) -> int:
    """The time stamp of the hardware among control messages; 0: there is none."""
    for level, kind, data in controls:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPING) and len(data) >= 48:
            seconds, ns = struct.unpack_from("@qq", data, 32)
            return int(seconds * 10**9 + ns)
    return 0


class SyncExchange:
    """Frames that go out one at a time, each with its answer and the stamps of both."""

    def __init__(self, iface: str, clock: Clock, ways: int) -> None:
        self._socket, self._clock = opened(iface), clock
        self._source: bytes = self._socket.getsockname()[4]
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, ways)
        self._sends = bool(ways & 1)

    def frames(self, count: int) -> list[dict[str, Any]]:
        """The fate of each frame; no more follow once several lack something, for which each waits long."""
        found: list[dict[str, Any]] = []
        try:
            while len(found) < count and sum(each["lacks"] for each in found) < MOST_LACKING:
                found.append(self._frame(len(found)))
                time.sleep(APART_S)  # noqa: TID251 - on the server there is no niclab.core.wait
        finally:
            self._socket.close()
        return found

    def _frame(self, number: int) -> dict[str, Any]:
        begun, before = own_ns(), self._clock.now()
        self._socket.send(sync(self._source, ASKS, number))
        said: dict[str, Any] = {"lacks": True, "there": 0, "received": 0, "sent": [], "stood_ns": 0}
        now = own_ns()
        deadline = now + int(WITHIN_S * 1e9)
        while said["lacks"] and now < deadline:
            if select.select([self._socket], [], [], LOOKS_S)[0]:
                self._take(number, said)
            said["sent"] += self._stamps()
            said["lacks"] = not said["there"] or (self._sends and not said["sent"])
            last, now = now, own_ns()
            said["stood_ns"] = max(said["stood_ns"], now - last)
        return {**said, "before": before, "after": self._clock.now(), "begun": begun, "ended": own_ns()}

    def _take(self, number: int, said: dict[str, Any]) -> None:
        try:
            data, controls, _, _ = self._socket.recvmsg(2048, 512, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if numbered(data, ANSWERS) == number:
            said["there"], said["received"] = PTP.unpack_from(data, 14)[6], hardware_ns(controls)

    def _stamps(self) -> list[list[int]]:
        """Stamps of frames that were sent: the number in the frame that came back with each, and the time."""
        found: list[list[int]] = []
        while True:
            try:
                data, controls, _, _ = self._socket.recvmsg(2048, 512, MSG_ERRQUEUE | socket.MSG_DONTWAIT)
            except OSError:
                return found
            found.append([numbered(data, ASKS), hardware_ns(controls)])


class Steps:
    """The state between two steps."""

    def __init__(self) -> None:
        self.answering: list[AnsweringSync] = []

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        does = plan["do"]
        if does == "answer":
            while self.answering:
                self.answering.pop().end()
            self.answering = [AnsweringSync(iface) for iface in plan["at"]]
            return {}
        if does in ("look", "stamp"):
            return look(plan) if does == "look" else switch(plan)
        clock = Clock(plan["clock"])
        try:
            if does == "watch":
                return watch(clock, plan["seconds"])
            if does == "set":
                return set_by(clock, plan["by_ns"])
            if does == "tune":
                return tune(clock, plan["ppb"])
            return {"frames": SyncExchange(plan["iface"], clock, plan["ways"]).frames(plan["count"])}
        finally:
            clock.close()


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]), Steps().do)
