"""Baselines: figures of runs that somebody accepted, to compare later runs with.

One JSON file a key, ``<card>-<metric>-<digest>.json``; the digest is that of the key, so that a key is found without a
search and a file that was edited by hand is noticed. Runs of several days may hold together; they show what days differ
by. Accepted figures that were replaced stay in the file: its trend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from statistics import fmean
from typing import Annotated

from pydantic import Field

from niclab.core.verdict import BenchFault
from niclab.files.types import Name, Record, Text, Wanted
from niclab.report import now, write_json
from niclab.report.allure.allure_results import read_results
from niclab.report.certificate.waived import waived
from niclab.report.evidence.runfolder import ALLURE_RESULTS_FOLDER, read_run
from niclab.report.verdicts import Verdict
from niclab.stats.judge import FEWEST_OF_A_BASELINE
from niclab.stats.measurements import FORMAT, Better, Format, Key, Measurement, Metric, Moment, Sample, load, read

FOLDER = "baselines"
"""Below ``results/``."""


class Accepted(Record):
    """Samples of one accepted run, and where they are from. ``git_commit``: of the lab, None outside of git."""

    samples: Annotated[tuple[Sample, ...], Field(min_length=FEWEST_OF_A_BASELINE)]
    test: Text
    taken: Moment
    accepted: Moment
    run: Text
    bench: Name
    git_commit: Text | None
    local_changes: bool | None


class Baseline(Record):
    """The file of one key. The last ``holding`` of ``history`` hold together, one of each day."""

    format: Format
    metric: Metric
    unit: Text
    better: Better
    key: Key
    history: Annotated[tuple[Accepted, ...], Field(min_length=1)]
    holding: Annotated[int, Field(ge=1), Wanted("a number of accepted runs, 1 or more")] = 1

    @property
    def days(self) -> tuple[Accepted, ...]:
        """The runs that hold, the oldest first."""
        return self.history[-self.holding :]

    @property
    def mean(self) -> float:
        """Mean of the days' means, in ``unit``."""
        return fmean(fmean(day.samples) for day in self.days)

    @property
    def source(self) -> str:
        """``baseline of 2026-11-21, run R``, or of how many days, up to the last."""
        last, many = self.days[-1], f"{self.holding} days, the last " if self.holding > 1 else ""
        return f"baseline of {many}{last.taken[:10]}, run {last.run}"


class Accepting(Enum):
    """The fate of a baseline that exists already: refuse, hold both days, or hold the new one alone."""

    FIRST = "first"
    ANOTHER_DAY = "another day"
    REPLACE = "replace"


