"""The state of the negative controls: whether the lab found every injected defect, when last tried."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.files.repository import REPOSITORY
from niclab.report import now, read_json_object, write_json
from niclab.report.evidence.runfolder import RUN_FILE

FILE = "controls.json"
_GIT_WITHIN_S = 20


def write_controls(results: Path, found: int, missed: Sequence[str]) -> None:
    """Write what the negative controls have found.

    Args:
        results: Folder of the run folders.
        found: How many found their defect.
        missed: Names of the others.

    Raises:
        BenchFault: The file cannot be written.
    """
    asked = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, timeout=_GIT_WITHIN_S, check=False
    )
    state = {"when": now(), "commit": asked.stdout.strip() or "unknown", "run": found + len(missed), "found": found}
    write_json(results / FILE, {**state, "missed": list(missed)})


def record_controls(run_dir: Path, results: Path) -> None:
    """Note in a run the state of the negative controls; nothing where they were never run.

    Args:
        run_dir: Folder of the run.
        results: Folder of the run folders.
    """
    try:
        state = read_json_object(results / FILE)
    except BenchFault:
        return
    write_json(run_dir / RUN_FILE, {**read_json_object(run_dir / RUN_FILE), "controls": state})
