"""The traces of a run on its bench, as a check of the lab's own on the certificate."""

from __future__ import annotations

from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.report import read_json_object
from niclab.report.allure.allure_results import TestRecord
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER
from niclab.report.verdicts import Verdict

BEFORE, AFTER, RESULT = "state-before.json", "state-after.json", "hygiene.json"
"""Files of the evidence."""
FORMAT = 1
CHECK = "Bench hygiene"
_NOT_COMPARED = "the state after the run was not compared: the run ended before; expected a comparison at its end"


def hygiene_check(run_dir: Path) -> TestRecord | None:
    """Judge what a run left behind; None for a run that took no state.

    Args:
        run_dir: Folder of the run.

    Returns:
        A check of the lab: passed, or a bench fault with every leftover.
    """
    folder = run_dir / EVIDENCE_FOLDER
    if not any((folder / name).exists() for name in (BEFORE, RESULT)):
        return None
    try:
        problems = _problems(folder / RESULT)
    except BenchFault as fault:
        problems = [f"the state after the run was not compared: {fault}"]
    verdict = Verdict.BENCH_FAULT if problems else Verdict.PASS
    message = "\n".join(f"{BenchFault.__name__}: {each}" for each in problems[:1])
    message = "\n".join([message, *problems[1:]]) if problems else ""
    return TestRecord("", CHECK, verdict, message, (), 0, 0.0)


def _problems(file: Path) -> list[str]:
    result = read_json_object(file)
    try:
        if result["format"] != FORMAT:
            raise BenchFault(f"{file}: format {result['format']!r}; expected {FORMAT}")
        missing = [] if result["over"] is True else [_NOT_COMPARED]
        return [*missing, *map(str, result["faults"]), *(str(each["text"]) for each in result["findings"])]
    except (KeyError, TypeError) as error:
        raise BenchFault(f"{file}: is no result of a comparison: {error}; expected faults and findings") from error
