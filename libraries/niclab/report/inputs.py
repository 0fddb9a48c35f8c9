"""What a run was asked to do: sheet, bench file, plan and requirements, copied into its evidence.

The copies are hashed with the evidence and are what the certificate is judged by, so a certificate can be checked
when the files of the lab have changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.files.yaml import shown_file
from niclab.report import write_atomically
from niclab.report.runfolder import EVIDENCE_FOLDER, record_inputs

FOLDER = "inputs"


class Input(StrEnum):
    """A file that decides what is asked of the card."""

    SHEET = "card"
    BENCH = "bench"
    PLAN = "plan"
    REQUIREMENTS = "requirements"


def keep_inputs(run_dir: Path, files: Mapping[Input, Path]) -> None:
    """Copy the files that decide what is asked into the evidence, and note where they were.

    Secrets are masked when the evidence is sealed.

    Args:
        run_dir: Folder of the run.
        files: The files.

    Raises:
        BenchFault: A file cannot be read or written.
    """
    for kind, file in files.items():
        try:
            content = file.read_bytes()
        except OSError as error:
            raise BenchFault(f"{file}: cannot be read: {error.strerror}") from error
        write_atomically(folder_of(run_dir, kind) / file.name, content)
    record_inputs(run_dir, {kind.value: shown_file(file.resolve()) for kind, file in files.items()})


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
