"""The checks that belong to a run as a whole and to no test of it."""

from __future__ import annotations

from pathlib import Path

from niclab.report.allure.allure_results import TestRecord
from niclab.report.own_checks.carrier_check import carrier_check
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
    judges = (last_look_check, carrier_check, hygiene_check, spoiled_runs_check)
    checks = [judge(run_dir) for judge in judges]
    return [check for check in checks if check is not None]
