"""Notes: JSON lines in a file, each written as soon as something happened.

For example::

    notes.add(evidence / "marks.jsonl", {"kind": "boot", "subject": "dut"})
    marks = notes.read(evidence / "marks.jsonl", decode, "kind and subject")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from niclab.core.verdict import BenchFault

N = TypeVar("N")


def add(file: Path, note: Mapping[str, Any]) -> None:
    """Add a note to a file.

    Args:
        file: The file, made with its folder when missing.
        note: Its new line.

    Raises:
        BenchFault: The file cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(note, ensure_ascii=False) + "\n")
    except OSError as error:
        raise BenchFault(f"{file}: cannot be written: {error.strerror}") from error


def read(file: Path, decode: Callable[[Any], N], fields: str) -> list[N]:
    """Read the notes in a file.

    Args:
        file: The file; a run that noted nothing has none.
        decode: Makes a note of the content of a line; any ValueError, KeyError or TypeError means that it is none.
        fields: What a line must have, in words.

    Returns:
        The notes in the order in which they were added.

    Raises:
        BenchFault: The file cannot be read, or a line is no note.
    """
    try:
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise BenchFault(f"{file}: cannot be read: {error}") from error
    return [_decoded(f"{file}:{number}", line, decode, fields) for number, line in enumerate(lines, start=1)]


def _decoded(place: str, line: str, decode: Callable[[Any], N], fields: str) -> N:
    try:
        return decode(json.loads(line))
    except (ValueError, KeyError, TypeError) as error:
        raise BenchFault(f"{place}: is no note: {error}; expected {fields}") from error
