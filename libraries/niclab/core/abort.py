"""The meaning of the signals that end a run, when senders differ in how often they send them.

A pipeline, a service manager or a terminal may signal every process of a run, with one signal or with several. They all
want the same: an end with the teardown. Only who insists wants an end at once.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run."""
FORWARDED = signal.SIGUSR1
"""The signal by which ``niclab certify`` asks Robot Framework to end; a second one asks it to stop at once."""
ORPHANED = signal.SIGUSR2
"""The signal by which the kernel tells Robot Framework that ``niclab certify`` was killed."""
STARTED_BY = "NICLAB_CERTIFY_PID"
"""Environment variable of Robot Framework: the process that must not end before it."""
IGNORED_FOR_S = 10.0
"""Assumption: so long a repeated signal counts as the same request. Jenkins sends SIGKILL after 5 s."""


@contextmanager
def on_ending(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Take the signals that end a run inside the ``with`` block; behind it they are taken as before.

    Args:
        handler: Is called with the signal's number and the frame that it interrupted.
    """
    before = {number: signal.signal(number, handler) for number in ENDING}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


class EndRequests:
    """Counts the signals of one run.

    Args:
        at_once: for signals that differ from :data:`ENDING`, how many of the kind end the run at once.
    """

    def __init__(self, at_once: dict[int, int] | None = None) -> None:
        self._at_once = at_once or {}
        self._counts: Counter[int] = Counter()
        self._first_at: float | None = None

    @property
    def begun(self) -> bool:
        """Has anybody asked for an end?"""
        return self._first_at is not None

    def counts(self, number: int) -> bool:
        """Return whether this signal is passed on: the first one, and each one that insists.

        The third of a kind insists, and any signal ``IGNORED_FOR_S`` after the first one.
        """
        self._counts[number] += 1
        now = time.monotonic()
        if self._first_at is None:
            self._first_at = now
            return True
        return self._counts[number] >= self._at_once.get(number, 3) or now - self._first_at >= IGNORED_FOR_S


class StopOrder:
    """The order to stop a run that nobody signals: given once, by any thread, before or while the run listens.

    Args:
        keeps: Open files that the process of the run keeps open: whoever reads their other ends sees the run's end.
    """

    def __init__(self, keeps: tuple[int, ...] = ()) -> None:
        self.keeps = keeps
        self._lock = threading.Lock()
        self._reason = ""
        self._listener: Callable[[], object] | None = None

    @property
    def reason(self) -> str:
        """The reason why the run must stop; empty as long as it need not."""
        return self._reason

    def give(self, reason: str) -> None:
        """Order the run to stop; only the first order counts.

        Args:
            reason: Why.
        """
        with self._lock:
            if self._reason:
                return
            self._reason = reason
            if self._listener is not None:
                self._listener()

    def listen(self, listener: Callable[[], object] | None) -> None:
        """Call somebody when the order is given, or at once where it was given before.

        Args:
            listener: Who stops the run; None: nobody any more.
        """
        with self._lock:
            self._listener = listener
            if self._reason and listener is not None:
                listener()
