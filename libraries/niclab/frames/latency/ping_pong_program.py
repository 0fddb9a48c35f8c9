"""Sends one datagram, waits for its answer, rests, and so on: runs on Linux, sent there as source, Python 3.7 only.

Its steps (:mod:`niclab.run.step_program`): ``answer`` answers from now on at addresses, ``ask`` asks another server
for some seconds.

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


class Asking:
    """One round of asking."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan, self._token = plan, random.getrandbits(32)
        self._late_ns = int(plan["late_s"] * 1e9)
        self._socket = _socket(plan["from"], 0)
        self._socket.connect((plan["to"], plan["port"]))
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
            self._socket.close()
        self._sent.pop(self._number, None)
        return {
            "trips_ns": self._trips,
            "late": [self._of_late(number) for number in self._late],
            "lost": len(self._sent),
        }

    def _send(self) -> None:
        self._number += 1
        self._sent[self._number] = time.monotonic_ns()
        self._socket.send(ASKED.pack(MARK, self._token, self._number, self._sent[self._number]))

    def _read_until(self, awaited: int, within_ns: int) -> None:
        """Read answers until the awaited one has come, or that time is over."""
        deadline = time.monotonic_ns() + within_ns
        while True:
            left_ns = deadline - time.monotonic_ns()
            if left_ns <= 0 or not select.select([self._socket], [], [], left_ns / 1e9)[0]:
                return
            data = self._socket.recv(2048)
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


class PingPongs:
    """The state between two steps."""

    def __init__(self) -> None:
        self.answering: list[Answering] = []

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        if plan["do"] == "ask":
            return Asking(plan).run()
        while self.answering:
            self.answering.pop().end()
        self.answering = [Answering(address, plan["port"]) for address in plan["at"]]
        return {}


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]), PingPongs().do)
