"""Deadlines. The only place of the framework that sleeps.

Every wait is logged when it is over: waits happen in every layer, and the run, which notes them, is above most.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from niclab.core.marks import MarkKind
from niclab.core.verdict import BenchFault

T = TypeVar("T")

WAITS = logging.getLogger(__name__)
"""Logs the kind of each wait, what was waited for, and the seconds."""
WAITS.setLevel(logging.INFO)
WAITS.propagate = False
_OVER = "%s: %s: %.3f s"


class NotInTime(BenchFault):
    """The awaited state did not come within the deadline, although every question about it was answered.

    It is raised only where :func:`until` is asked for it. A caller that turns lateness into another verdict catches
    this class, never ``BenchFault``: a connection that was lost meanwhile is a fault of the bench.
    """


class Deadline:
    """A moment on the monotonic clock by which something must have happened.

    >>> Deadline(0).expired
    True
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - time.monotonic())

    @property
    def expired(self) -> bool:
        return self.left <= 0


def pause(seconds: float) -> None:
    """Sleep where the time itself is meant (a hold time, a settle time of equipment), not a state."""
    time.sleep(seconds)
    WAITS.info(_OVER, MarkKind.PAUSE, "pause", seconds)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Log how long the ``with`` block waits for a state, also when it fails.

    Args:
        what: What is waited for.
    """
    begun = time.monotonic()
    try:
        yield
    finally:
        WAITS.info(_OVER, MarkKind.STATE, what, time.monotonic() - begun)


def until(
    condition: Callable[[], T],
    *,
    within: float,
    what: str,
    every: float | Callable[[], float] = 0.1,
    error: type[Exception] = BenchFault,
) -> T:
    """Ask ``condition`` every ``every`` seconds until it is truthy; return that value.

    It is asked at least once, and once more at the end, so that a slow last question is not lost.

    Args:
        condition: Asked until it returns something truthy, which is returned.
        within: Deadline in seconds.
        what: What is waited for, for the message.
        every: Seconds between two questions; a function is asked for them after each question.
        error: Class of the error that is raised when the deadline passes.

    Raises:
        error: When the deadline passes; the message holds ``what``, the deadline and the last answer.
    """
    deadline, waited = Deadline(within), False
    try:
        while True:
            last_chance = deadline.expired
            answer = condition()
            if answer:
                return answer
            if last_chance:
                raise error(f"{what}: not within {within:g} s (last seen: {answer!r})")
            waited = True
            time.sleep(min(every() if callable(every) else every, deadline.left))
    finally:
        if waited:
            WAITS.info(_OVER, MarkKind.STATE, what, deadline.seconds - deadline.left)


def persistent_problems(look: Callable[[], list[T]], *, within: float, every: float = 0.1) -> list[T]:
    """Look for problems until there are none, or the deadline passes.

    Args:
        look: Returns the problems of this moment.
        within: Deadline in seconds.
        every: Time between two looks in seconds.

    Returns:
        The problems of the last look; empty when it found none in time.

    Raises:
        BenchFault: A look failed, for example by a lost connection. Nothing is known then.
    """
    found: list[T] = []

    def gone() -> bool:
        found[:] = look()
        return not found

    with suppress(NotInTime):
        until(gone, within=within, what="problems to end", every=every, error=NotInTime)
    return found
