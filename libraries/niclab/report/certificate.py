"""The certificate of a run: what was qualified, whether it holds, why not if it does not, and the hashes it rests on.

It is made of ``run.json``, the Allure results and their summary, ``output.xml`` and the evidence, and is written as
``certificate.json``, ``certificate.html`` and ``certificate.sha256`` (to be checked with ``sha256sum -c`` as well).
It is not signed: :func:`verify` finds files that were changed or lost, not a forger who rewrites all of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from niclab.core.verdict import BenchFault
from niclab.report import now, read_json_object, sha256_of, write_atomically, write_json
from niclab.report.coverage import cover, headline, unfulfilled
from niclab.report.evidence import INDEX_NAME, read_index, stored_files
from niclab.report.page import CERTIFIED, certificate_page
from niclab.report.results import RunResults, TestRecord, read_results
from niclab.report.runfolder import (
    ALLURE_RESULTS_FOLDER,
    DEMONSTRATION,
    EVIDENCE_FOLDER,
    NEEDED_FACTS,
    PHYSICAL,
    RUN_FILE,
    read_run,
)
from niclab.report.verdicts import Verdict
from niclab.scope.plan import load_plan
from niclab.scope.requirements import load_requirements

NOT_CERTIFIED = "NOT CERTIFIED"
JSON_NAME = "certificate.json"
PAGE_NAME = "certificate.html"
SUMS_NAME = "certificate.sha256"
OUTPUT_NAME = "output.xml"
_FORMAT = 1
_EVIDENCE_INDEX = f"{EVIDENCE_FOLDER}/{INDEX_NAME}"
_NAMES_SHOWN = 5


def certify(run_dir: Path, robot_rc: int) -> bool:
    """Judge a finished run and write its certificate, also when it is not certified; return whether it is.

    Args:
        run_dir: Folder of the run.
        robot_rc: Exit status of ``robot``.

    Raises:
        BenchFault: When the certificate cannot be written. Whatever is missing or unreadable in the run is a reason on
            the certificate instead.
    """
    if not run_dir.is_dir():
        raise BenchFault(f"{run_dir}: is no folder; wanted: the folder of a run")
    certificate = _certificate(run_dir, robot_rc, issued=now())
    write_json(run_dir / JSON_NAME, certificate)
    write_atomically(run_dir / PAGE_NAME, certificate_page(certificate))
    sums = [f"{sha256_of(run_dir / name)}  {name}\n" for name in (JSON_NAME, PAGE_NAME)]
    sums += [f"{digest}  {name}\n" for name, digest in certificate["sha256"].items() if (run_dir / name).is_file()]
    write_atomically(run_dir / SUMS_NAME, "".join(sums))
    return bool(certificate["verdict"] == CERTIFIED)


def verify(run_dir: Path) -> list[str]:
    """Judge the run again from its files; return what differs from the certificate, nothing if all is as it was.

    Raises:
        BenchFault: When there is no readable certificate.
    """
    certificate = read_json_object(run_dir / JSON_NAME)
    issued, robot_rc = certificate.get("issued"), certificate.get("robot_rc")
    if not isinstance(issued, str) or not isinstance(robot_rc, int):
        raise BenchFault(f"{run_dir / JSON_NAME}: issued, robot_rc: wanted: the time and the exit status of robot")
    problems = _differences(certificate, _certificate(run_dir, robot_rc, issued))
    for line in _lines_of(run_dir / SUMS_NAME):
        digest, _, name = line.partition("  ")
        if name not in (JSON_NAME, PAGE_NAME) and name not in certificate.get("sha256", {}):
            problems.append(f"{SUMS_NAME}: {line!r} is not wanted")
        elif not (run_dir / name).is_file():
            problems.append(f"{name}: is missing")
        elif sha256_of(run_dir / name) != digest:
            problems.append(f"{name}: is not the file that {SUMS_NAME} was made for")
    return problems


def _certificate(run_dir: Path, robot_rc: int, issued: str) -> dict[str, Any]:
    reasons: list[str] = []
    try:
        run = read_run(run_dir)
    except BenchFault as fault:
        run = {}
        reasons.append(str(fault))
    results = read_results(run_dir / ALLURE_RESULTS_FOLDER)
    reasons += _reasons_of_tests(results, run)
    reasons += _reasons_of_run(run, robot_rc)
    scope, lacking = _scope(run, results.tests)
    reasons += lacking
    reasons += _reasons_of_output(run_dir / OUTPUT_NAME, results)
    reasons += _reasons_of_evidence(run_dir / EVIDENCE_FOLDER)
    counts = Counter(test.verdict for test in results.tests)
    return {
        "format": _FORMAT,
        "verdict": NOT_CERTIFIED if reasons else CERTIFIED,
        "reasons": reasons,
        **{name: run.get(name) for name in ("card", "bench", "subject", "run", "started", "finished", "who", "git")},
        "issued": issued,
        "facts": run.get("facts") or {},
        "versions": run.get("versions") or {},
        "command_line": run.get("command_line"),
        "robot_rc": robot_rc,
        "expected_tests": run.get("expected_tests"),
        "counts": {verdict.value: counts[verdict] for verdict in Verdict},
        "tests": [test.as_json() for test in results.tests],
        **scope,
        "sha256": _hashes(run_dir),
    }


def _reasons_of_run(run: Mapping[str, Any], robot_rc: int) -> list[str]:
    reasons = []
    if run.get("partial"):
        reasons.append(f"The run is partial: {run['partial']}.")
    if robot_rc != 0:
        reasons.append(f"robot ended with exit status {robot_rc}; wanted: 0.")
    if run and not run.get("finished"):
        reasons.append(f"{RUN_FILE} does not say that the run has finished.")
    elif run and run.get("robot_rc") != robot_rc:
        reasons.append(f"{RUN_FILE} notes exit status {run.get('robot_rc')} of robot, not {robot_rc}.")
    for name in ("card", "bench", "who", "versions"):
        if run and not run.get(name):
            reasons.append(f"{RUN_FILE} does not name: {name}.")
    if run and run.get("subject") not in (PHYSICAL, DEMONSTRATION):
        reasons.append(f"{RUN_FILE} does not say whether the card is physical or emulated.")
    facts = run.get("facts") or {}
    missing = [name for name in NEEDED_FACTS if not facts.get(name)]
    if run and missing:
        reasons.append(f"{RUN_FILE} does not record what was qualified: {', '.join(missing)}.")
    return reasons


def _reasons_of_tests(results: RunResults, run: Mapping[str, Any]) -> list[str]:
    reasons = list(results.problems)
    said = {
        Verdict.CARD_FAILURE: "found the card wrong",
        Verdict.BENCH_FAULT: "met a fault of the bench",
        Verdict.UNDECIDED: "could not decide",
    }
    for verdict, words in said.items():
        names = [test.name for test in results.tests if test.verdict is verdict]
        if names:
            reasons.append(f"{_tests(len(names))} {words}: {_some(names)}.")
    if not any(test.verdict is Verdict.PASS for test in results.tests):
        reasons.append("No test has passed; wanted: at least one.")
    doubled = [name for name, count in Counter(test.name for test in results.tests).items() if count > 1]
    if doubled:
        reasons.append(f"More than one result has the name: {_some(doubled)}.")
    expected = run.get("expected_tests")
    if not isinstance(expected, int) or isinstance(expected, bool) or expected < 1:
        reasons.append(f"{RUN_FILE} does not say how many tests a complete run has.")
    elif expected != len(results.tests):
        reasons.append(f"There are {len(results.tests)} results; a complete run has {_tests(expected)}.")
    return reasons


def _reasons_of_output(path: Path, results: RunResults) -> list[str]:
    """Count the tests a second time, in Robot Framework's output, and look for errors that failed no test."""
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        return [f"{path.name} cannot be read: {error.strerror}."]
    except ElementTree.ParseError as error:
        return [f"{path.name} is not whole: {error}."]
    total = root.find("./statistics/total/stat")
    if total is None:
        return [f"{path.name} holds no statistics."]
    counted = {status: total.get(status.lower(), "none") for status in ("PASS", "FAIL", "SKIP")}
    ours = {status: str(results.robot_statuses[status]) for status in counted}
    reasons = []
    if counted != ours:
        reasons.append(f"{path.name} counts {_counts(counted)}; the results are {_counts(ours)}.")
    errors = [message.text or "" for message in root.iterfind("./errors/msg[@level='ERROR']")]
    if errors:
        reasons.append(f"Robot Framework reported {len(errors)} errors while running: {_some(errors)}")
    return reasons


