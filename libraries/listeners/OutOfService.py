"""A listener that skips the rest of a run whose server is out of service, with that reason.

The library ``Bench`` brings it, so that plain ``robot suites/`` has it too. A test that is skipped this way counts as a
fault of the bench: it has no answer.
"""

from __future__ import annotations

from robot import result, running
from robot.utils import escape  # type: ignore[import-untyped]  # the package has no marker

from niclab.core.verdict import BenchFault
from niclab.run.run import acquired


class OutOfService:
    """Replaces the setups of suites and tests that cannot run, and removes their teardowns."""

    ROBOT_LISTENER_API_VERSION = 3

    def start_suite(self, data: running.TestSuite, result: result.TestSuite) -> None:  # noqa: ARG002 - Robot's signature
        """Skip a suite."""
        _skip(data)

    def start_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - as above
        """Skip a test."""
        _skip(data)


def _skip(data: running.TestSuite | running.TestCase) -> None:
    run = acquired()
    reasons = [] if run is None else [server.out_of_service for server in run.servers.values() if server.out_of_service]
    if reasons:
        text = f"{BenchFault.__name__}: " + "\n".join(reasons)
        data.setup.config(name="BuiltIn.Skip", args=(escape(text),))
        data.teardown = None
