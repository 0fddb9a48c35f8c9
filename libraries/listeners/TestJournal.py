"""A listener that notes the test that is about to run, how each ended, and what Robot Framework warned of.

With that a killed run can be continued.

``niclab certify`` gives it the file of the journal.
"""

# Robot Framework is not marked as typed (no py.typed):
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from pathlib import Path

from robot import running
from robot.result import Message, TestCase, TestSuite

from niclab.core.verdict import BenchFault
from niclab.report.evidence import test_journal
from niclab.report.evidence.test_journal import EndedTest, RobotMessage


class TestJournal:
    """Writes the journal.

    Args:
        file: The file.
    """

    __test__ = False  # for pytest: this is no test
    ROBOT_LISTENER_API_VERSION = 3
    ROBOT_LISTENER_PRIORITY = -2000
    """Called after the listener that writes the result: what has ended for the journal has a result."""

    def __init__(self, file: str) -> None:
        self._journal = test_journal.TestJournal(Path(file))
        self._noted: dict[str, EndedTest] = {}
        self._has_failed = False

    def start_test(self, data: running.TestCase, result: TestCase) -> None:  # noqa: ARG002 - Robot's signature
        """Note the test that is about to run."""
        self._journal.begin(result.full_name)

    def end_test(self, data: running.TestCase, result: TestCase) -> None:  # noqa: ARG002 - as above
        """Note how it ended."""
        self._note(result)

    def message(self, message: Message) -> None:
        """Note a warning or an error: Robot Framework itself writes those that no test holds when it ends."""
        if message.level not in ("WARN", "ERROR") or self._has_failed:
            return
        time = message.timestamp.isoformat() if message.timestamp else ""
        try:
            self._journal.message(RobotMessage(message.level, message.message, time, message.html))
        except BenchFault:
            self._has_failed = True  # this very fault becomes a message
            raise

    def end_suite(self, data: running.TestSuite, result: TestSuite) -> None:  # noqa: ARG002 - as above
        """Note again the tests whose status the teardown of a suite has changed."""
        for test in result.all_tests:
            if test.full_name in self._noted:
                self._note(test)

    def _note(self, test: TestCase) -> None:
        suites, suite = list[str](), test.parent
        while suite is not None:
            suites.insert(0, suite.name)
            suite = suite.parent
        seconds, start = test.elapsed_time.total_seconds(), test.start_time.isoformat() if test.start_time else ""
        ended = EndedTest(test.name, tuple(suites), test.status, test.message, tuple(test.tags), start, seconds)
        if self._noted.get(test.full_name) != ended:
            self._journal.end(test.full_name, ended)
            self._noted[test.full_name] = ended
