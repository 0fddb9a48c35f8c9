"""The figures and charts of a run, as they are on its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from niclab.core import figures
from niclab.core.verdict import BenchFault
from niclab.report.allure.allure_results import TestRecord
from niclab.report.evidence.evidence import read_index
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER

_CHART = "image/svg+xml"


def figures_of(run_dir: Path, tests: Sequence[TestRecord]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the figures of a run, each with the test that noted it, and what keeps them from being complete.

    Args:
        run_dir: Folder of the run.
        tests: Every test of the run.
    """
    try:
        noted = figures.read(run_dir / EVIDENCE_FOLDER / figures.FILE)
    except BenchFault as fault:
        return [], [str(fault)]
    return [
        {**asdict(each), "kind": each.kind.value, "outcome": each.outcome.value, "test": _test_at(tests, each.ended)}
        for each in noted
    ], []


def evidence_of_tests(run_dir: Path) -> dict[str, list[str]]:
    """Return the files of the evidence that each test stored, by the title of the test.

    Args:
        run_dir: Folder of the run.
    """
    found: dict[str, list[str]] = {}
    try:
        for entry in read_index(run_dir / EVIDENCE_FOLDER):
            if entry.test:
                found.setdefault(entry.test, []).append(entry.file)
    except BenchFault:
        return {}  # whatever cannot be read is a reason of its own
    return found


def named_charts(run_dir: Path) -> list[str]:
    """Return the files of the charts in the evidence, in the order in which they were drawn.

    Args:
        run_dir: Folder of the run.
    """
    try:
        return [entry.file for entry in read_index(run_dir / EVIDENCE_FOLDER) if entry.mime == _CHART]
    except BenchFault:
        return []  # whatever cannot be read is a reason of its own


def charts_of(run_dir: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the SVG of each chart; one that is not there is a reason of the evidence.

    Args:
        run_dir: Folder of the run.
        names: The files.
    """
    files = {name: run_dir / EVIDENCE_FOLDER / name for name in names}
    return {name: file.read_text("utf-8", "replace") for name, file in files.items() if file.is_file()}


def _test_at(tests: Sequence[TestRecord], moment: float) -> str:
    """The test that ran at a moment, in seconds since 1970."""
    for test in tests:
        # the times of a test are cut to milliseconds
        if test.start_ms / 1000 <= moment < test.start_ms / 1000 + test.seconds + 0.001:
            return test.name.rpartition(".")[2]
    return ""
