"""Changes that a killed run left behind: undone before the next run, and by ``niclab restore``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from niclab.core.undo import ActionKind, Entry
from niclab.core.verdict import BenchFault
from niclab.run.bring_up import bring_up_for_undo
from niclab.run.leases import give_leases_back, give_leases_back_quietly, steal_leases, take_leases
from niclab.run.undoing import undo_everything

if TYPE_CHECKING:
    from niclab.run.run import Run


def restore(
    run: Run,
    *,
    steal: Callable[[str], object] | None = None,
    look: Callable[[], object] | None = None,
    leaving: Container[str] = (),
) -> list[Entry]:
    """Undo everything that is pending in the journal, which the caller holds, and give the servers back.

    Args:
        run: A run that is not open.
        steal: Break the leases of others first; is called with a line for each.
        look: Is called when all is undone but the entries ``leaving``, which may stop the servers.
        leaving: Ids of the entries that are undone last.

    Returns:
        What was undone.

    Raises:
        BenchFault: The servers are in use, or something could not be undone; all the rest has been.
    """
    try:
        lease_what_runs(run, steal)
        undone = undo_pending(run, look, leaving)
        give_leases_back(run.servers.values())
        return undone
    finally:
        give_leases_back_quietly(run.servers.values())
        run.close_servers()


def lease_what_runs(run: Run, steal: Callable[[str], object] | None = None) -> None:
    """Take the leases of a bench that is up, before a command of the bench restarts servers that others use.

    Args:
        run: A run that is not open.
        steal: Break the leases of others first; is called with a line for each.

    Raises:
        BenchFault: The servers are in use.
    """
    if run.bench.commands is not None and run.controller.run(run.bench.commands.status).returncode:
        return
    run.make_servers()
    try:
        if steal is not None:
            for line in steal_leases(run.servers.values()):
                steal(line)
        take_leases(run.servers.values())
    finally:
        for server in run.servers.values():
            server.ssh.close()


def undo_pending(run: Run, look: Callable[[], object] | None = None, leaving: Container[str] = ()) -> list[Entry]:
    """Undo what an earlier run left, on a bench that is brought up for it.

    Args:
        run: A run that is not open.
        look: Is called when all is undone but the entries ``leaving``, which may stop the servers.
        leaving: Ids of the entries that are undone last.

    Returns:
        What was undone.

    Raises:
        BenchFault: Something could not be undone; all the rest has been.
    """
    if not run.journal.pending():
        if look is not None:
            look()
        return []
    bring_up_for_undo(run.bench, run.controller)
    first = run.journal.undo_all(run.undo, kinds=[ActionKind.SWITCH])  # what fails is tried again below
    run.connect()
    try:
        done = list[Entry]()
        if look is not None:
            with contextlib.suppress(BenchFault):  # what fails is tried again below
                done = undo_everything(run, leaving=leaving)
                look()
        return [*first.done, *done, *undo_everything(run)]
    finally:
        run.close_servers()
