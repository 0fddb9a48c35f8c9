"""The checks that belong to a run as a whole and to no test of it."""

from __future__ import annotations

from pathlib import Path

from niclab.report.allure.allure_results import TestRecord
from niclab.report.own_checks.hygiene_check import hygiene_check
from niclab.report.own_checks.last_look import last_look_check
from niclab.report.own_checks.spoiled_runs import spoiled_runs_check


def own_checks(run_dir: Path) -> list[TestRecord]:
    """Judge a run as a whole.

    Args:
        run_dir: Folder of the run.

    Returns:
        Its checks; none for a run that acquired no bench.
    """
    checks = (last_look_check(run_dir), hygiene_check(run_dir), spoiled_runs_check(run_dir))
    return [check for check in checks if check is not None]
