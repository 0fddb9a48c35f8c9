"""The exposure of a card in a run: frames compared, links that failed, time under load.

Each note is a line of ``exposure.jsonl`` in the evidence of the run; the certificate says from it what the run would
have missed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Exposed:
    """The sums of a run.

    Attributes:
        sums: Of each kind.
        at: Of each kind at each place, such as ``dut.p0 sends``.
    """

    sums: Counter[Exposure] = field(default_factory=Counter)
    at: Counter[tuple[Exposure, str]] = field(default_factory=Counter)


def read(file: Path) -> Exposed:
    """Read the sums of a run.

    Args:
        file: The file; a run that noted nothing has none.

    Raises:
        BenchFault: The file cannot be read, or a line is no note.
    """
    found = Exposed()
    for kind, amount, at in notes.read(file, _noted, "kind and amount"):
        found.sums[kind] += amount
        if at:
            found.at[kind, at] += amount
    return found


def _noted(content: Any) -> tuple[Exposure, Any, str]:
    return Exposure(content["kind"]), content["amount"] + 0, content.get("at", "")
