"""The suites of the repository, parsed once for all tests that look at them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from robot import running  # type: ignore[import-untyped]  # the package has no marker

SUITES = Path(__file__).resolve().parents[1] / "suites"


@cache
def parsed() -> running.TestSuite:
    """All suites, which nobody may change."""
    return running.TestSuite.from_file_system(SUITES)


def suites() -> running.TestSuite:
    """All suites, to be changed."""
    return parsed().deepcopy()
