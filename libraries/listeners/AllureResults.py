"""Allure results of a run, written test by test: a Robot Framework listener, and a converter with the same mapping.

Live, into the folder given after the colon::

    robot --listener libraries/listeners/AllureResults.py:results/RUN/allure-results --outputdir results/RUN suites/

Afterwards, from what Robot Framework wrote (XML or JSON)::

    python libraries/listeners/AllureResults.py results/RUN/output.xml results/RUN/allure-results

What the results say beyond Robot Framework's own words:

* The status follows the verdict (:func:`niclab.report.verdicts.classify`): card failure = ``failed``, bench fault and
  undecided = ``broken``, not applicable = ``skipped``. The label ``verdict`` carries the exact one.
* Tags become labels, links, parameters and severities (:mod:`niclab.report.allure.tags`).
* A logged evidence link (:mod:`niclab.report.evidence.evidence_links`), relative to the output folder, becomes an
  attachment of the very keyword that logged it.

A finished test is on disk before the next one starts, so a killed run keeps it. ``niclab-summary.json`` is written when
the whole run has ended; it counts tests and results and holds every error of this module.
"""

# Robot Framework is not marked as typed (no py.typed):
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from robot import running
from robot import version as robot_version
from robot.api import ExecutionResult, logger
from robot.errors import DataError
from robot.libraries.BuiltIn import BuiltIn
from robot.result import TestCase, TestSuite
from robot.running.context import EXECUTION_CONTEXTS
from robot.utils import html_format

from niclab.core.verdict import BenchFault
from niclab.report import read_json_object, write_atomically, write_json
from niclab.report.allure.allure_results import SUMMARY_FORMAT, SUMMARY_NAME
from niclab.report.allure.steps import StepWriter, times_of
from niclab.report.allure.tags import SUITE_LABELS, meaning_of
from niclab.report.verdicts import Verdict, classify, plain_text

_NAMESPACE = uuid.UUID("6d9d1a5c-0a3e-5b53-9e57-1f2d6f0c8a11")

Json = dict[str, Any]


class AllureResults:
    """The listener. Its own errors never fail a run silently: they are in the summary, in log.html and on stderr.

    Args:
        folder: Where the results go; relative to the folder in which ``robot`` was called.
    """

    ROBOT_LISTENER_API_VERSION = 3
    ROBOT_LISTENER_PRIORITY = -1000  # after all others, which may still change a status or tags

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder).absolute()
        self._results: Results | None = None
        self._planned = 0

    def start_suite(self, data: running.TestSuite, result: TestSuite) -> None:
        if result.parent is None and not EXECUTION_CONTEXTS.current.dry_run:
            self._results = Results(self._folder, Path(BuiltIn().get_variable_value("${OUTPUT DIR}")))
            self._planned = data.test_count

    def end_test(self, data: running.TestCase, result: TestCase) -> None:  # noqa: ARG002 - names set by Robot Framework
        if self._results:
            self._results.add_test(result)

    def end_suite(self, data: running.TestSuite, result: TestSuite) -> None:  # noqa: ARG002 - as above
        if self._results:
            self._results.end_suite(result)
            if result.parent is None:
                options = BuiltIn().get_variable_value("${OPTIONS}")
                selection = {name: list(options[name]) for name in ("include", "exclude", "skip")}
                self._results.write_summary(result, planned=self._planned, selection=selection)
                for error in self._results.errors:
                    logger.error(f"AllureResults: {error}")

    def close(self) -> None:
        if self._results and self._results.errors:
            lines = ("AllureResults: results are not complete:", *self._results.errors)
            print(*lines, sep="\n  ", file=sys.__stderr__)


