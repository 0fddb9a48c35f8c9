"""Report how a finished run spent its time."""

from __future__ import annotations

from pathlib import Path

from niclab.report.spending import spending_of, tables
from niclab.report.timing import table, timing_of


def run(run_dir: Path, commands: bool) -> int:
    """Print the time budget of a finished run.

    Args:
        run_dir: Folder of the run.
        commands: Print the most frequent commands as well, and the tests and keywords that sent them.

    Raises:
        BenchFault: The folder is no finished run.
    """
    lines = table(timing_of(run_dir))
    if commands:
        lines += tables(spending_of(run_dir))
    print(*lines, sep="\n")
    return 0
