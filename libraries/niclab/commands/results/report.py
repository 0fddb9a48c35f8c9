"""The Allure report of a run, apart from its verdict: a report that cannot be made is a warning."""

from __future__ import annotations

from pathlib import Path

from niclab.core.verdict import BenchFault
from niclab.report import warn
from niclab.report.allure import allure, allure_tools
from niclab.report.certificate import certificate
from niclab.report.evidence.runfolder import ALLURE_RESULTS_FOLDER, read_run


def look_for_tools() -> allure_tools.Tools | None:
    """Find the report tools; print a warning when they are missing."""
    try:
        return allure_tools.find()
    except BenchFault as fault:
        warn(f"this run will have no Allure report: {fault}")
        return None


def try_report(run_dir: Path, found: allure_tools.Tools | None) -> None:
    """Make the report of a finished run; print a warning when it cannot be made.

    Args:
        run_dir: Folder of the run.
        found: The report tools; None when they are missing.
    """
    try:
        if found is None:
            raise BenchFault("the report tools are missing")
        make_report(run_dir, found)
    except (BenchFault, OSError) as problem:
        warn(f"no Allure report: {problem}\nmake it later with: niclab report {run_dir}")


def make_report(run_dir: Path, found: allure_tools.Tools) -> Path:
    """Make the report of a run and return the path of its page; the certificate then covers it.

    Args:
        run_dir: Folder of the run.
        found: The report tools.

    Raises:
        BenchFault: When the run has no results, the report cannot be made, or the run differs from its certificate.
    """
    results = run_dir / ALLURE_RESULTS_FOLDER
    page = allure.generate(results, run_dir / allure.REPORT_FOLDER, read_run(run_dir), found)
    certificate.cover_report(run_dir)
    return page


def run(run_dir: Path) -> int:
    """Make the report of a run again, or for the first time; tools that are missing are installed.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: When the folder is no run, a tool cannot be installed, or the report cannot be made.
    """
    read_run(run_dir)
    print(make_report(run_dir, allure_tools.install()))
    return 0
