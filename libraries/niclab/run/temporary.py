"""Changes that a check makes for a moment: in the journal before they are made, put back whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.run.server import Server


@contextmanager
def put_back(taken: Run, server: Server, subject: str, what: str, restoring: str) -> Iterator[None]:
    """Restore what the body changes on ``server`` by the command ``restoring``, which must be idempotent.

    Raises:
        BenchFault: It could not be put back; the journal keeps it for the end of the run. An error of
            the body is reported first.
    """
    entry = taken.journal.register(subject, what, Action(ActionKind.SHELL, server.name, restoring))
    try:
        yield
    except BaseException as error:
        try:
            taken.journal.undo(entry, taken.undo)
        except BenchFault as left:
            error.add_note(str(left))
        raise
    taken.journal.undo(entry, taken.undo)
