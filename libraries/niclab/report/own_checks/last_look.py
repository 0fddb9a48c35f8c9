"""The reports of both kernels after the last test of a run, as a separate check on the certificate.

No test can be named for it, so that it fails none; the run is not certified all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.report import read_json_object, write_json
from niclab.report.allure.allure_results import TestRecord, check_of_run
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER, is_continued

RESULT = "last-look.json"
"""File of the evidence."""
FORMAT = 1
CHECK = "Last look at both kernels"


def keep_last_look(evidence: Path, found: Sequence[Exception], earlier: Sequence[str], *, over: bool) -> None:
    """Write what was found after the last test.

    Args:
        evidence: The evidence folder of the run.
        found: What was found; the name of the class is the verdict.
        earlier: What :func:`earlier_findings` returned when the run began.
        over: The last look was taken; False when the run begins.

    Raises:
        BenchFault: It cannot be written.
    """
    said = [*earlier, *(f"{type(each).__name__}: {each}" for each in found)]
    write_json(evidence / RESULT, {"format": FORMAT, "over": over, "findings": said})


def earlier_findings(run_dir: Path) -> list[str]:
    """Return what was found after the last test of the killed part of a run; nothing where no run is continued.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: It cannot be read.
    """
    file = run_dir / EVIDENCE_FOLDER / RESULT
    return _read(file)[1] if is_continued(run_dir) and file.exists() else []


def last_look_check(run_dir: Path) -> TestRecord | None:
    """Judge what both kernels reported after the last test; None for a run that never looked at them.

    Args:
        run_dir: Folder of the run.

    Returns:
        The check: passed, or with the worst verdict of all findings and the words of each.
    """
    file = run_dir / EVIDENCE_FOLDER / RESULT
    if not file.exists():
        return None
    found = list[str]()
    try:
        is_over, found = _read(file)
        if not is_over:
            raise BenchFault("the run ended before its last look; expected a look after every change was undone")
    except BenchFault as fault:
        found = [*found, f"{BenchFault.__name__}: both kernels were not judged at the end: {fault}"]
    return check_of_run(CHECK, found)


def _read(file: Path) -> tuple[bool, list[str]]:
    """Tell whether the last look was taken, and return its findings."""
    result = read_json_object(file)
    try:
        if result["format"] != FORMAT:
            raise BenchFault(f"{file}: format {result['format']!r}; expected {FORMAT}")
        return result["over"] is True, [str(each) for each in result["findings"]]
    except (KeyError, TypeError) as error:
        raise BenchFault(f"{file}: is no result of a look: {error}; expected over and findings") from error
