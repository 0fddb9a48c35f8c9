"""The certainty of a verdict from repeated measurements; see :mod:`niclab.stats`."""

from __future__ import annotations

LEVEL = 0.95
"""Certainty of one question."""
FAMILY = 50
"""House rule: more figures than a certificate judges. Any falsely MISSED among them: at most (1 - LEVEL) / 2."""
