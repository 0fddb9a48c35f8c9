"""Reads a file of an NFS server again and again: runs on Linux, sent there as source, Python 3.7 and its library only.

Each step (:mod:`niclab.run.step_program`) reads the file for some seconds, from its begin to its end and again, with
some calls under way at any time.

What counts is between the first answer and the one that comes when the time is over: neither the beginning nor the end
of the flow is in it. Every answer is compared with the content that the file must have.
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


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]), lambda plan: NfsReading(plan).run())