def _reasons_of_evidence(folder: Path) -> list[str]:
    """Compare each file of the evidence with the index."""
    try:
        entries = {entry.file: entry for entry in read_index(folder)}
        present = set(stored_files(folder))
        changed = [name for name in sorted(present & set(entries)) if sha256_of(folder / name) != entries[name].sha256]
    except BenchFault as fault:
        return [str(fault)]
    found = {
        "is missing": sorted(set(entries) - present),
        "is not in the index": sorted(present - set(entries)),
        "has changed since it was stored": changed,
    }
    return [f"Evidence {words}: {_some(names)}." for words, names in found.items() if names]


def _scope(run: Mapping[str, Any], tests: list[TestRecord]) -> tuple[dict[str, Any], list[str]]:
    """What the run covers of all requirements, as it is on the certificate, and what keeps its plan unfulfilled."""
    try:
        plan = load_plan(str(run.get("plan") or ""))
        found = cover(load_requirements(), plan, tests)
    except BenchFault as fault:
        return {"plan": run.get("plan"), "scope": "no plan", "requirements": []}, [f"{RUN_FILE}: plan: {fault}"]
    covered = [each.as_json() for each in found]
    return {"plan": plan.plan, "scope": headline(plan, found), "requirements": covered}, unfulfilled(plan, found)


