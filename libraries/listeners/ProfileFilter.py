"""Leaves out tests: ``robot --prerunmodifier libraries/listeners/ProfileFilter.py:quick suites/``."""

from __future__ import annotations

from robot.api import SuiteVisitor
from robot.running import TestSuite

from niclab.core.profile import LEFT_OUT, Profile


class ProfileFilter(SuiteVisitor):
    """Removes the tests that a profile leaves out.

    Args:
        profile: ``quick`` or ``full``.

    Raises:
        ValueError: There is no such profile.
    """

    def __init__(self, profile: str) -> None:
        names = [each.value for each in Profile]
        if profile not in names:
            raise ValueError(f"profile {profile!r}; expected one of {', '.join(names)}")
        self._excluded = LEFT_OUT[Profile(profile)]

    def start_suite(self, suite: TestSuite) -> None:
        """Remove tests of a suite.

        Args:
            suite: The suite.
        """
        if self._excluded:
            suite.tests = [test for test in suite.tests if not test.tags.match(self._excluded)]

    def end_suite(self, suite: TestSuite) -> None:
        """Remove suites that have no test left.

        Args:
            suite: The suite whose children these are.
        """
        suite.suites = [child for child in suite.suites if child.test_count]
