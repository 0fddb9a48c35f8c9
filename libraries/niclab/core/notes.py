"""Notes of a run: JSON lines in files of its evidence, each written as soon as something happened.

Without a folder to write to, nothing is noted::

    notes.keep_in(run_dir / "evidence")
    notes.add("marks.jsonl", {"kind": "boot", "subject": "dut"})
    marks = notes.read(run_dir / "evidence" / "marks.jsonl", decode, "kind and subject")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from niclab.core.verdict import BenchFault

N = TypeVar("N")
_FOLDERS: list[Path] = []


def keep_in(folder: Path | None) -> None:
    """Write the notes of this process to a folder from now on.

    Args:
        folder: The folder, made when missing; None ends it.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    _FOLDERS[:] = [] if folder is None else [folder]


def add(name: str, note: Mapping[str, Any]) -> None:
    """Add a note to a file in the folder, if there is one.

    Args:
        name: Name of the file.
        note: Its new line.

    Raises:
        BenchFault: The file cannot be written.
    """
    for file in (folder / name for folder in _FOLDERS):
        try:
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
