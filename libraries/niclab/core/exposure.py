"""The exposure of a card in a run: frames compared, links that failed, time under load.

Each note is a line of ``exposure.jsonl`` in the evidence of the run; the certificate says from it what the run would
have missed.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Any

from niclab.core import notes

FILE = "exposure.jsonl"


class Exposure(StrEnum):
    """The unit of exposure."""

    FRAMES = "frames compared"
    LINK_FAILURES = "link failures"
    LOADED_SECONDS = "seconds under load"


def note(kind: Exposure, amount: float) -> None:
    """Note that a card was exposed to something.

    Args:
        kind: To what.
        amount: How much, or how often.

    Raises:
        BenchFault: The file cannot be written.
    """
    notes.add(FILE, {"kind": kind.value, "amount": amount})


def read(file: Path) -> Counter[Exposure]:
    """Read the sums of a run.

    Args:
        file: The file; a run that noted nothing has none.

    Raises:
        BenchFault: The file cannot be read, or a line is no note.
    """
    sums = Counter[Exposure]()
    for noted in notes.read(file, _noted, "kind and amount"):
        sums.update(noted)
    return sums


def _noted(content: Any) -> Counter[Exposure]:
    return Counter({Exposure(content["kind"]): content["amount"] + 0})
