"""How far a run is: what runs, how many tests are done, the time left by an earlier run, and the last failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import TextIO

_REWRITE = "\r\x1b[2K"
_WIDTH = 110


class LiveBoard:
    """Writes one status line that is rewritten on a terminal, and a line for each ended test elsewhere.

    Failures are lines that stay, on both.

    Args:
        out: Where it is shown.
        tests: Full names of all tests, in their order.
        seconds: Full name -> how long the test took in an earlier run; empty when there is none.
        terminal: Whether a line can be rewritten.
    """

    def __init__(self, out: TextIO, tests: Sequence[str], seconds: Mapping[str, float], *, terminal: bool) -> None:
        self._out, self._left, self._terminal = out, list(tests), terminal
        self._of_all, self._done, self._failed = len(tests), 0, 0
        known = [seconds[name] for name in tests if name in seconds]
        self._seconds = {name: seconds.get(name, fmean(known)) for name in tests} if known else {}

    def start(self, name: str) -> None:
        """Show that a test runs now.

        Args:
            name: Its full name.
        """
        if self._terminal:
            failed = f", {self._failed} failed" if self._failed else ""
            self._write(f"{_REWRITE}{f'{self._counter()}{failed}{self._time_left()}  {_short(name)}'[:_WIDTH]}")

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
        clear = _REWRITE if self._terminal else ""
        said = next((line.strip() for line in message.splitlines() if line.strip()), "")
        if failed or not self._terminal:
            when = f"{datetime.now():%H:%M:%S} "
            self._write(
                f"{clear}{when}{self._counter()} {status}  {_short(name)}  {seconds:.1f} s{self._time_left()}\n"
            )
        if failed:
            self._write(f"    {said or 'no message'}\n")

    def close(self) -> None:
        """Say how it ended."""
        clear = _REWRITE if self._terminal else ""
        self._write(f"{clear}{self._done} of {self._of_all} tests ended, {self._failed} failed\n")

    def _counter(self) -> str:
        return f"[{self._done}/{self._of_all}]"

    def _time_left(self) -> str:
        if not self._seconds or not self._left:
            return ""
        left = sum(self._seconds[name] for name in self._left)
        return f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _short(name: str) -> str:
    """Suite and test, without the folders above."""
    return ": ".join(name.split(".")[-2:])
