"""One measurement at a time among the runs of a controller: none takes the processor from another one's traffic."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from niclab.core.wait import until

LOCK = "NICLAB_MEASURING_LOCK"
"""Environment variable: the file whose lock is the turn. Runs that do not name the same one measure when they like."""
WITHIN_S = 900.0
"""House rule: no measurement of another run takes so long."""


@contextmanager
def turn_to_measure(within_s: float = WITHIN_S) -> Iterator[None]:
    """Wait until no other run measures, and let none begin meanwhile. The kernel ends the turn of a killed run.

    Args:
        within_s: Seconds to wait at most.

    Raises:
        BenchFault: The turn did not come.
    """
    name = os.environ.get(LOCK)
    if not name:
        yield
        return
    with Path(name).open("a") as lock:
        until(lambda: _locked(lock), within=within_s, what=f"{name}: the end of another run's measurement", every=0.05)
        yield


def _locked(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
