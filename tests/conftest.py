"""How many cases the property tests try: ``make test`` always the same ones, ``make test-full`` new ones each time.

What a search finds is a defect whenever it is found; but whether a change may land must not hang on the dice.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from niclab.core import marks

settings.register_profile("same", deadline=None, derandomize=True, database=None)
settings.register_profile(
    "search", deadline=None, max_examples=1000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def _no_marks_of_another_test() -> Iterator[None]:
    """A run that a test has left open must not write into the next one."""
    yield
    marks.keep_in(None)
