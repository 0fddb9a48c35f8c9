"""The figures of a certificate: what was measured against what was expected, lines of ``figures.jsonl``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from niclab.core import notes
from niclab.core.decision import Decision

FILE = "figures.jsonl"
_MOST_DECIMALS = 6


class FigureKind(StrEnum):
    """The subject of a figure."""

    THROUGHPUT = "throughput"
    TRAFFIC = "traffic"
    """Any other figure of traffic: CPU load, transactions a second, frames a second, the effect of a setting."""
    FAILOVER = "failover"
    CARRIER = "carrier"
    CAUSE = "cause"
    """Reason why a link was down, by both of its ends."""
    PCIE = "pcie"


@dataclass(frozen=True)
class NotedFigure:
    """One figure.

    ``found``, ``expected``: in words with their units. ``low``, ``value``, ``high``: the interval, and the best guess;
    ``at_least``, ``at_most``: the limits; all in ``unit``, None where there is none. ``source``: of the expectation,
    empty where ``expected`` says it. ``runs``: how many runs of traffic it is of, 0 where it is of none. ``ended``:
    time of the controller in seconds since 1970.
    """

    kind: FigureKind
    subject: str
    found: str
    expected: str
    source: str
    outcome: Decision
    unit: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    runs: int = 0
    ended: float = 0.0

    def __str__(self) -> str:
        source = f" ({self.source})" if self.source else ""
        return f"{self.subject}: {self.found}; expected {self.expected}{source}"


def apart(value: float, limit: float | None) -> str:
    """Return a number with as many decimals as show on which side of its limit it is, none where there is no limit.

    Args:
        value: The number.
        limit: Its limit, in the same unit.
    """
    texts = (f"{value:.{decimals}f}" for decimals in range(_MOST_DECIMALS))
    if limit is None:
        return next(texts)
    side = (value > limit, value < limit)
    return next((each for each in texts if (float(each) > limit, float(each) < limit) == side), repr(value))


def read(file: Path) -> list[NotedFigure]:
    """Read the figures of a run.

    Args:
        file: The file; a run that noted none has none.

    Raises:
        BenchFault: The file cannot be read, or a line is no figure.
    """
    return notes.read(file, _figure, "the fields of a figure")


def _figure(content: Any) -> NotedFigure:
    return NotedFigure(**{**content, "kind": FigureKind(content["kind"]), "outcome": Decision(content["outcome"])})
