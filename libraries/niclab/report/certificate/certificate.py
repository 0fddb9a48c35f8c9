"""The certificate of a run: what was qualified, whether it holds, why not if it does not, and the hashes it rests on.

It is made of ``run.json``, the Allure results and their summary, ``output.xml`` and the evidence, and is written as
``certificate.json``, ``certificate.html``, ``certificate.pdf`` and ``certificate.sha256`` (to be checked with
``sha256sum -c`` as well).
:func:`verify` finds files that were changed, lost or added; a forger who rewrites all of them is found by a signature
(:mod:`niclab.report.evidence.signature`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault
from niclab.report import now, read_json_object, sha256_of, warn, write_atomically, write_json
from niclab.report.allure.allure import REPORT_FOLDER
from niclab.report.allure.allure_results import RunResults, TestRecord, read_results
from niclab.report.certificate.certified_identity import bench_of, identity_of, unknown_of
from niclab.report.certificate.coverage import Scope, cover, decides_for_the_lab, headline, unfulfilled
from niclab.report.certificate.measured import charts_of, evidence_of_tests, figures_of, named_charts
from niclab.report.certificate.reasons import Reasons
from niclab.report.certificate.remarks import remarks
from niclab.report.certificate.waived import Waived, waived
from niclab.report.evidence.evidence import read_index, stored_files
from niclab.report.evidence.inputs import Input, folder_of, kept
from niclab.report.evidence.runfolder import (
    ALLURE_RESULTS_FOLDER,
    CERTIFICATE_FILE,
    DEMONSTRATION,
    EVIDENCE_FOLDER,
    NEEDED_FACTS,
    PHYSICAL,
    RUN_FILE,
    read_run,
)
from niclab.report.evidence.sums import OUTPUT_NAME, PAGE_NAME, PAPER_NAME, covered, differences, write_sums
from niclab.report.own_checks.all_checks import own_checks
from niclab.report.pages.content import CERTIFIED, WAIVED
from niclab.report.pages.page import certificate_page
from niclab.report.pages.paper import certificate_paper
from niclab.report.timing import timing_of
from niclab.report.verdicts import Verdict
from niclab.scope.plan import load_plan
from niclab.scope.requirements import load_requirements

NOT_CERTIFIED = "NOT CERTIFIED"
FORMAT = 5
_NAMES_SHOWN = 5
_MOST_COUNTED = 250
"""Robot Framework's exit status counts no more failed tests."""
_WORDS = {ExitStatus.CERTIFIED: CERTIFIED, ExitStatus.WAIVED: WAIVED}
_MEANINGS = {
    Verdict.CARD_FAILURE: ExitStatus.CARD_FAILURE,
    Verdict.BENCH_FAULT: ExitStatus.BENCH_FAULT,
    Verdict.UNDECIDED: ExitStatus.UNDECIDED,
    Verdict.NOT_APPLICABLE: ExitStatus.UNDECIDED,
}
"""The ending of a run in which nothing is wrong but a test or check with this verdict."""


def certify(run_dir: Path, robot_rc: int) -> ExitStatus:
    """Judge a finished run and write its certificate, also when it is not certified; return what it says.

    Args:
        run_dir: Folder of the run.
        robot_rc: Exit status of ``robot``.

    Raises:
        BenchFault: When the certificate cannot be written. Whatever is missing or unreadable in the run is a reason on
            the certificate instead.
    """
    if not run_dir.is_dir():
        raise BenchFault(f"{run_dir}: is no folder; expected the folder of a run")
    certificate, status = _certificate(run_dir, robot_rc, issued=now())
    write_json(run_dir / CERTIFICATE_FILE, certificate)
    charts = charts_of(run_dir, certificate["charts"])
    write_atomically(run_dir / PAGE_NAME, certificate_page(certificate, charts))
    _write_paper(run_dir, certificate, charts)
    write_sums(run_dir)
    return status


