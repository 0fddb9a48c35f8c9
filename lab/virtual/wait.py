"""Deadlines of the virtual bench: the only place of it that sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], *, within_s: float, every_s: float = 0.02) -> T | None:
    """Ask ``condition`` every ``every_s`` seconds until it is truthy; return that, ``None`` when time is up."""
    end = time.monotonic() + within_s
    while True:
        last = time.monotonic() >= end
        if answer := condition():
            return answer
        if last:
            return None
        time.sleep(every_s)
