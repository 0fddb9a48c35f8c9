"""Reads a file of an NFS server again and again: runs on Linux, sent there as source, Python 3.7 and its library only.

Each step (:mod:`niclab.run.step_program`) reads the file for some seconds, from its begin to its end and again, with
some calls under way at any time.

What counts is between the first answer and the one that comes when the time is over: neither the beginning nor the end
of the flow is in it. Every answer is compared with the content that the file must have.

A step with a ``marker`` goes on while that file is there, and says for how long no call was answered.
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path
from typing import Any

from niclab.run.step_program import work
from niclab.storage.nfs import onc_rpc
from niclab.storage.nfs.nfs_calls import Client, data_read
from niclab.storage.nfs.onc_rpc import RpcError

LOOKS_EVERY_S = 0.2
ENDS_WITHIN_S = 5.0
"""Calls that are not answered so long after the time are given up."""


def content(seed: str, size: int) -> bytes:
    """The bytes of the file that belongs to a seed; no part of it is like another."""
    return hashlib.shake_128(seed.encode()).digest(size)


class NfsReading:
    """One round of reading."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._seconds, self._under_way, self._size = plan["seconds"], plan["under_way"], plan["read_bytes"]
        self._content = content(plan["seed"], plan["file_bytes"])
        self._client = Client(plan["here"], plan["there"], plan["transport"])
        self._handle = self._client.file(plan["folder"], plan["file"])
        self._way = self._client.connected()
        self._place = 0
        self._waiting: dict[int, int] = {}
        self._all = self._counted = self._strange = self._damaged = 0
        self._example = ""

    def run(self) -> dict[str, Any]:
        began = ended = time.monotonic()
        try:
            for _ in range(self._under_way):
                self._ask()
            if self._await_one(began + ENDS_WITHIN_S):
                self._ask()
            began = ended = time.monotonic()
            over = began + self._seconds
            while ended < over and self._await_one(over + ENDS_WITHIN_S):
                ended = time.monotonic()
                self._counted += 1
                self._ask()
            if ended < over:
                ended = time.monotonic()
            last = time.monotonic() + ENDS_WITHIN_S
            while self._waiting and self._await_one(last):
                pass
        finally:
            self._way.close()
        return {
            "reads": self._counted,
            "elapsed_s": ended - began,
            "all_reads": self._all,
            "resent": self._way.resent,
            "unanswered": len(self._waiting),
            "strange": self._strange,
            "damaged": self._damaged,
            "example": self._example,
        }

    def _ask(self) -> None:
        xid, message = self._client.read(self._handle, self._place, self._size)
        self._waiting[xid] = self._place
        self._place = (self._place + self._size) % len(self._content)
        self._way.send(xid, message)

    def _await_one(self, until: float) -> bool:
        """Wait for the answer to any call; False where the time is over."""
        while True:
            came = self._way.receive(until)
            if came is None:
                return False
            xid, reader = onc_rpc.answer(came)
            place = self._waiting.pop(xid, None)
            if place is None:
                self._strange += 1
                continue
            self._way.answered(xid)
            self._all += 1
            self._compare(place, bytes(data_read(reader)))
            return True

    def _compare(self, place: int, data: bytes) -> None:
        wanted = self._content[place : place + self._size]
        if data == wanted:
            return
        self._damaged += 1
        shorter = min(len(data), len(wanted))
        at = next((number for number in range(shorter) if data[number] != wanted[number]), shorter)
        self._example = self._example or f"{len(data)} bytes from {place} on, byte {at} is the first wrong one"


class NfsReadingOn(NfsReading):
    """Reading that goes on while a file is there, made with the first answer."""

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan)
        self._marker = Path(plan["marker"])
        self._silent_s, self._last = 0.0, time.monotonic()

    def run(self) -> dict[str, Any]:
        failed = 0
        try:
            for _ in range(self._under_way):
                self._ask()
            if not self._answered(ENDS_WITHIN_S):
                raise RpcError(f"no READ is answered in {ENDS_WITHIN_S:g} s")
            self._marker.touch()
            self._silent_s = 0.0
            try:
                self._go_on()
                failed = len(self._waiting)
            except (OSError, RpcError) as error:
                failed, self._example = max(1, len(self._waiting)), self._example or str(error)
        finally:
            self._way.close()
        return {
            "reads": self._all,
            "failed": failed,
            "damaged": self._damaged,
            "silent_s": max(self._silent_s, time.monotonic() - self._last),
            "example": self._example,
        }

    def _go_on(self) -> None:
        """Raises OSError or RpcError where the connection or a call fails."""
        self._ask()
        while self._marker.exists():
            if self._answered(LOOKS_EVERY_S):
                self._ask()
        last = time.monotonic() + ENDS_WITHIN_S
        while self._waiting and self._answered(last - time.monotonic()):
            pass

    def _answered(self, within_s: float) -> bool:
        is_answered = self._await_one(time.monotonic() + within_s)
        if is_answered:
            now = time.monotonic()
            self._silent_s, self._last = max(self._silent_s, now - self._last), now
        return is_answered


if __name__ == "__main__":
    work(
        Path(sys.argv[1]),
        float(sys.argv[2]),
        lambda plan: (NfsReadingOn if "marker" in plan else NfsReading)(plan).run(),
    )
