"""The answer to a question of a measurement, and how sure it is; see :mod:`niclab.stats`."""

from __future__ import annotations

from enum import StrEnum

LEVEL = 0.95
"""The confidence of one question."""
FAMILY = 50
"""Assumption: more figures than a certificate judges. Any falsely MISSED among them: at most (1 - LEVEL) / 2."""


class Decision(StrEnum):
    """The answer: the true value is as expected, or not; UNDECIDED: the runs cannot tell."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"
