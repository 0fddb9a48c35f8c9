"""The words of a check that ends with a verdict."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def words_of(verdict: type[Exception], check: Callable[[], object]) -> str:
    """Let a check end with a verdict, and return its words."""
    with pytest.raises(verdict) as caught:
        check()
    return str(caught.value)
