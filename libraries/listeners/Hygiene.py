"""A listener that compares the bench after every suite with the bench that the suite was given.

The library ``Bench`` brings it, so that plain ``robot suites/`` has it too. A leftover fails no test: it is a check of
the lab's own on the certificate, and a warning in the log.
"""

from __future__ import annotations

from robot import result, running
from robot.api import logger

from niclab.run.run import acquired
from niclab.run.watching.hygiene import BenchHygiene
from niclab.state.attribution import Ran


class Hygiene:
    """Notes each test, and compares after each suite that has tests."""

    ROBOT_LISTENER_API_VERSION = 3

    def end_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - Robot's signature
        """Note when a test ran."""
        run = acquired()
        if run is not None and not result.not_run:
            began, ended = result.start_time.timestamp(), result.end_time.timestamp()
            run.part(BenchHygiene).ran(Ran(result.name, began, ended))

    def end_suite(self, data: running.TestSuite, result: result.TestSuite) -> None:  # noqa: ARG002 - as above
        """Compare the bench."""
        run = acquired()
        if run is None:
            return
        for found in run.part(BenchHygiene).after_suite(result.name, logger.warn):
            logger.warn(f"Bench hygiene: {found}")
