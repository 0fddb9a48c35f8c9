"""Helpers shared by the readers: numbered lines, whole numbers, and typed access to JSON.

Everything here raises :class:`~niclab.hosts.errors.ReadError` and nothing else, whatever the text. Regular expressions
of the readers are linear: no nested repetition, numbers bounded in length.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import NoReturn

from niclab.hosts.errors import ReadError, unreadable

Line = tuple[int, str]
"""Number (from 1) and text of a line."""

_WHOLE = re.compile(r"[0-9]{1,20}")


def numbered(text: str) -> list[tuple[int, str]]:
    """``(line number from 1, line)`` of every line, without line ends.

    Only a line feed ends a line (``str.splitlines`` would also split at form feeds and other characters that stand
    inside kernel messages and counter names).
    """
    return [(number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), start=1)]


def filled(text: str) -> list[Line]:
    """Return the numbered lines that hold more than blanks; tools print empty ones between their groups."""
    return [(number, line) for number, line in numbered(text) if line.strip()]


def whole_number(kind: str, where: str, text: str, what: str) -> int:
    """A whole number >= 0 of at most 20 digits (the longest 64-bit counter)."""
    if not _WHOLE.fullmatch(text):
        raise unreadable(kind, where, text, f"{what}: a whole number")
    return int(text)


def load_json(kind: str, text: str) -> JsonNode:
    """The JSON document ``text``; NaN and infinity are refused, they are no measurements.

    So are two values of one name.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=once_each)
    except (ValueError, RecursionError) as error:
        raise unreadable(kind, "JSON", text, f"one JSON document ({error})") from error
    return JsonNode(kind, "", value)


def once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of a JSON document; a ValueError when one name has two values."""
    values: dict[str, object] = {}
    for name, value in pairs:
        if name in values and values[name] != value:
            raise ValueError(f"{name!r} has two values")
        values[name] = value
    return values


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


@dataclass(frozen=True)
class JsonNode:
    """A JSON value that knows where it is, so that an error can say it."""

    kind: str
    path: str
    value: object

    def child(self, name: str) -> JsonNode:
        """Member ``name``, which must be there and not null."""
        node = self.optional(name)
        if node is None:
            raise unreadable(self.kind, self._child_path(name), None, "a value, found none")
        return node

    def at(self, *names: str) -> JsonNode:
        """``child`` several times."""
        node = self
        for name in names:
            node = node.child(name)
        return node

    def optional(self, name: str) -> JsonNode | None:
        """Member ``name``; None when it is missing or null."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        value = self.value.get(name)
        return None if value is None else JsonNode(self.kind, self._child_path(name), value)

    def items(self) -> list[JsonNode]:
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        return [JsonNode(self.kind, f"{self.path}[{index}]", value) for index, value in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.wrong("text")
        return self.value

    def count(self) -> int:
        """A whole number from 0 to 2^64 - 1."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not 0 <= self.value < 2**64:
            raise self.wrong("a whole number from 0 to 2^64 - 1")
        return self.value

    def number(self) -> float:
        """A finite number >= 0."""
        value = self.value
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.wrong("a number")
        if not 0 <= value < 2**64 or not math.isfinite(value):
            raise self.wrong("a number from 0 to 2^64 - 1")
        return float(value)

    def wrong(self, expected: str) -> ReadError:
        """The error for a value that is something else than ``expected``."""
        return unreadable(self.kind, self.path or "top level", self.value, expected)

    def _child_path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name