def _hashes(run_dir: Path) -> dict[str, str | None]:
    """SHA-256 of what the certificate rests on; None for a file that is not there.

    That of the results folder is taken over the lines ``<sha256>  <name>`` of its results and summary, sorted by name.
    """
    hashes: dict[str, str | None] = {
        name: sha256_of(run_dir / name) if (run_dir / name).is_file() else None
        for name in (OUTPUT_NAME, _EVIDENCE_INDEX, RUN_FILE)
    }
    files = sorted((run_dir / ALLURE_RESULTS_FOLDER).glob("*.json"))
    lines = "".join(f"{sha256_of(file)}  {file.name}\n" for file in files)
    hashes[ALLURE_RESULTS_FOLDER] = hashlib.sha256(lines.encode()).hexdigest() if files else None
    return hashes


def _differences(stored: Mapping[str, Any], fresh: Mapping[str, Any]) -> list[str]:
    problems = []
    old_sums = stored.get("sha256")
    old_sums = old_sums if isinstance(old_sums, dict) else {}
    for name, digest in fresh["sha256"].items():
        if old_sums.get(name) != digest:
            problems.append(
                f"{name}: sha256 is {digest or 'none'}, the certificate says {old_sums.get(name) or 'none'}"
            )
    for field in sorted((set(stored) | set(fresh)) - {"sha256"}):
        if stored.get(field) != fresh.get(field):
            detail = f": {stored.get(field)!r}, but the run says {fresh.get(field)!r}" if field != "tests" else ""
            problems.append(f"{JSON_NAME}: {field} is not what the files of the run say{detail}")
    return problems


def _lines_of(path: Path) -> list[str]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BenchFault(f"{path}: cannot be read: {error}") from error
    names = {line.partition("  ")[2] for line in lines}
    if not {JSON_NAME, PAGE_NAME} <= names:
        raise BenchFault(f"{path}: does not name {JSON_NAME} and {PAGE_NAME}; wanted: the sums of both")
    return lines


def _tests(number: int) -> str:
    return f"{number} test" if number == 1 else f"{number} tests"


def _counts(numbers: Mapping[str, str]) -> str:
    return ", ".join(f"{number} {status}" for status, number in numbers.items())


def _some(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return "; ".join(names[:_NAMES_SHOWN]) + (f"; and {more} more" if more > 0 else "")
