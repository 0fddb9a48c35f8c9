"""The inputs of a run: sheet, bench file, plan and requirements, copied into its evidence.

The copies are hashed with the evidence and are what the certificate is judged by, so a certificate can be checked
when the files of the lab have changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.files.document import shown_file
from niclab.report import write_atomically
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER, record_inputs

FOLDER = "inputs"
_KEY = re.compile(r"( +)[\"']?([a-z][a-z0-9_-]*)[\"']?:")
_ITEM = re.compile(r"( *)- card: ([a-z0-9_-]+)\s*$")
"""The first line of an entry of a list that is about a card."""


class Input(StrEnum):
    """A file that decides what is asked of the card."""

    SHEET = "card"
    BENCH = "bench"
    PLAN = "plan"
    REQUIREMENTS = "requirements"


def keep_inputs(run_dir: Path, files: Mapping[Input, Path], card: str) -> None:
    """Copy the files that decide what is asked into the evidence, and note where they were.

    Secrets are masked when the evidence is sealed.

    Args:
        run_dir: Folder of the run.
        files: The files.
        card: Name of the card sheet: of the bench file, what is about other cards is left out.

    Raises:
        BenchFault: A file cannot be read or written.
    """
    for kind, file in files.items():
        try:
            content = file.read_bytes()
        except OSError as error:
            raise BenchFault(f"{file}: cannot be read: {error.strerror}") from error
        if kind is Input.BENCH:
            content = without_other_cards(content.decode("utf-8", "replace"), card).encode()
        write_atomically(folder_of(run_dir, kind) / file.name, content)
    record_inputs(run_dir, {kind.value: shown_file(file.resolve()) for kind, file in files.items()})


def without_other_cards(text: str, card: str) -> str:
    """Return a bench file without what is about other cards: a run is handed to the vendor of one.

    Args:
        text: The file, whose section ``cards`` has one key in a line, and whose ``deviations`` begin with ``card``.
        card: Name of the card sheet.
    """
    return _without_others(_without_others(text, "cards", _KEY, card), "deviations", _ITEM, card)


def _without_others(text: str, section: str, begins: re.Pattern[str], card: str) -> str:
    """Leave out the entries of a section that begin with the name of another card."""
    head, mark, rest = text.partition(f"\n{section}:\n")
    if not mark:
        return text
    lines = rest.splitlines(keepends=True)
    end = next((n for n, line in enumerate(lines) if line[:1] not in (" ", "#", "\n")), len(lines))
    kept, indent, wanted = [], None, False
    for line in lines[:end]:
        if found := begins.match(line):
            indent = indent if indent is not None else len(found[1])
            if len(found[1]) == indent:
                wanted = found[2] == card
        kept += [line] * wanted
    content = f"{mark}{''.join(kept)}" if kept else "\n"
    return f"{head}{content}{''.join(lines[end:])}"


def folder_of(run_dir: Path, kind: Input) -> Path:
    """Return the folder of the copies of one kind.

    Args:
        run_dir: Folder of the run.
        kind: Which file.
    """
    return run_dir / EVIDENCE_FOLDER / FOLDER / kind.value


def kept(run_dir: Path, kind: Input) -> Path:
    """Return the copy of a file in the evidence.

    Args:
        run_dir: Folder of the run.
        kind: Which file.

    Raises:
        BenchFault: There is not exactly one.
    """
    found = sorted(folder_of(run_dir, kind).glob("*"))
    if len(found) != 1:
        raise BenchFault(f"{folder_of(run_dir, kind)}: holds {len(found)} files; expected the copy of one")
    return found[0]
