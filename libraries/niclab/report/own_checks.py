"""The checks that belong to a run as a whole and to no test of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from niclab.report.hygiene import hygiene_check
from niclab.report.last_look import last_look_check
from niclab.report.results import TestRecord
from niclab.report.verdicts import Verdict

LEFT_CHANGED = 3
"""Exit status of a run that left its bench changed and found no fault of the card."""


def own_checks(run_dir: Path) -> list[TestRecord]:
    """Judge a run as a whole.

    Args:
        run_dir: Folder of the run.

    Returns:
        Its checks; none for a run that acquired no bench.
    """
    return [check for check in (last_look_check(run_dir), hygiene_check(run_dir)) if check is not None]


def exit_status(run_dir: Path, tests: Iterable[TestRecord]) -> int:
    """Return the exit status of a run that is not certified.

    Args:
        run_dir: Folder of the run.
        tests: Its tests.

    Returns:
        3 when the bench was left changed and nothing found the card wrong, else 1.
    """
    hygiene = hygiene_check(run_dir)
    if hygiene is None or hygiene.verdict is Verdict.PASS:
        return 1
    judged = [*tests, *own_checks(run_dir)]
    return 1 if any(test.verdict is Verdict.CARD_FAILURE for test in judged) else LEFT_CHANGED
