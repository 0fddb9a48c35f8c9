"""Reads and writes disks with known content: runs on Linux, sent there as source, Python 3.7 and its library only.

Each step (:mod:`niclab.run.step_program`) is one load of all disks of a session, past the system's cache (O_DIRECT).
The disks stay open between steps, as each close after a write makes udev read a disk. A step lasts for some seconds, or
while a file is there, which it makes itself once every thread has done an operation.

A thread has a part of a disk to itself, so that it knows what each block has: its place, how often it was written, and
bytes of a pool that follows from a seed. No two blocks are alike, so a block from another place is seen as well. Every
block that is read is compared.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import random
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from niclab.run.step_program import work

BLOCK_BYTES = 8 << 10
SEQUENTIAL_BYTES = 256 << 10
READ_PART = 0.67
POOL_BYTES = 1 << 20
LOOKS_EVERY_S = 0.05
_HEAD = struct.Struct(">IIQ")
STAMP_EVERY_BYTES = 512
"""A sector: no disk reads less, and each that a read leaves out is seen."""
_STAMP = 8 * b"\xff"
"""No block begins so, as no volume has that number; elsewhere a block has it with probability 2^-64."""
_UNKNOWN = -1
"""Number of writes of a block whose write failed: nobody knows what it has until it is written again."""


class Period:
    """The time of a step.

    Args:
        seconds: How long it lasts at most.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Is the step to end?"""
        return time.monotonic() >= self._end

    def end(self) -> None:
        """End it now."""
        self._end = 0.0


class Volumes:
    """The disks of a session, and the content of each block of them.

    Args:
        plan: ``disks``, ``seed``, ``volume_bytes`` and ``threads`` of each disk.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        self.disks = tuple(plan["disks"])
        self._pool = hashlib.shake_128(plan["seed"].encode()).digest(POOL_BYTES)
        flags = os.O_RDWR | os.O_DIRECT
        files = [os.open(name, flags) for name in self.disks]
        each = plan["volume_bytes"] // plan["threads"]
        self.parts = [
            DiskPart(self, (number, file), thread * each, each)
            for number, file in enumerate(files)
            for thread in range(plan["threads"])
        ]

    def content(self, volume: int, block: int, writes: int) -> bytes:
        """The bytes of a block that was written so many times."""
        head = _HEAD.pack(volume, block, writes)
        size = BLOCK_BYTES - len(head)
        at = (block * 4099 + writes * 257 + volume * 65537) % (POOL_BYTES - size)
        return head + self._pool[at : at + size]


