"""The profile: the extent of a run."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Profile(Enum):
    """The extent of a run: ``quick`` leaves out tests and measures in short runs."""

    QUICK = "quick"
    FULL = "full"


LEFT_OUT: Mapping[Profile, str | None] = {Profile.QUICK: "slow", Profile.FULL: None}
"""The tag of the tests that a profile leaves out."""