class Results:
    """Writes result models of Robot Framework as Allure results.

    Names of files are made from the ids, names and start times of the tests, so that the live run and a later
    conversion of its output give the same files.

    Args:
        folder: Where the results go.
        output_dir: Robot Framework's output folder, to which evidence links are relative.
    """

    def __init__(self, folder: Path, output_dir: Path) -> None:
        self.errors: list[str] = []
        self._folder = folder
        self._output_dir = output_dir
        self._written: dict[str, tuple[str, str, str]] = {}  # by test id: uuid, status, message

    def add_test(self, test: TestCase) -> None:
        """Write the result of a test that has ended; when that is not possible, a minimal ``broken`` one."""
        ident = _uuid(test.id, test.full_name, _iso(test.start_time))
        try:
            result, fixtures = self._test(test, ident)
        except Exception as error:  # noqa: BLE001 - whatever went wrong here, the test must not vanish from the report
            self._note(test.full_name, error)
            result, fixtures = _minimal_result(test, ident, error), {}
        try:
            write_json(self._path(ident, "result"), result)
            self._written[test.id] = (ident, test.status, test.message)
            if fixtures:
                self._write_container(ident, [ident], fixtures)
        except BenchFault as error:
            self._note(test.full_name, error)

    def end_suite(self, suite: TestSuite) -> None:
        """Write the fixtures of a suite, and again the tests whose status its teardown has changed."""
        try:
            for test in suite.all_tests:
                if test.id in self._written:
                    self._rewrite_if_flipped(test)
            fixtures = self._fixtures(suite, _uuid(suite.id, suite.full_name))
            if fixtures:
                children = [self._written[test.id][0] for test in suite.all_tests if test.id in self._written]
                self._write_container(_uuid(suite.id, suite.full_name, *children[:1]), children, fixtures)
        except Exception as error:  # noqa: BLE001 - kept for the summary, and the other suites still get theirs
            self._note(f"suite {suite.full_name}", error)

    def write_summary(self, suite: TestSuite, *, planned: int, selection: Json) -> None:
        """Compare the count of tests with the count of result files and write ``niclab-summary.json``.

        Args:
            suite: The top suite, ended.
            planned: Number of tests when the run began.
            selection: Tag patterns of the command line that left tests out.
        """
        try:
            on_disk = sum(self._path(ident, "result").is_file() for ident, _, _ in self._written.values())
            if not planned == suite.test_count == on_disk:
                self.errors.append(
                    f"{planned} tests were planned, {suite.test_count} ended, {on_disk} results are written; "
                    "expected three times the same number"
                )
            if not suite.test_count:
                self.errors.append(f"suite {suite.name!r}: holds no tests; expected at least one")
            tests = [
                {"uuid": self._written[test.id][0], "name": test.full_name, "status": test.status}
                for test in suite.all_tests
                if test.id in self._written
            ]
            summary = {
                "format": SUMMARY_FORMAT,
                "robotframework": robot_version.VERSION,
                "planned_tests": planned,
                "ended_tests": suite.test_count,
                "written_results": on_disk,
                "selection": selection,
                "tests": tests,
                "errors": self.errors,
            }
            write_json(self._folder / SUMMARY_NAME, summary)
        except Exception as error:  # noqa: BLE001 - shown at the end; a missing summary is itself an error to its readers
            self._note("summary", error)

    def _note(self, subject: str, error: Exception) -> None:
        self.errors.append(f"{subject}: {type(error).__name__}: {error}")

    def _path(self, ident: str, kind: str) -> Path:
        return self._folder / f"{ident}-{kind}.json"

    def _rewrite_if_flipped(self, test: TestCase) -> None:
        ident, status, message = self._written[test.id]
        if (test.status, test.message) == (status, message):
            return
        result = read_json_object(self._path(ident, "result"))
        result |= _outcome(test)
        result["labels"] = [label for label in result["labels"] if label["name"] != "verdict"] + [_verdict_label(test)]
        write_json(self._path(ident, "result"), result)
        self._written[test.id] = (ident, test.status, test.message)

    def _write_container(self, ident: str, children: list[str], fixtures: dict[str, list[Json]]) -> None:
        own = _uuid(ident, "container")
        container = {"uuid": own, "children": children, "befores": [], "afters": []} | fixtures
        write_json(self._path(own, "container"), container)

    def _test(self, test: TestCase, ident: str) -> tuple[Json, dict[str, list[Json]]]:
        """The result of a test, and its setup and teardown."""
        tags = meaning_of(test.tags)
        self.errors += [f"{test.full_name}: {problem}" for problem in tags.problems]
        path = _suite_path(test)
        doc = test.doc or test.parent.doc  # a suite says what all of its tests are about
        history = json.dumps([test.full_name, sorted((each["name"], each["value"]) for each in tags.parameters)])
        result = {
            "uuid": ident,
            "name": test.name,
            "fullName": test.full_name,
            "titlePath": path,
            "testCaseId": hashlib.md5(test.full_name.encode(), usedforsecurity=False).hexdigest(),
            "historyId": hashlib.md5(history.encode(), usedforsecurity=False).hexdigest(),
            "description": doc,
            "descriptionHtml": html_format(doc) if doc else "",
            "stage": "finished",
            "labels": [*tags.labels, *_run_labels(path, tags.labels), _verdict_label(test)],
            "links": tags.links,
            "parameters": tags.parameters,
            "steps": [],
            "attachments": [],
            **_outcome(test),
            **times_of(test),
        }
        body = StepWriter(self, ident)
        body.add_to(result, test.body)
        return result, self._fixtures(test, ident)

    def _fixtures(self, item: TestCase | TestSuite, ident: str) -> dict[str, list[Json]]:
        fixtures: dict[str, list[Json]] = {}
        if item.has_setup:
            fixtures["befores"] = StepWriter(self, ident, "setup").steps_of([item.setup])
        if item.has_teardown:
            fixtures["afters"] = StepWriter(self, ident, "teardown").steps_of([item.teardown])
        return fixtures

    def attach(self, name: str, mime: str, content: bytes, suffix: str, key: str) -> Json:
        """Write an attachment; return what its step says of it."""
        source = f"{_uuid(key)}-attachment{suffix}"
        write_atomically(self._folder / source, content, durable=False)
        return {"name": name, "source": source, "type": mime}

    def read_evidence(self, href: str) -> bytes:
        """The file an evidence link points to.

        Raises:
            BenchFault: There is no readable file below the output folder.
        """
        root = self._output_dir.resolve()
        path = (root / href).resolve()
        if not path.is_relative_to(root):
            raise BenchFault(f"evidence {href!r}: lies outside of {root}; expected a file below it")
        try:
            return path.read_bytes()
        except OSError as error:
            raise BenchFault(f"evidence {href!r}: {path} cannot be read: {error.strerror}") from error