@dataclass(frozen=True)
class BaselineStore:
    """The baselines in ``folder``; it is made with the first one."""

    folder: Path

    def find(self, measurement: Measurement) -> Baseline | None:
        """The baseline of the measurement's key, metric and unit; None when there is none.

        Raises:
            BenchFault: When its file is damaged, or calls another direction better.
        """
        path = self._path(measurement)
        if not path.exists():
            return None
        found = self._load(path)
        if found.better is not measurement.better:
            raise BenchFault(
                f"{path}: better: {found.better.value} is not wanted; expected {measurement.better.value}, "
                f"as {measurement.test!r} measures it"
            )
        return found

    def all(self) -> list[Baseline]:
        """Every baseline, by file name.

        Raises:
            BenchFault: When one is damaged.
        """
        return [self._load(path) for path in sorted(self.folder.glob("*.json"))]

    def nearest(self, measurement: Measurement) -> tuple[Baseline, list[str]] | None:
        """The baseline of the same card, metric and unit with the fewest differing conditions, and these conditions.

        It is a hint for people (which release was faster?), never something to judge by.
        """
        others = [
            (each, measurement.key.differences(each.key))
            for each in self.all()
            if (each.metric, each.unit, each.key.card) == (measurement.metric, measurement.unit, measurement.key.card)
        ]
        return min(others, key=lambda pair: len(pair[1]), default=None)

    def accept(self, run_dir: Path, how: Accepting = Accepting.FIRST) -> list[Path]:
        """Make the measurements of a finished run the baselines of their keys: all of them, or none.

        Args:
            run_dir: Folder of the run.
            how: What to do where a baseline exists already.

        Raises:
            BenchFault: When the run is not finished, has no measurements, one with too few samples, or a baseline
                exists already and ``how`` does not say what to do with it, or holds for the day of this run already.
                Or a test found the card wrong: figures of such a card may only replace a baseline that they missed.
        """
        measurements = read(run_dir)
        run = read_run(run_dir)
        problems = [] if run.get("finished") else [f"{run_dir}: the run is not finished"]
        problems += [] if measurements else [f"{run_dir}: no measurements; expected at least one"]
        if how is not Accepting.REPLACE or any(self.find(each) is None for each in measurements):
            problems += _found_wrong(run_dir, run)
        for each in measurements:
            problems += self._refusals(each, how)
        if problems:
            raise BenchFault("\n".join(problems))
        written = []
        for each in measurements:
            old = self.find(each)
            entry = _accepted(each, run, run_dir)
            history = (*(old.history if old else ()), entry)
            baseline = Baseline(
                format=FORMAT,
                metric=each.metric,
                unit=each.unit,
                better=each.better,
                key=each.key,
                history=history,
                holding=old.holding + 1 if old and how is Accepting.ANOTHER_DAY else 1,
            )
            path = self._path(each)
            write_json(path, baseline.model_dump(mode="json"))
            written.append(path)
        return written

    def _refusals(self, measurement: Measurement, how: Accepting) -> Iterator[str]:
        subject = f"{measurement.metric} of {measurement.test!r}"
        if len(measurement.samples) < FEWEST_OF_A_BASELINE:
            yield f"{subject}: {len(measurement.samples)} samples; expected at least {FEWEST_OF_A_BASELINE}"
        known = self.find(measurement)
        if known is None:
            return
        last, path = known.days[-1], self._path(measurement)
        if how is Accepting.FIRST:
            yield (
                f"{subject}: {path} holds a baseline of {last.taken[:10]} from run {last.run}; "
                "expected --another-day, when both are to hold, or --replace, when the new one is to hold instead"
            )
        same = [day for day in known.days if day.taken[:10] == measurement.taken[:10]]
        if how is Accepting.ANOTHER_DAY and same:
            yield (
                f"{subject}: {path} holds a run of {same[0].taken[:10]} already, {same[0].run}; expected one of "
                "another day, as two of one day do not show how days differ"
            )

    def _path(self, measurement: Measurement) -> Path:
        return self.folder / _file_name(measurement.key, measurement.metric, measurement.unit)

    def _load(self, path: Path) -> Baseline:
        found = load(path, Baseline)
        if found.holding > len(found.history):
            raise BenchFault(
                f"{path}: holding: {found.holding} is not wanted; expected at most the {len(found.history)} of history"
            )
        wanted = _file_name(found.key, found.metric, found.unit)
        if path.name != wanted:
            raise BenchFault(f"{path}: the key in it belongs to {wanted}: the file was renamed or its key was changed")
        return found


def _file_name(key: Key, metric: str, unit: str) -> str:
    return f"{key.card}-{metric}-{key.digest(metric, unit)}.json"


def _found_wrong(run_dir: Path, run: Mapping[str, object]) -> list[str]:
    """The tests that have found the card wrong, in words; those apart whose failure a waiver covers."""
    tests = read_results(run_dir / ALLURE_RESULTS_FOLDER).tests
    covered = waived(run_dir, run.get("card"), run.get("started"), tests).tests
    wrong = [each.name for each in tests if each.verdict is Verdict.CARD_FAILURE and each.name not in covered]
    names = ", ".join(each.rpartition(".")[2] for each in wrong)
    return [f"{run_dir}: the card was found wrong by {names}; expected figures of a sound card"] if wrong else []


def _accepted(measurement: Measurement, run: dict[str, object], run_dir: Path) -> Accepted:
    git = run["git"]
    commit, changes = (git.get("commit"), git.get("local_changes")) if isinstance(git, dict) else (None, None)
    return Accepted.model_validate(
        {
            "samples": measurement.samples,
            "test": measurement.test,
            "taken": measurement.taken,
            "accepted": now(),
            "run": run_dir.resolve().name,
            "bench": run["bench"],
            "git_commit": commit,
            "local_changes": changes,
        }
    )


def listing(baselines: Sequence[Baseline]) -> list[str]:
    """A line a baseline: card, metric, mean of the samples, how many, when, from which run, under which conditions."""
    lines = []
    for each in baselines:
        last, key = each.days[-1], each.key
        many = f"mean of {len(last.samples)}" if each.holding == 1 else f"mean of {each.holding} days, the last"
        set_ = " ".join(f"{name}={value}" for name, value in sorted(key.parameters.items()))
        lines.append(
            f"{key.card}  {each.metric} {each.mean:.6g} {each.unit} ({many})  {last.taken[:10]}  "
            f"run {last.run}  {key.driver}, firmware {key.firmware}, {key.slot} {key.pcie_link}, {key.os} "
            f"{key.kernel}, peer {key.peer}, {key.tool}" + (f"  {set_}" if set_ else "")
        )
    return lines
