"""A listener that lets the teardown run whenever a run is ended by signals.

Robot Framework stops the tests at the first SIGINT or SIGTERM and exits without any teardown at the second. With this
listener SIGHUP ends the tests as well, a repeated signal is ignored for some time, a third one of a kind stops at once,
and a signal in the middle of a teardown does not break it off. A killed ``niclab certify`` ends the tests as well. The
library ``Bench`` installs it too, so that plain ``robot suites/`` behaves the same.
"""

# Robot Framework is not marked as typed (no py.typed):
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import ctypes
import os
import signal
import sys
from types import FrameType

from robot.running.context import EXECUTION_CONTEXTS
from robot.running.signalhandler import STOP_SIGNAL_MONITOR

from niclab.core.abort import ENDING, FORWARDED, ORPHANED, STARTED_BY, EndRequests

ROBOT_LISTENER_API_VERSION = 3
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def start_suite(data: object, result: object) -> None:  # noqa: ARG001 - Robot Framework's signature
    """Install the handlers; later suites find them installed."""
    install()


def install() -> None:
    """Put the handlers before those of Robot Framework; does nothing outside a run, or where they are in place."""
    is_robots = signal.getsignal(signal.SIGTERM) is STOP_SIGNAL_MONITOR
    if not is_robots:
        return
    requests = EndRequests({FORWARDED: 2})

    def handle(number: int, frame: FrameType | None) -> None:
        if not requests.counts(number):
            return
        context = EXECUTION_CONTEXTS.current
        if context is not None and context.in_teardown:
            STOP_SIGNAL_MONITOR.stop_running_keyword()  # the tests end after the teardown, which is not broken off
        STOP_SIGNAL_MONITOR(number, frame)

    def orphaned(_: int, frame: FrameType | None) -> None:
        if not requests.begun:  # who has asked for an end already does not insist by being killed
            handle(FORWARDED, frame)

    for number in (*ENDING, FORWARDED):
        signal.signal(number, handle)
    signal.signal(ORPHANED, orphaned)
    _end_after_niclab()


def _end_after_niclab() -> None:
    """Have the kernel ask for an end when ``niclab certify`` is killed: nobody would make the certificate."""
    parent = os.environ.pop(STARTED_BY, None)
    if parent is None or sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, ORPHANED, 0, 0, 0)
    if os.getppid() != int(parent):  # it was killed before
        os.kill(os.getpid(), ORPHANED)
