"""Records of a card that does TCP itself (TOE)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Placing:
    """Direct placement of received data. ``least_bytes``: a read of fewer has nothing placed; None: not shown."""

    on: bool
    least_bytes: int | None
