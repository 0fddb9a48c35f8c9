"""The progress of a run: what runs, how many tests are done, the time left by an earlier run, and the failures."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from queue import Empty, SimpleQueue
from statistics import median
from typing import Protocol

from niclab.report.verdicts import first_line

_BAR = 24
_EVENTS_WAITING = 10_000
_LAST_WORDS_S = 2.0


class LiveOutput(Protocol):
    """The output on which progress is shown."""

    def write(self, text: str, /) -> object:
        """Show a text at once."""


class RawOutput:
    """Writes to a file descriptor without a buffer, whose lock would outlive a writer that is blocked.

    Args:
        fileno: The descriptor.
    """

    def __init__(self, fileno: int) -> None:
        self._fileno = fileno

    def write(self, text: str, /) -> None:
        """Write all of a text."""
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._fileno, data) :]


class LiveBoard:
    """Writes a block of two lines that is redrawn on a terminal, and a line for each ended test elsewhere.

    Failures are lines that stay, on both.

    Args:
        out: Where it is shown.
        tests: Full names of all tests, in their order.
        seconds: Full name -> how long the test took in an earlier run; empty when there is none.
        terminal: Whether lines can be redrawn.
        clock: Seconds of a clock that never goes back.
    """

    def __init__(
        self,
        out: LiveOutput,
        tests: Sequence[str],
        seconds: Mapping[str, float],
        *,
        terminal: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out, self._left, self._terminal, self._clock = out, list(tests), terminal, clock
        self._of_all, self._done, self._failed, self._drawn = len(tests), 0, 0, 0
        known = [seconds[name] for name in tests if name in seconds]
        self._seconds = {name: seconds.get(name, median(known)) for name in tests} if known else {}
        self._before = seconds
        self._begun = self._test_begun = clock()
        self._running = ""

    def start(self, name: str) -> None:
        """Show that a test runs now.

        Args:
            name: Its full name.
        """
        self._running, self._test_begun = name, self._clock()
        self.tick()

    def tick(self) -> None:
        """Draw the block again: time has passed."""
        if not self._terminal:
            return
        width = shutil.get_terminal_size().columns - 1
        lines = [line[:width] for line in (self._bar(), self._now())]
        self._out.write(self._cleared() + "\n".join(lines))
        self._drawn = len(lines)

    def end(self, name: str, status: str, seconds: float, message: str) -> None:
        """Show that a test has ended.

        Args:
            name: Its full name.
            status: PASS, FAIL or SKIP.
            seconds: How long it took.
            message: Its message.
        """
        self._done += 1
        if name in self._left:
            self._left.remove(name)
        failed = status == "FAIL"
        self._failed += failed
        self._running = ""
        stays = ""
        if failed or not self._terminal:
            when = f"{datetime.now():%H:%M:%S}"
            stays = f"{when} {self._counter()} {status}  {_short(name)}  {seconds:.1f} s{self._time_left()}\n"
        if failed:
            stays += f"    {first_line(message) or 'no message'}\n"
        if stays:
            self._out.write(self._cleared() + stays)
        self.tick()

    def close(self) -> None:
        """Say how it ended."""
        spent = _minutes(self._clock() - self._begun)
        self._out.write(
            f"{self._cleared()}{self._done} of {self._of_all} tests ended in {spent}, {self._failed} failed\n"
        )

    def _bar(self) -> str:
        full = _BAR * self._done // max(self._of_all, 1)
        failed = f"   {self._failed} failed" if self._failed else ""
        spent = _minutes(self._clock() - self._begun)
        return f"[{'=' * full}{' ' * (_BAR - full)}] {self._done}/{self._of_all}   {spent}{self._time_left()}{failed}"

    def _now(self) -> str:
        if not self._running:
            return "  between two tests" if self._left else "  last teardown"
        before = self._before.get(self._running)
        took = f", {before:.0f} s in the run before" if before is not None else ""
        return f"  {_short(self._running)}  ({self._clock() - self._test_begun:.0f} s{took})"

    def _cleared(self) -> str:
        """Return the codes that clear the block; the cursor is then at its beginning."""
        drawn, self._drawn = self._drawn, 0
        return "\r" + f"\x1b[{drawn - 1}A" * (drawn > 1) + "\x1b[J" if drawn else ""

    def _counter(self) -> str:
        return f"[{self._done}/{self._of_all}]"

    def _time_left(self) -> str:
        if not self._seconds or not self._left:
            return ""
        left = sum(self._seconds[name] for name in self._left)
        if self._running:
            left -= min(self._clock() - self._test_begun, self._seconds.get(self._running, 0.0))
        return f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"


class LiveThread:
    """Lets a board be drawn by a thread of its own, so that a terminal that is stopped never holds up a run.

    An error ends the display, and nothing else.

    Args:
        board: The board.
        every: Seconds between two drawings while nothing happens.
    """

    def __init__(self, board: LiveBoard, every: float = 1.0) -> None:
        self._board, self._every = board, every
        self._events: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._draw, name="live progress", daemon=True)
        self._thread.start()

    def start(self, name: str) -> None:
        """See :meth:`LiveBoard.start`."""
        self._add(lambda: self._board.start(name))

    def end(self, name: str, status: str, seconds: float, message: str) -> None:
        """See :meth:`LiveBoard.end`."""
        self._add(lambda: self._board.end(name, status, seconds, message))

    def close(self) -> None:
        """Say how it ended; a display that is blocked is given up."""
        self._add(self._board.close)
        self._add(None)
        self._thread.join(_LAST_WORDS_S)

    def _add(self, event: Callable[[], None] | None) -> None:
        if self._thread.is_alive() and self._events.qsize() < _EVENTS_WAITING:
            self._events.put(event)

    def _draw(self) -> None:
        # whatever goes wrong here, such as a pipe that was closed, is no concern of the run
        with suppress(Exception):
            while True:
                try:
                    event = self._events.get(timeout=self._every)
                except Empty:
                    event = self._board.tick
                if event is None:
                    return
                event()


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"


def _short(name: str) -> str:
    """Suite and test, without the folders above."""
    return ": ".join(name.split(".")[-2:])
