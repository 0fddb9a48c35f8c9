"""A listener that lets both kernels judge every test: a crash, a hang or an error that they report fails it.

The library ``Bench`` brings it, so that plain ``robot suites/`` has it too. It changes a test before other listeners
see its result.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot import result, running

from niclab.core.verdict import BenchFault, CardFailure, KernelFailure
from niclab.report.verdicts import ALSO
from niclab.run.run import acquired
from niclab.run.watching.carrier_watch import CarrierWatch
from niclab.run.watching.kernel_watch import KernelWatch


class KernelLog:
    """Fails a test during which a kernel reported trouble, or a server booted that nobody had ordered to."""

    ROBOT_LISTENER_API_VERSION = 3
    ROBOT_LISTENER_PRIORITY = 100
    """Called before the listeners that keep evidence and write results."""

    def start_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - Robot's signature
        """Let links come back that a driver restarted when the settings of the test before were put back."""
        run = acquired()
        if run is not None:
            run.part(CarrierWatch).settle()

    def end_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - Robot's signature
        """Look at both kernels."""
        run = acquired()
        if run is None or result.not_run:
            return
        if result.failed:  # it may have died in the middle of anything
            run.part(CarrierWatch).note_touch()
        try:
            found = run.part(KernelWatch).look()
        except BenchFault as error:
            found = [error]
        if found:
            _fail(result, found)


def _fail(result: result.TestCase, found: Sequence[Exception]) -> None:
    said = [f"{_kind(each).__name__}: {each}" for each in found]
    already = result.message if result.failed else ""
    is_card = isinstance(found[0], CardFailure)
    parts = [*said, already] if is_card else [already, *said]
    result.message = ALSO.join(each for each in parts if each)
    result.status = "FAIL"


def _kind(found: Exception) -> type[Exception]:
    """The verdict as it is in the message: that of the card is of another kind where a kernel said it."""
    return KernelFailure if isinstance(found, CardFailure) else type(found)
