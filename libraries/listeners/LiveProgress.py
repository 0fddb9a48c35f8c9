"""A listener that shows how far a run is; it takes the place of Robot Framework's own console output.

robot --console quiet --listener libraries/listeners/LiveProgress.py:EARLIER/certificate.json suites/
"""

# Robot Framework is not marked as typed (no py.typed):
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import sys
from pathlib import Path

from robot import result, running
from robot.running.context import EXECUTION_CONTEXTS

from niclab.core.verdict import BenchFault
from niclab.report import read_json_object
from niclab.report.live import LiveBoard


class LiveProgress:
    """Shows the test that runs, the count, the time left, and failures as they come.

    Args:
        earlier: ``certificate.json`` of an earlier run, for the time left; empty when there is none.
    """

    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self, earlier: str = "") -> None:
        self._seconds = _seconds(Path(earlier)) if earlier else {}
        self._board: LiveBoard | None = None

    def start_suite(self, data: running.TestSuite, result: result.TestSuite) -> None:
        """Begin with the first suite."""
        if result.parent is None and not EXECUTION_CONTEXTS.current.dry_run and sys.__stdout__ is not None:
            out = sys.__stdout__
            names = [test.full_name for test in data.all_tests]
            self._board = LiveBoard(out, names, self._seconds, terminal=out.isatty())

    def start_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - Robot's signature
        """Show the test."""
        if self._board:
            self._board.start(result.full_name)

    def end_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - Robot's signature
        """Show how it ended."""
        if self._board:
            seconds = result.elapsed_time.total_seconds()
            self._board.end(result.full_name, result.status, seconds, result.message)

    def close(self) -> None:
        """Say how the run ended."""
        if self._board:
            self._board.close()


def _seconds(certificate: Path) -> dict[str, float]:
    """Test -> seconds of an earlier run; nothing where it cannot be read."""
    try:
        return {str(test["name"]): float(test["seconds"]) for test in read_json_object(certificate)["tests"]}
    except (BenchFault, KeyError, TypeError, ValueError):
        return {}
