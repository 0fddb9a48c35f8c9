"""The answer to a question of a measurement, and how sure it is; see :mod:`niclab.stats`."""

from __future__ import annotations

from enum import StrEnum

LEVEL = 0.95
"""Of one question."""
FAMILY = 50
"""House rule: more figures than a certificate judges. Any falsely MISSED among them: at most (1 - LEVEL) / 2."""


class Decision(StrEnum):
    """Whether the true value is as expected; UNDECIDED: the runs cannot tell."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"
