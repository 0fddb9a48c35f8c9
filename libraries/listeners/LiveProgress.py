"""A listener that shows how far a run is; it takes the place of Robot Framework's own console output.

robot --console quiet --listener libraries/listeners/LiveProgress.py:EARLIER/certificate.json suites/
"""

# Robot Framework is not marked as typed (no py.typed):
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
import sys
from pathlib import Path

from robot import result, running
from robot.running.context import EXECUTION_CONTEXTS

from niclab.report import read_json_object
from niclab.report.live import LiveBoard, LiveThread, RawOutput


class LiveProgress:
    """Shows the test that runs, the count, the time left, and failures as they come.

    An error here shows nothing, and changes nothing: Robot Framework notes an exception of a listener as an error of
    the run, which keeps it from being certified.

    Args:
        earlier: ``certificate.json`` of an earlier run, for the time left; empty when there is none.
    """

    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self, earlier: str = "") -> None:
        self._seconds = _seconds(Path(earlier)) if earlier else {}
        self._live: LiveThread | None = None

    def start_suite(self, data: running.TestSuite, result: result.TestSuite) -> None:
        """Begin with the first suite."""
        context = EXECUTION_CONTEXTS.current
        if result.parent is not None or (context is not None and context.dry_run):
            return
        self._live = _shown([test.full_name for test in data.all_tests], self._seconds)

    def start_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - Robot's signature
        """Show the test."""
        if self._live:
            self._live.start(result.full_name)

    def end_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - Robot's signature
        """Show how it ended."""
        if self._live:
            self._live.end(result.full_name, result.status, result.elapsed_time.total_seconds(), result.message)

    def close(self) -> None:
        """Say how the run ended."""
        if self._live:
            self._live.close()


def _shown(names: list[str], seconds: dict[str, float]) -> LiveThread | None:
    """The display on standard output; none where that is closed or no thread can be started."""
    try:
        fileno = os.dup(sys.__stdout__.fileno()) if sys.__stdout__ is not None else None
        if fileno is None:
            return None
        return LiveThread(LiveBoard(RawOutput(fileno), names, seconds, terminal=os.isatty(fileno)))
    except (OSError, ValueError, RuntimeError):
        return None


def _seconds(certificate: Path) -> dict[str, float]:
    """Test -> seconds of an earlier run; nothing where it cannot be read."""
    try:
        return {str(test["name"]): float(test["seconds"]) for test in read_json_object(certificate)["tests"]}
    except Exception:  # noqa: BLE001 - a file of any other form says nothing of the time
        return {}
