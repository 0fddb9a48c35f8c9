"""How much is tested: ``robot --prerunmodifier libraries/listeners/Profile.py:quick`` leaves out ``slow`` tests."""

from __future__ import annotations

from robot.api import SuiteVisitor
from robot.running import TestSuite

PROFILES = {"quick": "slow", "full": None}


class Profile(SuiteVisitor):
    """Removes the tests that the profile leaves out.

    :raises ValueError: for an unknown profile.
    """

    def __init__(self, profile: str) -> None:
        if profile not in PROFILES:
            raise ValueError(f"profile {profile!r}: wanted one of {', '.join(PROFILES)}")
        self._excluded = PROFILES[profile]

    def start_suite(self, suite: TestSuite) -> None:
        if self._excluded:
            suite.tests = [test for test in suite.tests if not test.tags.match(self._excluded)]

    def end_suite(self, suite: TestSuite) -> None:
        suite.suites = [child for child in suite.suites if child.test_count]