def reasons_of(run_dir: Path) -> list[str]:
    """Return why a run was not certified; nothing where it was, or was not judged.

    Args:
        run_dir: Folder of the run.
    """
    file = run_dir / CERTIFICATE_FILE
    return list(map(str, read_json_object(file).get("reasons", ()))) if file.is_file() else []


def _write_paper(run_dir: Path, certificate: Mapping[str, Any], charts: Mapping[str, str]) -> None:
    """Write the PDF file; one that cannot be made is a warning, and an older one is removed."""
    paper = run_dir / PAPER_NAME
    paper.unlink(missing_ok=True)
    try:
        write_atomically(paper, certificate_paper(certificate, charts))
    except BenchFault as fault:
        warn(f"no {PAPER_NAME}: {fault}\nmake it later with: niclab report {run_dir}")


def words_of(status: ExitStatus) -> str:
    """Return the verdict of a run in words.

    Args:
        status: How it ended.
    """
    return _WORDS.get(status, NOT_CERTIFIED)


def verify(run_dir: Path) -> list[str]:
    """Judge the run again from its files; return what differs from the certificate, nothing if all is as it was.

    Raises:
        BenchFault: When there is no readable certificate.
    """
    file = run_dir / CERTIFICATE_FILE
    certificate = read_json_object(file)
    if certificate.get("format") != FORMAT:
        raise BenchFault(f"{file}: format: {certificate.get('format')!r} is not known; expected {FORMAT}")
    issued, robot_rc = certificate.get("issued"), certificate.get("robot_rc")
    if not isinstance(issued, str) or not isinstance(robot_rc, int):
        raise BenchFault(f"{file}: issued, robot_rc; expected the time and the exit status of robot")
    return [*_differences(certificate, _certificate(run_dir, robot_rc, issued)[0]), *differences(run_dir)]


def cover_report(run_dir: Path) -> None:
    """Issue the certificate of a run again after its Allure report was made, so that its hashes cover the report.

    A run without a certificate is left alone.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: Something else than the report differs from the certificate, which stays as it is.
    """
    if not (run_dir / CERTIFICATE_FILE).is_file():
        return
    own = (f"{REPORT_FOLDER}/", f"{REPORT_FOLDER}:")
    # one of an older format says less; its files must still be those that it was made for
    older = read_json_object(run_dir / CERTIFICATE_FILE).get("format") in range(1, FORMAT)
    found = differences(run_dir) if older else verify(run_dir)
    problems = [problem for problem in found if not problem.startswith(own)]
    if problems:
        raise BenchFault("\n".join([f"{run_dir}: the certificate does not cover the new report:", *problems]))
    certify(run_dir, int(read_json_object(run_dir / CERTIFICATE_FILE)["robot_rc"]))


