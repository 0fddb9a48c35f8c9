"""Robot Framework as a process: the whole run with the signals that it is sent, and what asks no server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from niclab.core.abort import FORWARDED, STARTED_BY, EndRequests, StopOrder, on_ending
from niclab.core.verdict import BenchFault
from niclab.files.repository import REPOSITORY

SUITES = REPOSITORY / "suites"
OFFLINE_WITHIN_S = 1800.0
"""Assumption: a controller that works takes seconds for a dry run, and minutes to merge the outputs of a day."""
_COOKIES = ("JENKINS_NODE_COOKIE", "JENKINS_SERVER_COOKIE", "HUDSON_SERVER_COOKIE", "BUILD_ID")


def command(options: list[str]) -> list[str]:
    """Return the command line that runs the suites.

    Args:
        options: Options of Robot Framework.
    """
    return [sys.executable, "-m", "robot", *options, str(SUITES)]


def environment() -> dict[str, str]:
    """Return the environment of Robot Framework, without what a pipeline finds the processes of a build by.

    Options of the environment would take tests out of the run and out of the count of all tests alike.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _COOKIES and name != "ROBOT_OPTIONS" and not name.startswith("ROBOT_SYSLOG_")
    }


def bounded(words: Sequence[str], what: str, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program of Robot Framework that asks no server.

    Args:
        words: The program and its arguments.
        what: What it is for, for the message.
        variables: Its whole environment.

    Returns:
        The process that has ended, whatever its exit status.

    Raises:
        BenchFault: It does not end within :data:`OFFLINE_WITHIN_S`.
    """
    try:
        return subprocess.run(
            words, env=variables, capture_output=True, text=True, check=False, timeout=OFFLINE_WITHIN_S
        )
    except subprocess.TimeoutExpired as error:
        raise BenchFault(f"{what}: did not end within {OFFLINE_WITHIN_S:g} s; expected seconds") from error


class RobotProcess:
    """Robot Framework as a process, and the signals that it is sent."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._unsent = 0
        self._requests = EndRequests()

    def run(self, options: list[str], stop: StopOrder) -> int:
        """Run Robot Framework to its end, whatever ends it: it takes the bench back to what it was.

        It has a session and an environment of its own, so that who signals all processes of a terminal or of a
        pipeline's build does not reach it twice; a request to end reaches it from here.

        Args:
            options: Its options.
            stop: Where somebody orders the run to stop.

        Returns:
            Its exit status.
        """
        with on_ending(self._pass_on):
            try:
                with subprocess.Popen(
                    command(options),
                    stdin=subprocess.DEVNULL,
                    env=environment() | {STARTED_BY: str(os.getpid())},
                    start_new_session=True,
                    pass_fds=stop.keeps,
                ) as self._process:
                    while self._unsent:  # what came while it was being started
                        self._unsent -= 1
                        self._process.send_signal(FORWARDED)
                    stop.listen(lambda: self._stop(stop.reason))
                    return self._process.wait()
            finally:
                stop.listen(None)

    def _stop(self, reason: str) -> None:
        assert self._process is not None
        print(f"niclab: {reason}; the run stops", file=sys.stderr, flush=True)
        self._process.send_signal(FORWARDED)

    def _pass_on(self, number: int, _: object) -> None:
        if not self._requests.counts(number):
            return
        if self._process is None:
            self._unsent += 1
        else:
            self._process.send_signal(FORWARDED)
