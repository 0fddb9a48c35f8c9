"""A listener that masks the secrets of the bench in all that Robot Framework logs, also at TRACE level.

It comes before the listeners that keep results: log, report, console and Allure get the masked text. What libraries
write to the console, no listener sees: the process's own streams are masked as well. The library ``Bench`` brings it,
so that plain ``robot suites/`` masks too; ``niclab certify`` names it on the command line, for suites without it.
"""

from __future__ import annotations

import sys
from typing import Any, TextIO

from robot import result, running

from niclab.files.mask import MessageMask
from niclab.files.secrets import handed_out

MASK = MessageMask(handed_out)
_AS_HTML = "*HTML*"


class MaskedStream:
    """A stream of the console that masks what is written to it.

    Args:
        stream: The stream.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write ``text`` without the secrets; return the number of characters that the caller gave."""
        self._stream.write(MASK(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def mask_console() -> None:
    """Mask standard output and standard error of this process, to which Robot Framework writes past its listeners."""
    for name in ("__stdout__", "__stderr__"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, MaskedStream):
            setattr(sys, name, MaskedStream(stream))


class MessageMasking:
    """Masks messages, and why keywords, control structures, tests and suites failed."""

    ROBOT_LISTENER_API_VERSION = 3
    ROBOT_LISTENER_PRIORITY = 50
    """Called after those that judge a test, which add to its message, and before those that keep and pass it on."""

    def __init__(self) -> None:
        mask_console()

    def log_message(self, message: result.Message) -> None:
        """Mask what is logged by a keyword. A failure is text: it quotes what a server, a BMC or a console has said."""
        message.message = MASK(message.message)
        if message.level == "FAIL":
            message.html = False

    def message(self, message: result.Message) -> None:
        """Mask what is logged outside of keywords: warnings, errors, imports."""
        message.message = MASK(message.message)

    def end_body_item(self, data: object, result: Any) -> None:  # noqa: ARG002 - Robot Framework's signature
        """Mask why a keyword or a control structure failed."""
        result.message = _text(result.message)

    def end_for_iteration(self, data: object, result: Any) -> None:
        """Mask the values of a loop's variables, which the log shows resolved."""
        result.assign = {name: MASK(value) for name, value in result.assign.items()}
        self.end_body_item(data, result)

    def end_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - as above
        """Mask why a test failed."""
        result.message = _text(result.message)

    def end_suite(self, data: running.TestSuite, result: result.TestSuite) -> None:  # noqa: ARG002 - as above
        """Mask why a suite failed; its teardown may have changed the messages of its tests."""
        result.message = _text(result.message)
        for test in result.all_tests:
            test.message = _text(test.message)


def _text(failure: str) -> str:
    """Mask a failure, and take from it what would make Robot Framework put it into its pages unescaped."""
    masked = MASK(failure)
    while masked.lstrip().startswith(_AS_HTML):
        masked = masked.lstrip().removeprefix(_AS_HTML)
    return masked
