"""Sends one datagram, waits for its answer, rests, and so on: runs on Linux, sent there as source, Python 3.7 only.

Its steps (:mod:`niclab.run.step_program`): ``answer`` answers from now on at addresses, ``ask`` asks another server
for some seconds, ``pass`` sends frames to another interface of its own server, where it gets them itself.

The next datagram goes when the answer has come, or after ``late_s``: a frame that lies in a card because its interrupt
was lost is woken by the next one, and counts as late, not as lost. Each answer has the answering server's own time, so
that two of them tell on which way a datagram was late.
"""

from __future__ import annotations

import random
import select
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

from niclab.run.step_program import work

MARK = b"NLFRpong"
ASKED = struct.Struct(">8sIIQ")
"""Mark, token, number, nanoseconds when it was sent."""
THERE = struct.Struct(">Q")
"""Nanoseconds of the server that answers."""
HEADER_BYTES, LEAST_BYTES, EXPERIMENTAL = 14, 60, 0x88B6
"""Ethernet's header, a frame without FCS (IEEE 802.3-2018, 3.2.7), and the second EtherType of local experiments."""
DRAIN_S = 0.2
LONGEST_PAUSE_S = 1.0


class Answering:
    """Answers at an address until it is ended."""

    def __init__(self, address: str, port: int) -> None:
        self._socket = _socket(address, port)
        self._over, self._thread = False, threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over:
            if not select.select([self._socket], [], [], LONGEST_PAUSE_S)[0]:
                continue
            data, sender = self._socket.recvfrom(2048)
            if len(data) == ASKED.size and data[:8] == MARK:
                self._socket.sendto(data + THERE.pack(time.monotonic_ns()), sender)

    def end(self) -> None:
        self._over = True
        self._thread.join()
        self._socket.close()


class Datagrams:
    """Datagrams to the program of another server, which answers them."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.inbound = _socket(plan["from"], 0)
        self.inbound.connect((plan["to"], plan["port"]))

    def send(self, data: bytes) -> None:
        self.inbound.send(data)

    def receive(self) -> bytes:
        return self.inbound.recv(2048)

    def close(self) -> None:
        self.inbound.close()


class LoopedFrames:
    """Frames from one interface of this server to another one; to arrive there is their answer."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._outbound, self.inbound = _packets(plan["from"], 0), _packets(plan["to"], EXPERIMENTAL)
        self._header = bytes.fromhex(plan["macs"].replace(":", "")) + EXPERIMENTAL.to_bytes(2, "big")

    def send(self, data: bytes) -> None:
        self._outbound.send((self._header + data).ljust(LEAST_BYTES, b"\0"))

    def receive(self) -> bytes:
        data = self.inbound.recv(2048)[HEADER_BYTES : HEADER_BYTES + ASKED.size]
        return data + THERE.pack(time.monotonic_ns()) if data[: len(MARK)] == MARK else b""

    def close(self) -> None:
        self._outbound.close()
        self.inbound.close()


class Asking:
    """One round of asking."""

    def __init__(self, plan: dict[str, Any], link: Datagrams | LoopedFrames) -> None:
        self._plan, self._token, self._link = plan, random.getrandbits(32), link
        self._late_ns = int(plan["late_s"] * 1e9)
        self._number = 0
        self._sent: dict[int, int] = {}
        self._there: dict[int, int] = {}
        self._trips: list[int] = []
        self._late: dict[int, int] = {}

    def run(self) -> dict[str, Any]:
        low, high = self._plan["rest_s"]
        noise, end_ns = random.Random(self._plan["seed"]), time.monotonic_ns() + int(self._plan["seconds"] * 1e9)
        try:
            while time.monotonic_ns() < end_ns:
                time.sleep(noise.uniform(low, high))  # noqa: TID251 - on the server there is no niclab.core.wait
                self._send()
                self._read_until(self._number, self._late_ns)
            self._send()  # wakes a frame that may still lie somewhere
            self._read_until(0, int(DRAIN_S * 1e9))
        finally:
            self._link.close()
        self._sent.pop(self._number, None)
        return {
            "trips_ns": self._trips,
            "late": [self._of_late(number) for number in self._late],
            "lost": len(self._sent),
        }

    def _send(self) -> None:
        self._number += 1
        self._sent[self._number] = time.monotonic_ns()
        self._link.send(ASKED.pack(MARK, self._token, self._number, self._sent[self._number]))

    def _read_until(self, awaited: int, within_ns: int) -> None:
        """Read answers until the awaited one has come, or that time is over."""
        deadline = time.monotonic_ns() + within_ns
        while True:
            left_ns = deadline - time.monotonic_ns()
            if left_ns <= 0 or not select.select([self._link.inbound], [], [], left_ns / 1e9)[0]:
                return
            data = self._link.receive()
            now = time.monotonic_ns()
            if len(data) != ASKED.size + THERE.size:
                continue
            _, token, number, sent = ASKED.unpack(data[: ASKED.size])
            if token != self._token or self._sent.pop(number, None) is None:
                continue
            self._there[number] = THERE.unpack(data[ASKED.size :])[0]
            if now - sent >= self._late_ns:
                self._late[number] = now - sent
            else:
                self._trips.append(now - sent)
            if number == awaited:
                return

    def _of_late(self, number: int) -> dict[str, Any]:
        """Its duration, and the time between it and the next one at the server that answers; null if unknown."""
        following = self._there.get(number + 1)
        apart = None if following is None else following - self._there[number]
        return {"ns": self._late[number], "apart_ns": apart}


def _socket(address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((address, port))
    return made


def _packets(interface: str, kind: int) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(kind))
    made.bind((interface, kind))
    return made


class PingPongs:
    """The state between two steps."""

    def __init__(self) -> None:
        self.answering: list[Answering] = []

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        if plan["do"] == "ask":
            return Asking(plan, Datagrams(plan)).run()
        if plan["do"] == "pass":
            return Asking(plan, LoopedFrames(plan)).run()
        while self.answering:
            self.answering.pop().end()
        self.answering = [Answering(address, plan["port"]) for address in plan["at"]]
        return {}


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]), PingPongs().do)
