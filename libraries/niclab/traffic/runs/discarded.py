"""Runs that were discarded, and how many of them an answer survives.

A run in which a server stood still proves nothing of the card and is made again. But a driver can be what stops the
server: whoever measures on until a run pleases would hide its bad runs. So their number is part of each answer, and
more of them than of counted runs leave nothing to decide with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

from niclab.core.decision import Decision
from niclab.core.verdict import BenchFault, Undecided
from niclab.run.watching.standstill import Stood
from niclab.stats.questions import Outcome
from niclab.traffic.runs.traffic_run import TrafficRun

MADE_AGAIN = 8
"""Assumption: a run in which a server stood still is made again as often in a row, for half a minute or so."""


@dataclass(frozen=True)
class DiscardedRun:
    """A run that is not counted. ``stood``: the servers that stood still meanwhile; none where it exceeds the line."""

    figure: str
    stood: tuple[Stood, ...]

    def __str__(self) -> str:
        return f"{self.figure} not counted: {', '.join(map(str, self.stood))}" if self.stood else self.figure


class DiscardedRuns:
    """The runs in a row that were discarded for one that counts.

    Args:
        subject: What is measured, for the message.
    """

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._runs = list[DiscardedRun]()

    @property
    def texts(self) -> tuple[str, ...]:
        """Each run in words."""
        return tuple(map(str, self._runs))

    def add(self, run: DiscardedRun) -> None:
        """Discard a run; return when it may be made again.

        Args:
            run: The run.

        Raises:
            Undecided: There are too many in a row, and a server stood still in one of them.
            BenchFault: There are too many in a row, and none did.
        """
        self._runs.append(run)
        if len(self._runs) <= MADE_AGAIN:
            return
        message = f"{self._subject}: {len(self._runs)} runs in a row prove nothing: {'; '.join(self.texts)}"
        raise Undecided(message) if any(each.stood for each in self._runs) else BenchFault(message)


@overload
def bounded(result: Outcome, runs: Sequence[TrafficRun]) -> Outcome: ...
@overload
def bounded(result: Outcome | None, runs: Sequence[TrafficRun]) -> Outcome | None: ...
def bounded(result: Outcome | None, runs: Sequence[TrafficRun]) -> Outcome | None:
    """Add to an answer how many runs were discarded for it.

    Args:
        result: The answer of the counted runs alone; None where nothing is asked.
        runs: All runs made for it that were not discarded.

    Returns:
        The answer with ``discarded``, also in its reason; UNDECIDED when more runs were discarded than counted.
    """
    count = sum(len(each.disturbed) for each in runs)
    if result is None or not count:
        return result
    said = f"{count} runs discarded, {len(runs)} counted"
    if count <= len(runs):
        return replace(result, discarded=count, reason=f"{result.reason}; {said}")
    reason = f"{said}: undecided; expected no more discarded than counted; the counted ones alone: {result.reason}"
    return replace(result, discarded=count, decision=Decision.UNDECIDED, reason=reason)
