"""A table of odd answers: what a peer says, what it is asked, and how that must end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from niclab.core.verdict import BenchFault, NotApplicable

LONGEST_MESSAGE = 1200


@dataclass(frozen=True)
class Fault:
    """An ending in a verdict of that very class, whose message has these words (a regular expression)."""

    kind: type[Exception]
    words: str


@dataclass(frozen=True)
class Odd:
    """A row. ``says`` bends the fake peer, ``asked`` of the client is what it returns, or the fault that it raises."""

    what: str
    says: Callable[[Any], object]
    asked: Callable[[Any], object]
    ends: object


def rows(table: list[Odd]) -> pytest.MarkDecorator:
    """One test for each row of the table."""
    return pytest.mark.parametrize("row", table, ids=[row.what for row in table])


def check(row: Odd, peer: object, client: object, name: str) -> None:
    """Ask, and compare. A fault names the peer first, in one readable line that is not too long."""
    row.says(peer)
    if not isinstance(row.ends, Fault):
        assert row.asked(client) == row.ends
        return
    with pytest.raises((BenchFault, NotApplicable), match=row.ends.words) as caught:
        row.asked(client)
    assert type(caught.value) is row.ends.kind
    message = str(caught.value)
    assert message.startswith(name)
    assert len(message) < LONGEST_MESSAGE
    assert all(letter.isprintable() or letter == "\n" for letter in message), message
