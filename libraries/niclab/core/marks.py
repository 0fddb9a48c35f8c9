"""The notes of a run while it goes on: boots, recoveries, waits, and traffic runs that are not counted.

The notes are ``marks.jsonl`` in the evidence of the run. Without a file to write to, nothing is noted::

    marks.keep_in(run_dir / "evidence" / marks.FILE)
    with marks.timed(MarkKind.BOOT, "dut"):
        ...
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from niclab.core.verdict import BenchFault

FILE = "marks.jsonl"
_FILES: list[Path] = []


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


@dataclass(frozen=True)
class Mark:
    """One note. ``ended`` is the time of the controller in seconds since 1970; ``seconds`` is how long it lasted."""

    kind: MarkKind
    subject: str
    ended: float
    seconds: float


def keep_in(file: Path | None) -> None:
    """Write the marks of this process to a file from now on.

    Args:
        file: The file, made when the first mark is noted; None ends it.
    """
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
    _FILES[:] = [] if file is None else [file]


def note(kind: MarkKind, subject: str, seconds: float = 0.0) -> None:
    """Note what has just ended.

    Args:
        kind: What it was.
        subject: The server, or the reason, in words.
        seconds: How long it lasted.

    Raises:
        BenchFault: The file cannot be written.
    """
    append(FILE, json.dumps(asdict(Mark(kind, subject, round(time.time(), 3), round(seconds, 3)))))


def append(name: str, line: str) -> None:
    """Add a line to a file in the folder of the marks, if there is one.

    Args:
        name: Name of the file.
        line: Its new line.

    Raises:
        BenchFault: The file cannot be written.
    """
    for marks_file in _FILES:
        file = marks_file.with_name(name) if name != FILE else marks_file
        try:
            with file.open("a", encoding="utf-8") as noted:
                noted.write(line + "\n")
        except OSError as error:
            raise BenchFault(f"{file}: cannot be written: {error.strerror}") from error


@contextmanager
def timed(kind: MarkKind, subject: str) -> Iterator[None]:
    """Note how long the ``with`` block lasts, also when it fails.

    Args:
        kind: What it is.
        subject: The server, or the reason, in words.
    """
    begun = time.monotonic()
    try:
        yield
    finally:
        note(kind, subject, time.monotonic() - begun)


def read(file: Path) -> list[Mark]:
    """Read the marks of a run.

    Args:
        file: The file; a run that noted nothing has none.

    Returns:
        The marks in the order in which they ended.

    Raises:
        BenchFault: The file cannot be read, or a line is no mark.
    """
    try:
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise BenchFault(f"{file}: cannot be read: {error}") from error
    return [_mark(file, number, line) for number, line in enumerate(lines, start=1)]


def _mark(file: Path, number: int, line: str) -> Mark:
    try:
        content = json.loads(line)
        kind, subject = MarkKind(content["kind"]), str(content["subject"])
        return Mark(kind, subject, float(content["ended"]), float(content["seconds"]))
    except (ValueError, KeyError, TypeError) as error:
        raise BenchFault(f"{file}:{number}: is no mark: {error}; expected: kind, subject, ended, seconds") from error
