"""A listener that lets a test that passes say its figures: the message column of report, certificate and Allure."""

# Robot Framework is not marked as typed (no py.typed):
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from robot import result, running

from niclab.core.figures import NotedFigure
from niclab.run.run import acquired

SHOWN = 3


class Figures:
    """Sets the message of a passed test that noted figures and has none."""

    ROBOT_LISTENER_API_VERSION = 3

    def start_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - Robot's signature
        """Forget figures of a suite setup."""
        _taken()

    def end_test(self, data: running.TestCase, result: result.TestCase) -> None:  # noqa: ARG002 - Robot's signature
        """Say what the test measured."""
        taken = list(dict.fromkeys(map(str, _taken())))
        if result.passed and not result.message and taken:
            more = len(taken) - SHOWN
            result.message = "\n".join([*taken[:SHOWN], *([f"and {more} more figures"] if more > 0 else [])])


def _taken() -> list[NotedFigure]:
    run = acquired()
    return [] if run is None else run.notes.take_figures()
