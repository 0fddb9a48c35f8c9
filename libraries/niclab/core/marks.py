"""The notes of a run while it goes on: boots, recoveries, waits, and traffic runs that are not counted.

They are lines of ``marks.jsonl`` in its evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from niclab.core import notes

FILE = "marks.jsonl"


class MarkKind(StrEnum):
    """The subject of a note."""

    BOOT = "boot"
    """A server starts: ordered by a check, or by bringing the bench up."""
    RECOVERY = "recovery"
    """A server that did not answer is recovered by the lab; the subject names the step that did so."""
    PAUSE = "pause"
    """The time itself is meant: a hold time, a time in which nothing may happen."""
    STATE = "state"
    """A state is waited for: a link, a program that listens."""
    DISCARDED = "discarded"
    """A traffic run is not counted."""
    OUTLIER = "outlier"
    """A counted run is far from the rest."""
    DRAWN = "drawn"
    """A test has drawn at random: from which seed, what it has drawn, and what came of it."""
    UNTRIED = "untried"
    """Ports of the card offer what no test tries; the subject names ports and abilities."""


@dataclass(frozen=True)
class Mark:
    """One note. ``ended`` is the time of the controller in seconds since 1970; ``seconds`` is how long it lasted."""

    kind: MarkKind
    subject: str
    ended: float
    seconds: float


def read(file: Path) -> list[Mark]:
    """Read the marks of a run.

    Args:
        file: The file; a run that noted nothing has none.

    Returns:
        The marks in the order in which they ended.

    Raises:
        BenchFault: The file cannot be read, or a line is no mark.
    """
    return notes.read(file, _mark, "kind, subject, ended and seconds")


def _mark(content: Any) -> Mark:
    kind, subject = MarkKind(content["kind"]), str(content["subject"])
    return Mark(kind, subject, float(content["ended"]), float(content["seconds"]))
