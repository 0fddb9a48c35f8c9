"""Changes that a check makes for a moment: in the journal before they are made, put back whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from niclab.core.undo import Action, ActionKind
from niclab.core.undo_state import DEADLINE_S
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.run.server import Server


@contextmanager
def put_back(
    taken: Run,
    server: Server,
    subject: str,
    what: str,
    restoring: str,
    iface: str = "",
    deadline_s: float = DEADLINE_S,
) -> Iterator[None]:
    """Restore what the body changes on ``server`` by the command ``restoring``, which must be idempotent.

    Args:
        taken: The run.
        server: The server.
        subject: Whom the change concerns, such as ``dut`` or ``dut.p0``.
        what: The change in words.
        restoring: The command that puts it back.
        iface: The interface of whose state in the running kernel alone it puts something back.
        deadline_s: Time in s that the command may take.

    Raises:
        BenchFault: It could not be put back; the journal keeps it for the end of the run. An error of
            the body is reported first.
    """
    undo = Action(ActionKind.SHELL, server.name, restoring, deadline_s, iface)
    entry = taken.journal.register(subject, what, undo)
    try:
        yield
    except BaseException as error:
        try:
            taken.journal.undo(entry, taken.undo)
        except BenchFault as left:
            error.add_note(str(left))
        raise
    taken.journal.undo(entry, taken.undo)
