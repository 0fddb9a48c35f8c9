"""The probable cost of a run, before it starts: boots of both servers, and its duration."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from niclab.bench.records import Bench, Role
from niclab.core.verdict import BenchFault
from niclab.report.evidence.runfolder import RUN_FILE, read_run
from niclab.report.timing import Timing, timing_of

RUNS_LOOKED_AT = 5
"""So many of the newest runs are the history: the lab and its bench change."""


@dataclass(frozen=True)
class Forecast:
    """The forecast of a run.

    ``ordered``: how many boots of each server the tests order at most; one that is not applicable orders none.
    ``within_s``: how long a boot may take by the bench file. ``earlier``: folders and time budgets of
    earlier runs, newest first.
    """

    tests: int
    ordered: Mapping[Role, int]
    within_s: Mapping[Role, float]
    earlier: Mapping[Path, Timing]

    def lines(self) -> list[str]:
        """Return the forecast as sentences."""
        boots = ", ".join(
            f"{role.value} at most {self.ordered.get(role, 0)} (each within {self.within_s[role]:g} s)" for role in Role
        )
        return [f"{self.tests} tests; boots: {boots}", self._duration()]

    def _duration(self) -> str:
        if self.usual is None:
            return "duration: unknown; no finished run of this card, bench and plan"
        usual = self.earlier[self.usual]
        boots = ", ".join(f"{server} {count}" for server, count in usual.boots.items()) or "none noted"
        count = len(self.earlier)
        about = f"duration: about {usual.wall_s / 60:.0f} min by {count} earlier run{'s' * (count != 1)}"
        return f"{about}; boots then: {boots}"

    @property
    def usual(self) -> Path | None:
        """The earlier run of middle duration: one that a broken bench cut short, or a slow day, says little."""
        by_time = sorted(self.earlier, key=lambda folder: self.earlier[folder].wall_s)
        return by_time[len(by_time) // 2] if by_time else None


def forecast(bench: Bench, card: str, plan: str, results: Path, tests: int, ordered: Mapping[Role, int]) -> Forecast:
    """Say what a run will probably cost.

    Args:
        bench: The bench.
        card: Name of the card sheet.
        plan: Name of the plan.
        results: Folder of the run folders: the history.
        tests: How many tests are run.
        ordered: How many boots of each server the tests order at most.
    """
    within_s = {role: float(bench.server(role).boot.ready_within_s) for role in Role}
    return Forecast(tests, ordered, within_s, earlier_runs(bench.name, card, plan, results))


def earlier_runs(bench: str, card: str, plan: str, results: Path) -> dict[Path, Timing]:
    """Return folders and time budgets of the newest finished runs of a card on a bench by a plan.

    Args:
        bench: Name of the bench.
        card: Name of the card sheet.
        plan: Name of the plan.
        results: Folder of the run folders.
    """
    found: dict[Path, Timing] = {}
    for folder in _finished(bench, card, plan, results):
        with contextlib.suppress(BenchFault):  # a run that broke off is no history
            found[folder] = timing_of(folder)
        if len(found) == RUNS_LOOKED_AT:
            break
    return found


def _finished(bench: str, card: str, plan: str, results: Path) -> Iterator[Path]:
    """Folders of finished runs, newest first; a run of some suites says little of one of all."""
    for file in sorted(results.glob(f"2*/{RUN_FILE}"), reverse=True):
        try:
            run = read_run(file.parent)
            matches = (run["card"], run["bench"], run.get("plan")) == (card, bench, plan) and run.get("finished")
            matches = matches and not run.get("partial") and not _ended_early(run)
        except (BenchFault, KeyError):
            continue  # another file of that name: it is no run
        if matches:
            yield file.parent


def _ended_early(run: Mapping[str, Any]) -> bool:
    """Did more than half of the tests fail? They do when a bench breaks, and take no time then."""
    return int(run.get("robot_rc", 0)) * 2 > int(run.get("expected_tests", 0)) > 0
