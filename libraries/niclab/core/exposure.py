"""The exposure of a card in a run: frames compared, links that failed, time under load.

Each note is a line of ``exposure.jsonl`` next to the marks; the certificate says from it what the run would have
missed.
"""

from __future__ import annotations

import json
from collections import Counter
from enum import StrEnum
from pathlib import Path

from niclab.core import marks
from niclab.core.verdict import BenchFault

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
    marks.append(FILE, json.dumps({"kind": kind.value, "amount": amount}))


def read(file: Path) -> Counter[Exposure]:
    """Read the sums of a run.

    Args:
        file: The file; a run that noted nothing has none.

    Raises:
        BenchFault: The file cannot be read, or a line is no note.
    """
    sums = Counter[Exposure]()
    try:
        for line in file.read_text("utf-8").splitlines() if file.exists() else []:
            content = json.loads(line)
            sums[Exposure(content["kind"])] += content["amount"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchFault(f"{file}: cannot be read: {error}; expected: kind and amount on each line") from error
    return sums
