"""Where the time of a finished run went."""

from __future__ import annotations

from pathlib import Path

from niclab.report.timing import table, timing_of


def run(run_dir: Path) -> int:
    """Print the time budget of a finished run.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: The folder is no finished run.
    """
    for line in table(timing_of(run_dir)):
        print(line)
    return 0
