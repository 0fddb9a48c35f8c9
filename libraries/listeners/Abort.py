"""A listener that lets the teardown run whenever a run is ended by signals.

Robot Framework stops the tests at the first SIGINT or SIGTERM and exits without any teardown at the second. With this
listener SIGHUP ends the tests as well, a repeated signal is ignored for some time, a third one of a kind stops at once,
and a signal in the middle of a teardown does not break it off. The library ``Bench`` installs it too, so that plain
``robot suites/`` behaves the same.
"""

# Robot Framework is not marked as typed (no py.typed):
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import signal
from types import FrameType

from robot.running.context import EXECUTION_CONTEXTS
from robot.running.signalhandler import STOP_SIGNAL_MONITOR

from niclab.core.abort import ENDING, FORWARDED, EndRequests

ROBOT_LISTENER_API_VERSION = 3


def start_suite(data: object, result: object) -> None:  # noqa: ARG001 - Robot Framework's signature
    """Install the handlers; later suites find them installed."""
    install()


def install() -> None:
    """Put the handlers before those of Robot Framework; does nothing outside a run, or where they are in place."""
    if signal.getsignal(signal.SIGTERM) is not STOP_SIGNAL_MONITOR:
        return
    requests = EndRequests({FORWARDED: 2})

    def handle(number: int, frame: FrameType | None) -> None:
        if not requests.counts(number):
            return
        context = EXECUTION_CONTEXTS.current
        if context is not None and context.in_teardown:
            STOP_SIGNAL_MONITOR.stop_running_keyword()  # the tests end after the teardown, which is not broken off
        STOP_SIGNAL_MONITOR(number, frame)

    for number in (*ENDING, FORWARDED):
        signal.signal(number, handle)
