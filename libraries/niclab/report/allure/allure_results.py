"""Reads the Allure results of a run back, for the certificate. Nothing that does not fit together passes unnoticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault
from niclab.report import read_json_object
from niclab.report.allure.tags import REQUIREMENT
from niclab.report.verdicts import ALSO, Verdict, classify

SUMMARY_NAME = "niclab-summary.json"
SUMMARY_FORMAT = 1


@dataclass(frozen=True)
class TestRecord:
    """One test: its full name, verdict and message, the requirements it covers, and how long it took."""

    __test__ = False  # for pytest: this is no test

    uuid: str
    name: str
    verdict: Verdict
    message: str
    requirements: tuple[str, ...]
    start_ms: int
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The record in the shape it has in ``certificate.json``."""
        return {
            "name": self.name,
            "verdict": self.verdict.value,
            "message": self.message,
            "requirements": list(self.requirements),
            "seconds": self.seconds,
        }


def check_of_run(name: str, findings: Sequence[str]) -> TestRecord:
    """Return a check of a run as a whole: passed, or with the worst verdict of its findings.

    Args:
        name: Of the check.
        findings: Each begins with its class, such as ``BenchFault: ``.
    """
    message = ALSO.join(findings)
    return TestRecord("", name, classify("FAIL", message) if findings else Verdict.PASS, message, (), 0, 0.0)


@dataclass
class RunResults:
    """All tests in the order in which they ran, what is wrong with the results, and the counts of Robot's statuses."""

    tests: list[TestRecord] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    robot_statuses: Counter[str] = field(default_factory=Counter)


def read_results(folder: Path) -> RunResults:
    """Read every ``*-result.json`` in ``folder`` and compare them with ``niclab-summary.json``.

    What cannot be read or does not agree becomes a problem, never an exception.
    """
    results = RunResults()
    for path in sorted(folder.glob("*-result.json")):
        try:
            results.tests.append(_record(path, read_json_object(path)))
        except BenchFault as fault:
            results.problems.append(str(fault))
    results.tests.sort(key=lambda test: (test.start_ms, test.name))
    try:
        _compare_with_summary(results, read_json_object(folder / SUMMARY_NAME))
    except BenchFault as fault:
        results.problems.append(f"The run has not ended, or its results were not written to the end: {fault}")
    return results


def _record(path: Path, result: dict[str, Any]) -> TestRecord:
    """Record.

    Raises:
        BenchFault: When the result lacks something or contradicts itself.
    """
    try:
        labels = [(label["name"], label["value"]) for label in result["labels"]]
        verdicts = [Verdict(value) for name, value in labels if name == "verdict"]
        record = TestRecord(
            uuid=str(result["uuid"]),
            name=str(result["fullName"]),
            verdict=verdicts[0],
            message=str(result["statusDetails"].get("message", "")),
            requirements=tuple(sorted({str(value) for name, value in labels if name == REQUIREMENT})),
            start_ms=int(result["start"]),
            seconds=(int(result["stop"]) - int(result["start"])) / 1000,
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise BenchFault(f"{path.name}: is no complete result: {type(error).__name__}: {error}") from error
    if len(verdicts) != 1 or result.get("status") != record.verdict.allure_status:
        raise BenchFault(
            f"{path.name}: status {result.get('status')!r} contradicts the verdict label "
            f"{', '.join(verdict.value for verdict in verdicts)}"
        )
    return record


def _compare_with_summary(results: RunResults, summary: dict[str, Any]) -> None:
    """Compare with summary.

    Raises:
        BenchFault: When the summary is not of this format.
    """
    try:
        if summary["format"] != SUMMARY_FORMAT:
            raise BenchFault(f"{SUMMARY_NAME}: format {summary['format']!r} is not known; expected {SUMMARY_FORMAT}")
        statuses = {str(test["uuid"]): str(test["status"]) for test in summary["tests"]}
        counts = (summary["planned_tests"], summary["ended_tests"], summary["written_results"])
        errors = [str(error) for error in summary["errors"]]
        selection = {name: patterns for name, patterns in summary["selection"].items() if patterns}
    except (KeyError, TypeError, AttributeError) as error:
        raise BenchFault(f"{SUMMARY_NAME}: is not complete: {type(error).__name__}: {error}") from error
    results.robot_statuses.update(statuses.values())
    results.problems += [f"The results are not complete: {error}" for error in errors]
    if selection:
        chosen = ", ".join(f"--{name} {pattern}" for name, patterns in selection.items() for pattern in patterns)
        results.problems.append(f"Only a selection of the tests was run: {chosen}.")
    if set(counts) != {len(results.tests)}:
        results.problems.append(
            f"{counts[0]} tests were planned, {counts[1]} ended, {counts[2]} results were written, "
            f"{len(results.tests)} can be read; expected four times the same number."
        )
    if set(statuses) != {test.uuid for test in results.tests}:
        results.problems.append("The results on disk are not those that the summary of the run names.")
    for test in results.tests:
        if test.uuid in statuses and classify(statuses[test.uuid], test.message) is not test.verdict:
            results.problems.append(
                f"{test.name}: Robot Framework said {statuses[test.uuid]}, which does not make it {test.verdict.value}."
            )
