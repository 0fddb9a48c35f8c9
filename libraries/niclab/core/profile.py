"""How much is tested."""

from __future__ import annotations

from enum import Enum


class Profile(Enum):
    """How much is tested: ``quick`` leaves out what is tagged ``slow`` and measures in short runs."""

    QUICK = "quick"
    FULL = "full"
