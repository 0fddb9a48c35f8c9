"""Leaves out the tests of a killed run that have ended: ``--prerunmodifier libraries/listeners/Continue.py:EVIDENCE``.

The test that was running when the run was killed is not repeated: it fails with the words that were found for it.
"""

# Robot Framework is not marked as typed (no py.typed):
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from pathlib import Path

from robot.api import SuiteVisitor
from robot.running import TestCase, TestSuite
from robot.utils import escape

from niclab.report.evidence.continued import read_verdicts
from niclab.report.evidence.test_journal import FILE, read_so_far


class Continue(SuiteVisitor):
    """Removes what has ended, and replaces what was interrupted.

    Args:
        evidence: Evidence folder of the run.
    """

    def __init__(self, evidence: str) -> None:
        ended, verdicts = read_so_far(Path(evidence) / FILE).ended, read_verdicts(Path(evidence))
        self._ended = {_below(name) for name in ended}
        self._verdicts = {_below(name): text for name, text in verdicts.items()}
        self._path: list[str] = []

    def start_suite(self, suite: TestSuite) -> None:
        """Remove tests of a suite.

        Args:
            suite: The suite.
        """
        self._path.append(suite.name)
        suite.tests = [test for test in suite.tests if self._name(test) not in self._ended]
        for test in suite.tests:
            if self._name(test) in self._verdicts:
                _fail(test, self._verdicts[self._name(test)])

    def end_suite(self, suite: TestSuite) -> None:
        """Remove suites that have no test left.

        Args:
            suite: The suite whose children these are.
        """
        self._path.pop()
        suite.suites = [child for child in suite.suites if child.test_count]

    def _name(self, test: TestCase) -> str:
        return ".".join((*self._path[1:], test.name))


def _below(full_name: str) -> str:
    """A name without the top suite, which Robot Framework renames after the modifiers."""
    return full_name.partition(".")[2]


def _fail(test: TestCase, message: str) -> None:
    test.setup.config(name="BuiltIn.Fail", args=(escape(message),))  # before the setup of its suite would run
    test.teardown.config(name="BuiltIn.No Operation", args=())
