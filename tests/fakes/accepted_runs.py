"""Figures of a run that are accepted as those of earlier days."""

from __future__ import annotations

from pathlib import Path

from niclab.report.evidence.runfolder import finish_run, new_run
from niclab.run.run import Run
from niclab.stats import baselines, measurements
from niclab.stats.baselines import Accepting, BaselineStore


def accept_day(taken: Run, day: int) -> None:
    """Accept what the run has measured as figures of the ``day``-th of a month; the run forgets them with the first."""
    accept_measured(taken.run_dir, day)


def accept_measured(run_dir: Path, day: int) -> None:
    """Accept what the run in a folder has measured, in the same way."""
    folder = run_dir.parent
    kept, measured_now = folder / "measured.json", run_dir / measurements.FILE
    if measured_now.exists():
        measured_now.rename(kept)
    earlier = new_run(folder / "earlier", "intel-82574l", "virtual", repository=folder)
    for each in measurements.load(kept, measurements.Measurements).measurements:
        measurements.add(earlier, each.model_copy(update={"taken": f"2026-11-{day:02}T10:00:00+00:00"}))
    finish_run(earlier, 0)
    BaselineStore(folder / baselines.FOLDER).accept(earlier, Accepting.ANOTHER_DAY)
