"""The probable cost of a run, before it starts: boots of both servers, and its duration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

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
    ``within_s``: how long a boot may take by the bench file. ``earlier``: time budgets of earlier runs, newest first.
    """

    tests: int
    ordered: Mapping[Role, int]
    within_s: Mapping[Role, float]
    earlier: tuple[Timing, ...]

    def lines(self) -> list[str]:
        """Return the forecast as sentences."""
        boots = ", ".join(
            f"{role.value} at most {self.ordered.get(role, 0)} (each within {self.within_s[role]:g} s)" for role in Role
        )
        return [f"{self.tests} tests; boots: {boots}", self._duration()]

    def _duration(self) -> str:
        if not self.earlier:
            return "duration: unknown; no finished run of this card, bench and plan"
        seconds = median(each.wall_s for each in self.earlier)
        newest = ", ".join(f"{server} {count}" for server, count in self.earlier[0].boots.items()) or "none noted"
        count = len(self.earlier)
        return (
            f"duration: about {seconds / 60:.0f} min by {count} earlier run{'s' * (count != 1)}; boots then: {newest}"
        )


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
    return Forecast(tests, ordered, within_s, tuple(_earlier(bench.name, card, plan, results)))


def newest(bench: str, card: str, plan: str, results: Path) -> Path | None:
    """Return the folder of the newest finished run of a card on a bench by a plan, if there is one.

    Args:
        bench: Name of the bench.
        card: Name of the card sheet.
        plan: Name of the plan.
        results: Folder of the run folders.
    """
    return next(_finished(bench, card, plan, results), None)


def _earlier(bench: str, card: str, plan: str, results: Path) -> Iterator[Timing]:
    found = 0
    for folder in _finished(bench, card, plan, results):
        try:
            yield timing_of(folder)
        except BenchFault:
            continue  # a run that broke off is no history
        found += 1
        if found == RUNS_LOOKED_AT:
            return


def _finished(bench: str, card: str, plan: str, results: Path) -> Iterator[Path]:
    """Folders of finished runs, newest first; a run of some suites says little of one of all."""
    for file in sorted(results.glob(f"2*/{RUN_FILE}"), reverse=True):
        try:
            run = read_run(file.parent)
            matches = (run["card"], run["bench"], run.get("plan")) == (card, bench, plan) and run.get("finished")
            matches = matches and not run.get("partial")
        except (BenchFault, KeyError):
            continue  # another file of that name: it is no run
        if matches:
            yield file.parent
