"""A listener that puts back what a test or suite has tuned, when it has ended. The library ``Tuning`` brings it."""

from __future__ import annotations

from robot import result, running

from niclab.core.verdict import BenchFault
from niclab.report.verdicts import ALSO
from niclab.run.run import acquired
from niclab.settings.tuning import Tuning


class TuningScopes:
    """Begins and ends the time for which settings are held.

    A test whose settings cannot be put back fails as a bench fault. Of a suite that is only said: the journal keeps the
    setting, and the end of the run names it.
    """

    ROBOT_LISTENER_API_VERSION = 3
    ROBOT_LISTENER_PRIORITY = 200
    """Called before both kernels are read, so that they hear of it."""

    def start_suite(self, data: running.TestSuite, result: result.TestSuite) -> None:  # noqa: ARG002 - Robot's signature
        """Hold what the suite's setup sets."""
        _begin(result.id)

    def start_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - as above
        """Hold what the test sets."""
        _begin(result.id)

    def end_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - as above
        """Put back what the test has set."""
        try:
            _end(result.id)
        except BenchFault as error:
            already = result.message if result.failed else ""
            result.message = ALSO.join(filter(None, (already, f"BenchFault: {error}")))
            result.status = "FAIL"

    def end_suite(self, data: running.TestSuite, result: result.TestSuite) -> None:  # noqa: ARG002 - as above
        """Put back what the suite's setup has set."""
        _end(result.id)


def _begin(scope: str) -> None:
    run = acquired()
    if run is not None:
        run.part(Tuning).begin(scope)


def _end(scope: str) -> None:
    run = acquired()
    if run is not None:
        run.part(Tuning).end(scope)
