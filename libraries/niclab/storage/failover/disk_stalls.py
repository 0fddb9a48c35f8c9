"""Operations of disks that waited while a link below them changed."""

from __future__ import annotations

from niclab.core.verdict import Undecided
from niclab.storage.disk_loads import LoadCounts
from niclab.storage.failover.waits import Longest, Wait
from niclab.storage.iscsi.iscsi_initiator import GIVES_UP_AFTER_S

MOST_USUAL_MS = 1000
"""Assumption: disks that hang for longer with no link failing excuse no more."""


def stall(
    subject: str, event: str, counts: LoadCounts, usual: float, stood: tuple[int, ...], session: str, limit: Longest
) -> Wait:
    """Return how long the operations of a load have waited for a link.

    Args:
        subject: The disks, in words.
        event: What happened to the link, in words.
        counts: The counts of the load.
        usual: Time in ms that an operation may take with no link failing.
        stood: The times in ms for which servers stood still.
        session: What became of the session, in words.
        limit: How long they may wait.
    """
    silent_ms, slowest_ms = 1000 * counts.silent_s, 1000 * counts.slowest_s
    words = f"no operation ended for {silent_ms:.0f} ms, the slowest took {slowest_ms:.0f} ms (with no "
    words += f"link failing up to {usual:.0f} ms), "
    words += f"{counts.failed} of {counts.reads + counts.written + counts.failed} failed; {session}"
    words += f"; {counts.damaged} blocks with another content, such as {counts.example}" if counts.damaged else ""
    return Wait(
        subject=subject,
        event=event,
        waited_ms=max(silent_ms, slowest_ms - usual),  # of all operations, or of a single one while others went on
        failed=counts.failed,
        measured=words,
        stood=stood,
        limit=limit,
        waits="for which operations wait",
        gives_up_s=GIVES_UP_AFTER_S,
    )


def usual_ms(filled: LoadCounts) -> float:
    """Return the time that an operation may take with no link failing, by a step in which none failed.

    Args:
        filled: The counts of the step.
    """
    return min(1000 * filled.slowest_s, MOST_USUAL_MS)


def require_whole(counts: LoadCounts, what: str) -> None:
    """Require that all blocks are those written, and that a step without a failing link has no failed operation.

    Args:
        counts: The counts of the step.
        what: The disks and what is below them, in words.

    Raises:
        Undecided: They are not.
    """
    if counts.damaged or counts.failed:
        raise Undecided(
            f"{what}: {counts.damaged} blocks with another content, {counts.failed} "
            f"operations failed, such as {counts.example}; expected what was written; nobody knows where it happened"
        )
