"""What a run was asked to do: sheet, bench file, plan and requirements, copied into its evidence.

The copies are hashed with the evidence and are what the certificate is judged by, so a certificate can be checked
when the files of the lab have changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.files.yaml import shown_file
from niclab.report import write_atomically
from niclab.report.runfolder import EVIDENCE_FOLDER, record_inputs

FOLDER = "inputs"
_KEY = re.compile(r"( +)[\"']?([a-z][a-z0-9_-]*)[\"']?:")


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
    """Return a bench file without what it says of other cards: a run is handed to the vendor of one.

    Args:
        text: The file, whose sections ``cards`` and ``deviations`` have an entry a line, or several lines each.
        card: Name of the card sheet.
    """
    named = re.compile(rf"\bcard: *[\"']?{re.escape(card)}[\"']?(?=[\s,}}]|$)")
    text = _with_entries(text, "deviations", lambda entry: named.search(entry) is not None)
    return _with_entries(text, "cards", lambda entry: (key := _KEY.match(entry)) is not None and key[2] == card)


def _with_entries(text: str, section: str, wanted: Callable[[str], bool]) -> str:
    """The file with the wanted entries of a section alone, and without the section where there is none."""
    head, mark, rest = text.partition(f"\n{section}:\n")
    if not mark:
        return text
    lines = rest.splitlines(keepends=True)
    end = next((n for n, line in enumerate(lines) if line[:1] not in (" ", "-", "#", "\n")), len(lines))
    entries, indent = list[str](), None
    for line in lines[:end]:
        depth = None if line.lstrip()[:1] in ("", "#") else len(line) - len(line.lstrip())
        indent = depth if indent is None else indent
        if depth is not None and depth == indent:
            entries.append("")
        if entries:
            entries[-1] += line
    kept = "".join(entry for entry in entries if wanted(entry))
    return f"{head}{mark if kept else chr(10)}{kept}{''.join(lines[end:])}"


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
        raise BenchFault(f"{folder_of(run_dir, kind)}: holds {len(found)} files; expected: the copy of one")
    return found[0]
