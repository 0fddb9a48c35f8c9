"""The state of the negative controls: whether the lab found every injected defect, when last tried."""

from __future__ import annotations

from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.report import read_json_object, write_json
from niclab.report.evidence.runfolder import RUN_FILE

FILE = "controls.json"


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
