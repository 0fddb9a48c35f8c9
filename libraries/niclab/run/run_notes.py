"""The notes of a run: what happens while it goes on, what it measures, and what the card was exposed to."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

from niclab.core import exposure, figures, marks, notes
from niclab.core.exposure import Exposure
from niclab.core.figures import NotedFigure
from niclab.core.marks import Mark, MarkKind
from niclab.core.wait import WAITS


class RunNotes:
    """Writes the notes of one run, and keeps the figures of its running test so that the test can say them.

    Every method that notes raises BenchFault where the file cannot be written.

    Args:
        folder: The evidence of the run, made when something is noted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._figures: list[NotedFigure] = []

    def add(self, name: str, note: Mapping[str, Any]) -> None:
        """Add a line to a file of notes.

        Args:
            name: Name of the file.
            note: The line.
        """
        notes.add(self.folder / name, note)

    def mark(self, kind: MarkKind, subject: str, seconds: float = 0.0) -> None:
        """Note what has just ended.

        Args:
            kind: What it was.
            subject: The server, or the reason, in words.
            seconds: How long it lasted.
        """
        self.add(marks.FILE, asdict(Mark(kind, subject, round(time.time(), 3), round(seconds, 3))))

    @contextmanager
    def timed(self, kind: MarkKind, subject: str) -> Iterator[None]:
        """Note how long the ``with`` block lasts, also when it fails.

        Args:
            kind: What it is.
            subject: The server, or the reason, in words.
        """
        begun = time.monotonic()
        try:
            yield
        finally:
            self.mark(kind, subject, time.monotonic() - begun)

    @contextmanager
    def of_waits(self) -> Iterator[None]:
        """Note every wait of this process that ends inside the ``with`` block."""
        handler = _Waits(self)
        WAITS.addHandler(handler)
        try:
            yield
        finally:
            WAITS.removeHandler(handler)

    def figure(self, figure: NotedFigure) -> None:
        """Note a figure.

        Args:
            figure: What was found; its time is set here.
        """
        timed = replace(figure, ended=round(time.time(), 3))
        self._figures.append(timed)
        self.add(figures.FILE, asdict(timed))

    def take_figures(self) -> list[NotedFigure]:
        """Return the figures noted since the last call."""
        taken, self._figures = self._figures, []
        return taken

    def exposed(self, kind: Exposure, amount: float, at: str = "") -> None:
        """Note that the card was exposed to something.

        Args:
            kind: To what.
            amount: How much, or how often.
            at: The part of the card, such as ``dut.p0 sends``; empty where it is the whole.
        """
        self.add(exposure.FILE, {"kind": kind.value, "amount": amount} | ({"at": at} if at else {}))


class _Waits(logging.Handler):
    """Takes what :mod:`niclab.core.wait` logs. An error of a note ends the wait's caller, as that of any other note."""

    def __init__(self, notes: RunNotes) -> None:
        super().__init__()
        self._notes = notes

    def emit(self, record: logging.LogRecord) -> None:
        kind, subject, seconds = cast(tuple[MarkKind, str, float], record.args)
        self._notes.mark(kind, subject, seconds)
