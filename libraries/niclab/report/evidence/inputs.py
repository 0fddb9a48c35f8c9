"""The inputs of a run: sheet, bench file, plan and requirements, copied into its evidence.

The copies are hashed with the evidence and are what the certificate is judged by, so a certificate can be checked
when the files of the lab have changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import yaml

from niclab.core.verdict import BenchFault
from niclab.files.document import shown_file
from niclab.files.nodes import compose, text_of
from niclab.report import write_atomically
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER, record_inputs

FOLDER = "inputs"
_Entry = tuple[yaml.Node, yaml.Node, bool]
"""An entry of a section: its first node and its last one, and whether it is about the card of the run."""


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
        write_atomically(folder_of(run_dir, kind) / file.name, content_to_keep(kind, file, card))
    record_inputs(run_dir, {kind.value: shown_file(file.resolve()) for kind, file in files.items()})


def content_to_keep(kind: Input, file: Path, card: str) -> bytes:
    """Return the content of the copy of a file.

    Args:
        kind: Which file.
        file: The file.
        card: Name of the card sheet.

    Raises:
        BenchFault: The file cannot be read.
    """
    if kind is Input.BENCH:
        name = shown_file(file)
        return without_other_cards(text_of(file, name), card, name).encode()
    try:
        return file.read_bytes()
    except OSError as error:
        raise BenchFault(f"{file}: cannot be read: {error.strerror}") from error


def without_other_cards(text: str, card: str, name: str) -> str:
    """Return a bench file without what is about other cards: a run is handed to the vendor of one.

    Comments between the entries of ``cards`` and ``deviations`` are left out as well: they may be about any card.

    Args:
        text: The file.
        card: Name of the card sheet.
        name: The file as messages show it.

    Raises:
        BenchFault: The file is no YAML.
    """
    for section in ("cards", "deviations"):
        _, top = compose(text, name)
        for key, value in top.value:
            if key.value == section and isinstance(value, yaml.CollectionNode) and value.value:
                text = _with_entries(text, key, value, _entries(value, card))
    return text


def _entries(section: yaml.CollectionNode, card: str) -> list[_Entry]:
    if isinstance(section, yaml.MappingNode):
        return [(key, value, key.value == card) for key, value in section.value]
    return [(each, each, ("card", card) in _texts(each)) for each in section.value]


def _texts(node: yaml.Node) -> list[tuple[object, object]]:
    return [(key.value, value.value) for key, value in node.value] if isinstance(node, yaml.MappingNode) else []


def _with_entries(text: str, key: yaml.Node, section: yaml.CollectionNode, entries: Sequence[_Entry]) -> str:
    """The file with the wanted entries of a section alone; without its key where none is left."""
    if section.flow_style:
        spans = [text[first.start_mark.index : last.end_mark.index] for first, last, is_wanted in entries if is_wanted]
        return f"{text[: section.start_mark.index + 1]}{', '.join(spans)}{text[section.end_mark.index - 1 :]}"
    lines = text.splitlines(keepends=True)  # at the line breaks of YAML
    at, kept = key.end_mark.line + 1, list[str]()
    for _, last, is_wanted in entries:
        while _is_comment(lines[at]):
            at += 1
        end = _last_line(last) + 1
        kept += lines[at:end] * is_wanted
        at = end
    while at < len(lines) and _is_comment(lines[at]) and lines[at][: key.start_mark.column + 1].isspace():
        at += 1
    head = lines[: key.end_mark.line + 1] if kept else lines[: key.start_mark.line]
    return "".join([*head, *kept, *lines[at:]])


def _is_comment(line: str) -> bool:
    """Is it a comment, or blank?"""
    return line.strip()[:1] in ("", "#")


def _last_line(node: yaml.Node) -> int:
    """The last line of a value; the mark of a section or list in lines is behind the comments that follow."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(node, yaml.MappingNode) else last)
    is_behind = node.end_mark.column == 0 and node.end_mark.line > node.start_mark.line
    return node.end_mark.line - is_behind


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
