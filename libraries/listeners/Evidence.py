"""A listener that keeps evidence of every failure: what both servers show when a test or a suite setup has failed.

The library ``Bench`` brings it, so that plain ``robot suites/`` keeps evidence too, whatever teardown a test has.
"""

from __future__ import annotations

from robot import result, running
from robot.api import logger

from log_report import attach
from niclab.core.verdict import BenchFault
from niclab.run.run import acquired
from niclab.run.watching import failure_evidence

_STEPS_OF_A_SUITE = ("SETUP", "TEARDOWN")


class Evidence:
    """Attaches evidence to what has failed: to a test, or to the setup or teardown of a suite."""

    ROBOT_LISTENER_API_VERSION = 3

    def end_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - Robot's signature
        """Keep evidence of a test that ran and failed."""
        if result.failed and not _never_ran(result):
            _keep()

    def end_keyword(self, data: running.Keyword, result: result.Keyword) -> None:  # noqa: ARG002 - as above
        """Keep evidence of a suite setup or teardown that failed: no test shows the servers as they were then."""
        if result.failed and result.type in _STEPS_OF_A_SUITE and _is_of_a_suite(result):
            _keep()


def _is_of_a_suite(step: result.Keyword) -> bool:
    return isinstance(step.parent, result.TestSuite)


def _never_ran(test: result.TestCase) -> bool:
    """Did a suite setup or an end of the whole run keep the test from running? Its servers show nothing new."""
    suites, suite = [], test.parent
    while suite is not None:
        suites.append(suite)
        suite = suite.parent
    return test.tags.robot("exit") or any(each.has_setup and each.setup.failed for each in suites)


def _keep() -> None:
    run = acquired()
    if run is None:
        return
    try:
        failure_evidence.collect(run, attach)
    except BenchFault as error:
        logger.warn(f"evidence is incomplete: {error}")
