"""Operations of disks that waited while a link below them changed: for how long, and for how long they may."""

from __future__ import annotations

from dataclasses import dataclass

from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.verdict import Undecided
from niclab.storage.iscsi_initiator import GIVES_UP_AFTER_S
from niclab.storage.iscsi_loads import LoadCounts

MOST_USUAL_MS = 1000
"""Assumption: disks that hang for longer with no link failing excuse no more."""


@dataclass(frozen=True)
class Stall:
    """A load during which a link failed or returned, and how long it may wait.

    ``subject``: the disks, in words; ``event``: what happened, in words; ``usual_ms``: an operation may take so long
    with no link failing; ``stood``: the times for which servers stood still, in ms; ``session``: what became of it, in
    words.
    """

    subject: str
    event: str
    counts: LoadCounts
    usual_ms: float
    stood: tuple[int, ...]
    session: str
    limit_ms: int
    source: str

    @property
    def silent_ms(self) -> float:
        """The longest time in which no operation ended."""
        return 1000 * self.counts.silent_s

    @property
    def slowest_ms(self) -> float:
        """The time of the slowest operation."""
        return 1000 * self.counts.slowest_s

    @property
    def waited_ms(self) -> float:
        """The longest wait for the link: of all operations, or of a single one while others went on."""
        return max(self.silent_ms, self.slowest_ms - self.usual_ms)

    @property
    def stood_ms(self) -> int:
        """The time for which servers stood still."""
        return sum(self.stood)

    @property
    def fails_by_itself(self) -> bool:
        """Did operations fail although no server stood still for as long as a session waits before it fails them?"""
        return bool(self.counts.failed) and max(self.stood, default=0) < 1000 * GIVES_UP_AFTER_S

    @property
    def outcome(self) -> Decision:
        """The decision on the wait and on failed operations."""
        if self.waited_ms - self.stood_ms > self.limit_ms:
            return Decision.MISSED
        is_good = self.waited_ms <= self.limit_ms and not self.counts.failed
        return Decision.MET if is_good else Decision.UNDECIDED

    @property
    def found(self) -> str:
        """The measured wait and failed operations, in words."""
        counts = self.counts
        words = f"no operation ended for {self.silent_ms:.0f} ms, the slowest took {self.slowest_ms:.0f} ms (with no "
        words += f"link failing up to {self.usual_ms:.0f} ms), "
        words += f"{counts.failed} of {counts.reads + counts.written + counts.failed} failed; {self.session}"
        return words + (f"; servers stood still for {self.stood_ms} ms" if self.stood_ms else "")

    @property
    def words(self) -> str:
        """The same, and the limit, in words."""
        words = f"{self.subject}, {self.event}: {self.found}; expected at most {self.limit_ms} ms, none failed "
        return words + f"({self.source})"

    def figure(self) -> NotedFigure:
        """Return the figure of the certificate."""
        return NotedFigure(
            kind=FigureKind.FAILOVER,
            subject=f"{self.subject}, {self.event}",
            found=self.found,
            expected=f"at most {self.limit_ms} ms for which operations wait",
            source=self.source,
            outcome=self.outcome,
            unit="ms",
            value=self.waited_ms,
            at_most=self.limit_ms,
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
