"""Runs that were discarded, and how many of them an answer survives.

A run in which a server stood still proves nothing of the card and is made again. But a driver can be what stops the
server: whoever measures on until a run pleases would hide its bad runs. So their number is part of each answer, and
more of them than of counted runs leave nothing to decide with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import overload

from niclab.core.decision import Decision
from niclab.stats.questions import Outcome
from niclab.traffic.runs.measuring import TrafficRun


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
    reason = f"{said}: undecided; expected: no more discarded than counted; the counted ones alone: {result.reason}"
    return replace(result, discarded=count, decision=Decision.UNDECIDED, reason=reason)