def convert(output: Path, folder: Path) -> list[str]:
    """Write the results of ``output`` (output.xml or output.json) into ``folder``; return what went wrong.

    Raises:
        BenchFault: ``output`` is not a readable output of Robot Framework.
    """
    try:
        suite = ExecutionResult(str(output)).suite
    except DataError as error:
        raise BenchFault(f"{output}: {error}") from error
    if not suite.test_count:
        raise BenchFault(f"{output}: holds no tests; expected at least one")
    results = Results(folder.absolute(), output.absolute().parent)
    for test in suite.all_tests:
        results.add_test(test)
    for each in _suites_inside_out(suite):
        results.end_suite(each)
    results.write_summary(suite, planned=suite.test_count, selection={"include": [], "exclude": [], "skip": []})
    return results.errors


def _suites_inside_out(suite: TestSuite) -> Iterator[TestSuite]:
    for child in suite.suites:
        yield from _suites_inside_out(child)
    yield suite


def _uuid(*parts: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, "\n".join(parts)))


def _iso(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""


def _outcome(test: TestCase) -> Json:
    return {
        "status": classify(test.status, test.message).allure_status,
        "statusDetails": {"message": plain_text(test.message)} if test.message else {},
    }


def _verdict_label(test: TestCase) -> Json:
    return {"name": "verdict", "value": classify(test.status, test.message).value}


def _minimal_result(test: TestCase, ident: str, error: Exception) -> Json:
    """Return the result that is left of a test when the mapping broke."""
    message = f"BenchFault: no full result could be written: {type(error).__name__}: {error}"
    return {
        "uuid": ident,
        "name": test.name,
        "fullName": test.full_name,
        "status": "broken",
        "statusDetails": {"message": f"{message}\n\nRobot Framework said {test.status}: {test.message}"},
        "stage": "finished",
        "labels": [{"name": "verdict", "value": Verdict.BENCH_FAULT.value}],
        "steps": [],
        "attachments": [],
    }


def _suite_path(test: TestCase) -> list[str]:
    names: list[str] = []
    suite = test.parent
    while suite:
        names.insert(0, suite.name)
        suite = suite.parent
    return names


def _run_labels(path: list[str], given: list[Json]) -> list[Json]:
    """Labels every test has: its suites, unless a tag named them, and where it ran."""
    parts = [path[0], path[1], " / ".join(path[2:])] if len(path) > 2 else path
    names = SUITE_LABELS if len(parts) > 1 else ("suite",)
    tagged = {label["name"] for label in given}
    suites = [{"name": name, "value": part} for name, part in zip(names, parts, strict=False) if name not in tagged]
    return [
        *suites,
        {"name": "framework", "value": "robotframework"},
        {"name": "host", "value": socket.gethostname()},
        {"name": "thread", "value": os.environ.get("PABOTQUEUEINDEX", "robot")},
    ]


def main(arguments: Sequence[str]) -> int:
    """``AllureResults.py OUTPUT FOLDER``: 0 when every test has its full result, 1 when not, 2 for a wrong call."""
    if len(arguments) != 2:
        print("usage: python AllureResults.py output.xml RESULTS_FOLDER", file=sys.stderr)
        return 2
    try:
        errors = convert(Path(arguments[0]), Path(arguments[1]))
    except BenchFault as fault:
        errors = [str(fault)]
    for error in errors:
        print(f"AllureResults: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