def _certificate(run_dir: Path, robot_rc: int, issued: str) -> tuple[dict[str, Any], ExitStatus]:
    reasons = Reasons()
    try:
        run = read_run(run_dir)
    except BenchFault as fault:
        run = {}
        reasons.add(str(fault))
    results = read_results(run_dir / ALLURE_RESULTS_FOLDER)
    accepted = waived(run_dir, run.get("card"), run.get("started"), results.tests)
    reasons.add(*accepted.problems)
    _reasons_of_tests(reasons, results, run, accepted)
    own = own_checks(run_dir)
    for check in own:
        if check.verdict is not Verdict.PASS:
            reasons.add(f"{check.name}: {check.message}.", means=_MEANINGS[check.verdict])
    _reasons_of_run(reasons, run, robot_rc, len(accepted.tests), results.robot_statuses["FAIL"])
    of_lab = [check for check in own if check.verdict is not Verdict.CARD_FAILURE]
    scope = _scope(reasons, run_dir, run, results.tests, of_lab, accepted)
    in_output, warnings = _reasons_of_output(run_dir / OUTPUT_NAME, results)
    reasons.add(*in_output)
    try:
        spent = timing_of(run_dir).as_json()
    except BenchFault:
        spent = None  # whatever cannot be read is a reason of its own
    figures, no_figures = figures_of(run_dir, results.tests)
    remarked, unread = remarks(run_dir, run, warnings, figures)
    reasons.add(*unread, *_reasons_of_evidence(run_dir / EVIDENCE_FOLDER), *no_figures)
    evidence = evidence_of_tests(run_dir)
    status = reasons.status(waived=bool(accepted.tests))
    certificate = {
        "format": FORMAT,
        "verdict": words_of(status),
        "reasons": reasons.texts,
        **{name: run.get(name) for name in ("card", "bench", "subject", "run", "started", "finished", "who", "git")},
        "issued": issued,
        "facts": run.get("facts") or {},
        "versions": run.get("versions") or {},
        "command_line": run.get("command_line"),
        "robot_rc": robot_rc,
        "expected_tests": run.get("expected_tests"),
        "inputs": run.get("inputs") or {},
        "identity": identity_of(run_dir),
        "equipment": bench_of(run_dir, run),
        "figures": figures,
        "charts": named_charts(run_dir),
        "counts": _counted([*results.tests, *own]),
        "tests": [
            {
                **test.as_json(),
                "waiver": ", ".join(accepted.tests.get(test.name, ())) or None,
                "evidence": evidence.get(test.name.rpartition(".")[2], []),
            }
            for test in [*results.tests, *own]
        ],
        "waivers": accepted.as_json(),
        "controls": run.get("controls"),
        **scope,
        "timing": spent,
        "remarks": [each.as_json() for each in remarked],
        "sha256": covered(run_dir),
    }
    return certificate, status


def _reasons_of_run(reasons: Reasons, run: Mapping[str, Any], robot_rc: int, waived_tests: int, failed: int) -> None:
    if run.get("partial"):
        reasons.add(f"The run is partial: {run['partial']}.", means=ExitStatus.PARTIAL)
    if run.get("stopped"):
        reasons.add(f"The run was stopped before its end: {run['stopped']}.")
    if robot_rc != waived_tests:
        counted = failed and robot_rc == min(failed, _MOST_COUNTED)  # the failed tests are reasons of their own
        means = ExitStatus.PARTIAL if counted else ExitStatus.BENCH_FAULT
        reasons.add(f"robot ended with exit status {robot_rc}; expected {waived_tests}.", means=means)
    if run and not run.get("finished"):
        reasons.add(f"{RUN_FILE} does not say that the run has finished.")
    elif run and run.get("robot_rc") != robot_rc:
        reasons.add(f"{RUN_FILE} notes exit status {run.get('robot_rc')} of robot, not {robot_rc}.")
    for name in ("card", "bench", "who", "versions"):
        if run and not run.get(name):
            reasons.add(f"{RUN_FILE} does not name: {name}.")
    if run and run.get("subject") not in (PHYSICAL, DEMONSTRATION):
        reasons.add(f"{RUN_FILE} does not say whether the card is physical or emulated.")
    changed = (run.get("git") or {}).get("local_changes") and not run.get("local_changes_allowed")
    if changed and run.get("subject") == PHYSICAL:
        reasons.add("The files of the lab differ from its commit; expected no difference, or --allow-local-changes.")
    facts = run.get("facts") or {}
    missing = [name for name in NEEDED_FACTS if not facts.get(name)]
    if run and missing:
        reasons.add(f"{RUN_FILE} does not record what was qualified: {', '.join(missing)}.")


