"""Waits of storage while a link below it fails or returns: how long they lasted, and how long they may."""

from __future__ import annotations

from dataclasses import dataclass

from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure


@dataclass(frozen=True)
class Longest:
    """The longest wait that a link may cause. ``source``: where it comes from, in words."""

    ms: int
    source: str


@dataclass(frozen=True)
class Wait:
    """The longest wait of some storage while a link failed or returned.

    Attributes:
        subject: The storage, in words.
        event: What happened to the link, in words.
        waited_ms: How long it waited.
        failed: Operations or calls that failed.
        measured: Both in words.
        stood: The times in ms for which servers stood still.
        limit: How long it may wait.
        waits: What lasts so long, in words.
        gives_up_s: Operations or calls fail after so many s in which a server stands still.
    """

    subject: str
    event: str
    waited_ms: float
    failed: int
    measured: str
    stood: tuple[int, ...]
    limit: Longest
    waits: str
    gives_up_s: float

    @property
    def fails_by_itself(self) -> bool:
        """Did something fail although no server stood still for so long that it must?"""
        return bool(self.failed) and max(self.stood, default=0) < 1000 * self.gives_up_s

    @property
    def outcome(self) -> Decision:
        """The decision on the wait, and on what failed."""
        if self.waited_ms - sum(self.stood) > self.limit.ms:
            return Decision.MISSED
        return Decision.MET if self.waited_ms <= self.limit.ms and not self.failed else Decision.UNDECIDED

    @property
    def found(self) -> str:
        """The measured wait, what failed, and how long servers stood still, in words."""
        return self.measured + (f"; servers stood still for {sum(self.stood)} ms" if self.stood else "")

    @property
    def words(self) -> str:
        """The same, and the limit, in words."""
        found = f"{self.subject}, {self.event}: {self.found}; expected at most {self.limit.ms} ms, none failed "
        return found + f"({self.limit.source})"

    def figure(self) -> NotedFigure:
        """Return the figure of the certificate."""
        return NotedFigure(
            kind=FigureKind.FAILOVER,
            subject=f"{self.subject}, {self.event}",
            found=self.found,
            expected=f"at most {self.limit.ms} ms {self.waits}",
            source=self.limit.source,
            outcome=self.outcome,
            unit="ms",
            value=self.waited_ms,
            at_most=self.limit.ms,
        )
