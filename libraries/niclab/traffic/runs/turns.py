"""One measurement at a time among the runs of a controller: none takes the processor from another one's traffic.

Runs wait in a queue. Each has a ticket, a file whose name says when it came and whose lock is held as long as the run
lives. The first ticket has the turn; a ticket that nobody holds any more is taken away. The lock of the turn itself
excludes two runs that came at the same moment.
"""

from __future__ import annotations

import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

from niclab.core.wait import until

LOCK = "NICLAB_MEASURING_LOCK"
"""Environment variable: the file whose lock is the turn. Runs that do not name the same one measure when they like."""
WITHIN_S = 900.0
"""Assumption: no measurement of another run takes so long."""
_EVERY_S = 0.05


@contextmanager
def turn_to_measure(within_s: float = WITHIN_S) -> Iterator[None]:
    """Wait until no other run measures, and let none begin meanwhile. The kernel ends the turn of a killed run.

    Args:
        within_s: Seconds that one measurement of another run may take; each that was waiting before has its own.

    Raises:
        BenchFault: A measurement of another run has not ended.
    """
    name = os.environ.get(LOCK)
    if not name:
        yield
        return
    what = f"{name}: the end of another run's measurement"
    with _ticket(Path(f"{name}.queue")) as ticket, Path(name).open("a") as lock:
        while first := _first_before(ticket):
            until(partial(_is_not_first, first, ticket), within=within_s, what=what, every=_EVERY_S)
        until(lambda: _locked(lock), within=within_s, what=what, every=_EVERY_S)
        yield


@contextmanager
def _ticket(queue: Path) -> Iterator[Path]:
    """A place in the queue. Its file is locked before anybody can see it."""
    queue.mkdir(exist_ok=True)
    name = f"{time.time_ns():020}-{uuid.uuid4().hex}"
    hidden, ticket = queue / f".{name}", queue / name
    with hidden.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        hidden.rename(ticket)
        try:
            yield ticket
        finally:
            ticket.unlink(missing_ok=True)


def _first_before(ticket: Path) -> str:
    """The name of the first ticket that is before this one and that somebody holds; empty when there is none."""
    for name in sorted(file.name for file in ticket.parent.iterdir() if not file.name.startswith(".")):
        if name >= ticket.name:
            break
        try:
            with (ticket.parent / name).open("r+") as file:
                if not _locked(file):
                    return name
                (ticket.parent / name).unlink(missing_ok=True)  # of a run that was killed
        except FileNotFoundError:
            continue
    return ""


def _is_not_first(name: str, ticket: Path) -> bool:
    return _first_before(ticket) != name


def _locked(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
