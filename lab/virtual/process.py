"""Processes the bench starts and must find again after its own restart.

A process is known by its number *and* the moment it was started, so that a number used again by the kernel for somebody
else is never mistaken for ours. Ends of processes are awaited through pidfds: at once, without polling, and also for
processes that are not our children.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from wholefile import write_whole

KILL_S = 5.0
"""Time for the kernel to remove a process after SIGKILL, before that is called an error."""


class ProcessError(Exception):
    """A process or its pid file is not as it must be."""


@dataclass(frozen=True)
class Pid:
    """One process for all time: its number and its start.

    Attributes:
        start: Field 22 of ``/proc/<pid>/stat``, clock ticks after boot (proc(5)).
    """

    pid: int
    start: int


def pid_of(number: int) -> Pid:
    """The record of the live process ``number``.

    Raises:
        ProcessError: When there is none, or only its zombie.
    """
    start = _start(number)
    if start is None:
        raise ProcessError(f"process {number}: not running")
    return Pid(number, start)


def read_pid(path: Path) -> Pid | None:
    """The record in the file ``path``; ``None`` when there is no such file.

    Raises:
        ProcessError: When the file is there and is not a record written by :func:`write_pid`.
    """
    try:
        text = path.read_text()
    except FileNotFoundError:
        return None
    try:
        record = json.loads(text)
    except ValueError as error:
        raise ProcessError(f"{path}: not JSON ({error}): {text[:80]!r}") from error
    if not isinstance(record, dict):
        raise ProcessError(f'{path}: {text[:80]!r}; expected {{"pid": n, "start": n}}')
    for field in ("pid", "start"):
        value = record.get(field)
        if type(value) is not int or value <= 0:
            raise ProcessError(f"{path}: {field} is {value!r}; expected a whole number above 0")
    return Pid(record["pid"], record["start"])


def write_pid(path: Path, pid: Pid) -> None:
    """Write the record to ``path`` in one step: a reader sees the old file or the new one, never half of it."""
    write_whole(path, json.dumps(asdict(pid)) + "\n")


def alive(pid: Pid) -> bool:
    """Is it this very process that runs? A zombie does not run."""
    return _start(pid.pid) == pid.start


def end(pid: Pid, term_s: float) -> None:
    """Ask the process to end (SIGTERM), wait ``term_s`` seconds, then kill it. No error when it has ended already.

    Raises:
        ProcessError: When it is still there ``KILL_S`` seconds after SIGKILL.
    """
    with _handle(pid) as handle:
        if handle is None:
            return
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        if _ended(handle, term_s):
            return
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        if not _ended(handle, KILL_S):
            raise ProcessError(f"process {pid.pid}: still there {KILL_S:g} s after SIGKILL")


def kill(pid: Pid) -> None:
    """Send SIGKILL to this very process, if it still runs. Works on a stopped process as well."""
    send(pid, signal.SIGKILL)


def send(pid: Pid, number: signal.Signals) -> bool:
    """Send a signal to this very process.

    Returns:
        Whether it still ran.
    """
    with _handle(pid) as handle:
        if handle is None:
            return False
        signal.pidfd_send_signal(handle, number)
        return True


async def ended(pid: Pid, within_s: float) -> bool:
    """Wait until the process has ended, at most ``within_s`` seconds; tell whether it has."""
    with _handle(pid) as handle:
        if handle is None:
            return True
        loop = asyncio.get_running_loop()
        gone = asyncio.Event()
        loop.add_reader(handle, gone.set)
        try:
            await asyncio.wait_for(gone.wait(), within_s)
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(handle)
        return True


@contextmanager
def _handle(pid: Pid) -> Iterator[int | None]:
    """A pidfd of this very process, or ``None`` when it runs no more."""
    try:
        handle = os.pidfd_open(pid.pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield handle if alive(pid) else None  # asked after the opening: the handle cannot be somebody else's any more
    finally:
        os.close(handle)


def _ended(handle: int, within_s: float) -> bool:
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    return bool(poller.poll(within_s * 1000))


def _start(number: int) -> int | None:
    """Start of the process in clock ticks; ``None`` when it does not run."""
    try:
        stat = Path(f"/proc/{number}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *rest = stat.rpartition(")")[2].split()  # the name before it may hold blanks and brackets
    return None if state in "ZX" else int(rest[18])
