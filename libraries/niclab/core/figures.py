"""The figures of a certificate: what was measured against what was expected, noted as it is found.

The notes are ``figures.jsonl`` next to the marks of the run (:mod:`niclab.core.marks`), and are kept in this process
until :func:`take` so that a test that passes can say them. Without a file to write to, they are only kept.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from niclab.core import marks
from niclab.core.verdict import BenchFault

FILE = "figures.jsonl"
_NOTED: list[NotedFigure] = []


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
    empty where ``expected`` says it.
    ``outcome``: met, missed or undecided. ``runs``: how many runs of traffic it is of, 0 where it is of none.
    ``ended``: time of the controller in seconds since 1970.
    """

    kind: FigureKind
    subject: str
    found: str
    expected: str
    source: str
    outcome: str
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
        return f"{self.subject}: {self.found}; expected: {self.expected}{source}"


def note(figure: NotedFigure) -> None:
    """Note a figure.

    Args:
        figure: What was found; its time is set here.

    Raises:
        BenchFault: The file cannot be written.
    """
    timed = replace(figure, ended=round(time.time(), 3))
    _NOTED.append(timed)
    marks.append(FILE, json.dumps(asdict(timed), ensure_ascii=False))


def take() -> list[NotedFigure]:
    """Return the figures noted since the last call."""
    taken = list(_NOTED)
    _NOTED.clear()
    return taken


def read(file: Path) -> list[NotedFigure]:
    """Read the figures of a run.

    Args:
        file: The file; a run that noted none has none.

    Raises:
        BenchFault: The file cannot be read, or a line is no figure.
    """
    try:
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise BenchFault(f"{file}: cannot be read: {error}") from error
    return [_figure(file, number, line) for number, line in enumerate(lines, start=1)]


def _figure(file: Path, number: int, line: str) -> NotedFigure:
    try:
        content = json.loads(line)
        return NotedFigure(**{**content, "kind": FigureKind(content["kind"])})
    except (ValueError, KeyError, TypeError) as error:
        raise BenchFault(f"{file}:{number}: is no figure: {error}; expected: the fields of a figure") from error
