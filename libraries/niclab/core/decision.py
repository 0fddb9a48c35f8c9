"""The answer to a question of a measurement."""

from __future__ import annotations

from enum import StrEnum


class Decision(StrEnum):
    """Whether the true value is as expected; UNDECIDED: the runs cannot tell."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"