class DiskPart:
    """A part of a disk, and the thread that has it to itself.

    Args:
        volumes: All disks.
        disk: Number and open file of the disk.
        begin: First byte.
        size: Number of bytes.
    """

    def __init__(self, volumes: Volumes, disk: tuple[int, int], begin: int, size: int) -> None:
        self._volumes, (self._volume, self._file), self._begin, self._size = volumes, disk, begin, size
        self._writes = [0] * (size // BLOCK_BYTES)
        self._next = 0
        self._draw = random.Random(begin ^ self._volume)
        self._buffers = {each: mmap.mmap(-1, each) for each in (BLOCK_BYTES, SEQUENTIAL_BYTES)}
        self._stamps = {
            each: (memoryview(buffer).cast("Q"), memoryview(each // STAMP_EVERY_BYTES * _STAMP).cast("Q"))
            for each, buffer in self._buffers.items()
        }

    def begin(self) -> None:
        """Forget the counts of the last step."""
        self.reads = self.written = self.bytes_read = self.bytes_written = self.damaged = self.failed = 0
        self.ended: list[float] = []
        self.slowest_s = 0.0
        self.example = ""

    def fill(self, _: Period) -> None:
        """Write all of it once."""
        for at in range(0, self._size, SEQUENTIAL_BYTES):
            if not self._write(at, SEQUENTIAL_BYTES):
                return

    def check(self, _: Period) -> None:
        """Read all of it once."""
        for at in range(0, self._size, SEQUENTIAL_BYTES):
            if not self._read(at, SEQUENTIAL_BYTES):
                return

    def random(self, period: Period) -> None:
        """Read and write at random places until the time is over, once at least."""
        self._repeat(self._anywhere, period)

    def read(self, period: Period) -> None:
        """Read from the begin to the end, and again, until the time is over, once at least."""
        self._repeat(lambda: self._read(self._after(), SEQUENTIAL_BYTES), period)

    def write(self, period: Period) -> None:
        """Write from the begin to the end, and again, until the time is over, once at least."""
        self._repeat(lambda: self._write(self._after(), SEQUENTIAL_BYTES), period)

    @staticmethod
    def _repeat(operation: Callable[[], bool], period: Period) -> None:
        while operation() and not period.is_over:
            pass

    def _anywhere(self) -> bool:
        at = self._draw.randrange(self._size // BLOCK_BYTES) * BLOCK_BYTES
        do = self._read if self._draw.random() < READ_PART else self._write
        return do(at, BLOCK_BYTES)

    def _after(self) -> int:
        at, self._next = self._next, (self._next + SEQUENTIAL_BYTES) % self._size
        return at

    def _read(self, at: int, size: int) -> bool:
        buffer = self._buffers[size]
        words, stale = self._stamps[size]
        words[:: STAMP_EVERY_BYTES // 8] = stale  # what was read before must not pass for what is read now
        try:
            came = self._timed(os.preadv, buffer, at)
        except OSError as error:
            return self._fails("read", at, str(error))
        if came != size:
            return self._fails("read", at, f"{came} of {size} bytes")
        self.reads, self.bytes_read = self.reads + 1, self.bytes_read + size
        for block in range(at // BLOCK_BYTES, (at + size) // BLOCK_BYTES):
            place = block * BLOCK_BYTES - at
            self._compare(block, buffer[place : place + BLOCK_BYTES])
        return True

    def _compare(self, block: int, found: bytes) -> None:
        writes = self._writes[block]
        if writes == _UNKNOWN:
            return
        number = self._begin // BLOCK_BYTES + block
        wanted = self._volumes.content(self._volume, number, writes)
        if found != wanted:
            self.damaged += 1
            at = next(byte for byte in range(BLOCK_BYTES) if found[byte] != wanted[byte])
            self.example = self.example or (
                f"volume {self._volume}, block {number}: byte {at} is {found[at]:#04x} after {writes} writes, "
                f"not {wanted[at]:#04x}"
            )

    def _write(self, at: int, size: int) -> bool:
        buffer, blocks = self._buffers[size], range(at // BLOCK_BYTES, (at + size) // BLOCK_BYTES)
        counts = [max(0, self._writes[block]) + 1 for block in blocks]
        first = self._begin // BLOCK_BYTES
        buffer[:] = b"".join(
            self._volumes.content(self._volume, first + block, counts[place]) for place, block in enumerate(blocks)
        )
        self._writes[blocks.start : blocks.stop] = [_UNKNOWN] * len(counts)
        try:
            went = self._timed(os.pwritev, buffer, at)
        except OSError as error:
            return self._fails("write", at, str(error))
        if went != size:
            return self._fails("write", at, f"{went} of {size} bytes")
        self._writes[blocks.start : blocks.stop] = counts
        self.written, self.bytes_written = self.written + 1, self.bytes_written + size
        return True

    def _timed(self, transfer: Callable[..., int], buffer: mmap.mmap, at: int) -> int:
        began = time.monotonic()
        try:
            return transfer(self._file, [buffer], self._begin + at)
        finally:
            self.ended.append(time.monotonic())
            self.slowest_s = max(self.slowest_s, self.ended[-1] - began)

    def _fails(self, what: str, at: int, why: str) -> bool:
        self.failed += 1
        self.example = self.example or f"volume {self._volume}, {what} at byte {self._begin + at}: {why}"
        return False


class Loads:
    """Does steps, one after the other, with the same disks."""

    def __init__(self) -> None:
        self._volumes: Any = None

    def step(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Load all disks.

        Args:
            plan: As of :class:`Volumes`; ``load``: a method of :class:`DiskPart`; ``seconds``; ``marker``: the file
                while which it lasts, if there is one.

        Returns:
            The counts of all threads together; ``elapsed_s`` until the last thread has ended; ``silent_s``: the longest
            time in which no operation of any thread ended; ``slowest_s``: of the slowest operation.
        """
        if self._volumes is None:
            self._volumes = Volumes(plan)
        parts = self._volumes.parts
        for part in parts:
            part.begin()
        began = time.monotonic()
        period = Period(plan["seconds"])
        threads = [threading.Thread(target=getattr(part, plan["load"]), args=(period,)) for part in parts]
        for each in threads:
            each.start()
        if "marker" in plan:
            _last(Path(plan["marker"]), parts, threads)
            period.end()
        for each in threads:
            each.join()
        elapsed_s = time.monotonic() - began
        names = ("reads", "written", "bytes_read", "bytes_written", "damaged", "failed")
        counts = {name: sum(getattr(part, name) for part in parts) for name in names}
        example = next((part.example for part in parts if part.example), "")
        ended = sorted(at for part in parts for at in part.ended)
        times = {
            "silent_s": max((ended[place] - ended[place - 1] for place in range(1, len(ended))), default=0.0),
            "slowest_s": max(part.slowest_s for part in parts),
        }
        return {**counts, **times, "elapsed_s": elapsed_s, "example": example}


def _last(marker: Path, parts: list[DiskPart], threads: list[threading.Thread]) -> None:
    """Make a file once every thread has done an operation, and wait until it is removed, or no thread is at work."""

    def goes_on(is_over: Callable[[], bool]) -> bool:
        at_work = next((each for each in threads if each.is_alive()), None)
        if at_work is None or is_over():
            return False
        at_work.join(LOOKS_EVERY_S)
        return True

    while goes_on(lambda: all(part.ended for part in parts)):
        pass
    marker.touch()
    while goes_on(lambda: not marker.exists()):
        pass


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]), Loads().step)