def _reasons_of_tests(reasons: Reasons, results: RunResults, run: Mapping[str, Any], accepted: Waived) -> None:
    reasons.add(*results.problems)
    said = {
        Verdict.CARD_FAILURE: "found the card wrong",
        Verdict.BENCH_FAULT: "met a fault of the bench",
        Verdict.UNDECIDED: "could not decide",
    }
    for verdict, words in said.items():
        names = [test.name for test in results.tests if test.verdict is verdict and test.name not in accepted.tests]
        if names:
            reasons.add(f"{_tests(len(names))} {words}: {_some(names)}.", means=_MEANINGS[verdict])
    if not any(test.verdict is Verdict.PASS for test in results.tests):
        means = ExitStatus.UNDECIDED if results.tests else ExitStatus.BENCH_FAULT
        reasons.add("No test has passed; expected at least one.", means=means)
    doubled = [name for name, count in Counter(test.name for test in results.tests).items() if count > 1]
    if doubled:
        reasons.add(f"More than one result has the name: {_some(doubled)}.")
    expected = run.get("expected_tests")
    if not isinstance(expected, int) or isinstance(expected, bool) or expected < 1:
        reasons.add(f"{RUN_FILE} does not say how many tests a complete run has.")
    elif expected != len(results.tests):
        reasons.add(f"There are {len(results.tests)} results; a complete run has {_tests(expected)}.")


def _reasons_of_output(path: Path, results: RunResults) -> tuple[list[str], list[str]]:
    """Count the tests a second time, in Robot Framework's output, and look for errors that failed no test.

    Returns:
        What keeps the run from being certified, and the warnings.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        return [f"{path.name} cannot be read: {error.strerror}."], []
    except ElementTree.ParseError as error:
        return [f"{path.name} is not whole: {error}."], []
    total = root.find("./statistics/total/stat")
    if total is None:
        return [f"{path.name} holds no statistics."], []
    counted = {status: total.get(status.lower(), "none") for status in ("PASS", "FAIL", "SKIP")}
    ours = {status: str(results.robot_statuses[status]) for status in counted}
    reasons = []
    if counted != ours:
        reasons.append(f"{path.name} counts {_counts(counted)}; the results are {_counts(ours)}.")
    errors, warnings = (
        [message.text or "" for message in root.iterfind(f"./errors/msg[@level='{level}']")]
        for level in ("ERROR", "WARN")
    )
    if errors:
        reasons.append(f"Robot Framework reported {len(errors)} errors while running: {_some(errors)}")
    return reasons, warnings


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


def _scope(
    reasons: Reasons,
    run_dir: Path,
    run: Mapping[str, Any],
    tests: list[TestRecord],
    of_lab: list[TestRecord],
    accepted: Waived,
) -> dict[str, Any]:
    """Return the part of all requirements that the run covers, as on the certificate; reasons: what its plan lacks."""
    try:
        plan = load_plan(str(run.get("plan") or ""), folder_of(run_dir, Input.PLAN))
        requirements = load_requirements(kept(run_dir, Input.REQUIREMENTS))
        unknown = unknown_of(run_dir, run)
        found = cover(Scope(requirements, plan, bool(run.get("partial")), unknown), tests)
    except BenchFault as fault:
        reasons.add(f"{RUN_FILE}: plan: {fault}")
        return {
            "plan": run.get("plan"),
            "scope": "no plan",
            "requirements": [],
            "lab_counts": _counted(of_lab) if of_lab else {},
        }
    lacking = unfulfilled(requirements, plan, found, accepted.tests)
    reasons.add(*lacking, means=ExitStatus.PARTIAL if run.get("partial") else ExitStatus.UNDECIDED)
    return {
        "plan": plan.plan,
        "scope": headline(requirements, plan, found),
        "requirements": [each.as_json() for each in found],
        "lab_counts": _counted([*of_lab, *(test for test in tests if decides_for_the_lab(requirements, test))]),
    }


def _counted(tests: list[TestRecord]) -> dict[str, int]:
    counts = Counter(test.verdict for test in tests)
    return {verdict.value: counts[verdict] for verdict in Verdict}


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
            problems.append(f"{CERTIFICATE_FILE}: {field} is not what the files of the run say{detail}")
    return problems


def _tests(number: int) -> str:
    return f"{number} test" if number == 1 else f"{number} tests"


def _counts(numbers: Mapping[str, str]) -> str:
    return ", ".join(f"{number} {status}" for status, number in numbers.items())


def _some(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return "; ".join(names[:_NAMES_SHOWN]) + (f"; and {more} more" if more > 0 else "")
