"""A qualification run from beginning to end: run folder, Robot Framework, Allure, certificate."""

from __future__ import annotations

import contextlib
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from niclab.bench.bench_file import load_bench
from niclab.bench.records import Bench, Role
from niclab.card import Card, load_card
from niclab.card.driver_choice import DriverChoice
from niclab.commands.certifying import robot_process
from niclab.commands.certifying.attempts import note_attempts, put_into_store
from niclab.commands.certifying.forecast import forecast
from niclab.commands.certifying.reach import reach
from niclab.commands.certifying.robot_process import RobotProcess
from niclab.commands.restore import restore_first
from niclab.commands.results.report import look_for_tools, try_report
from niclab.commands.schema import DIRECTORY, TAG_DOCUMENTATION
from niclab.core.abort import StopOrder
from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault
from niclab.files.repository import REPOSITORY
from niclab.files.secrets import Secrets, handed_out, without_secrets
from niclab.report.allure.allure_tools import Tools
from niclab.report.certificate import certificate
from niclab.report.certificate.waived import keep_waivers
from niclab.report.evidence import runfolder, signature, test_journal
from niclab.report.evidence.inputs import Input, keep_inputs
from niclab.report.evidence.runfolder import (
    ALLURE_RESULTS_FOLDER,
    CERTIFICATE_FILE,
    EVIDENCE_FOLDER,
    finish_run,
    new_run,
    plan_run,
    record_call,
    record_facts,
    record_ports,
    record_stop,
    subject_of,
)
from niclab.report.evidence.sums import SUMS_NAME
from niclab.report.own_checks.controls_check import record_controls
from niclab.scope.plan import load_plan
from niclab.scope.requirements import REQUIREMENTS_FILE, load_requirements
from niclab.scope.waivers import load_waivers, require_current

LISTENERS = REPOSITORY / "libraries" / "listeners"
MODIFIER = LISTENERS / "ProfileFilter.py"
PER_CARD = LISTENERS / "PerCard.py"
LISTENER = LISTENERS / "AllureResults.py"
ABORT = LISTENERS / "Abort.py"
TEST_JOURNAL = LISTENERS / "TestJournal.py"
MASKING = LISTENERS / "MessageMasking.py"
FIGURES = LISTENERS / "Figures.py"
JUNIT_NAME = "junit.xml"
PROGRESS = LISTENERS / "LiveProgress.py"
BOOTS, BOOTS_ONCE = "boots", "boots-the-dut-once"
"""Tags of keywords: those that boot the server they are given, and those that boot the dut once a kind of start."""


def run(
    bench_file: Path,
    card: str,
    plan: str,
    results: Path,
    systems: Mapping[Role, str] | None = None,
    sign_with: Path | None = None,
    *,
    dry_run: bool = False,
    suites: Sequence[str] = (),
    stop: StopOrder | None = None,
    allow_local_changes: bool = False,
    driver: str = "",
) -> ExitStatus:
    """Qualify ``card`` on the bench; return how it ended. It says first what to expect.

    Args:
        bench_file: The bench file.
        card: Name of the card's sheet, or its file.
        plan: Name of a plan in ``lab/plans``, or a plan's file: what the certificate must cover.
        results: Folder of the run folders.
        systems: Systems of servers that are to run others than the bench file says, by name.
        sign_with: Key of SSH that signs the certificate.
        dry_run: Only say what to expect, and what the bench can decide: nothing is run, and no run folder is made.
        suites: Names of the suites that are run, as of ``robot --suite``; the run is partial then, and never certified.
        stop: Where somebody orders the run to stop: its teardown runs, and it is not certified.
        allow_local_changes: Certify a real card although files of the lab differ from its commit; the certificate says
            so.
        driver: The driver that is qualified: ``inbox``, ``vendor`` or a version of the vendor's package; empty: the one
            that the servers have.

    Raises:
        BenchFault: When the lab has changes that are not allowed, when bench file, sheet, plan, key, suites or driver
            are wrong, what earlier runs left cannot be undone, or the certificate cannot be written. A report that
            cannot be made is a warning: it does not change the verdict.
    """
    bench, sheet = load_bench(bench_file).with_systems(systems or {}), load_card(card)
    chosen_plan = load_plan(plan)
    DriverChoice(driver).version(sheet, bench.server(Role.DUT).os)
    profile = chosen_plan.profile.value
    if not (bench.emulated or dry_run or allow_local_changes):
        require_committed()
    waivers = load_waivers(card=sheet.name)
    require_current(waivers, date.today())
    if sign_with is not None:
        signature.check_key(sign_with)
    options = [*chosen(bench, card, sheet, profile, systems or {}, driver), *only(suites)]
    tools = look_for_tools()
    ahead = look_ahead(options, bench.secret_names)
    ahead.require_each(suites)
    cost = forecast(bench, sheet.name, chosen_plan.plan, results, ahead.tests, ahead.boots)
    for line in cost.lines():
        print(line, flush=True)
    if dry_run:
        for line in reach(bench, ahead.tags, load_requirements()).lines():
            print(line, flush=True)
        return ExitStatus.CERTIFIED
    if stop is not None and stop.reason:
        raise BenchFault(f"bench {bench.name}: {stop.reason}; nothing was run")
    read_secrets(bench)
    restore_first(bench)
    run_dir = new_run(results, sheet.name, bench.name, emulated=bench.emulated)
    part = f"only the suites {', '.join(suites)} were asked for" if suites else None
    plan_run(run_dir, expected_tests=ahead.tests, plan=chosen_plan.plan, partial=part)
    files = {Input.SHEET: sheet.file, Input.BENCH: bench.file, Input.PLAN: chosen_plan.file}
    keep_inputs(run_dir, {**files, Input.REQUIREMENTS: REQUIREMENTS_FILE}, sheet.name)
    keep_waivers(run_dir, waivers)
    record_controls(run_dir, results)
    if allow_local_changes:
        runfolder.allow_local_changes(run_dir)
    ports = sum(port.role is Role.DUT for port in bench.ports)
    record_ports(run_dir, of_card=sheet.identity.network_ports, of_bench=ports)
    record_facts(run_dir, profile=profile, equipment=bench.description)
    others = {role.value: system for role, system in (systems or {}).items()}
    others |= {"driver": driver, "suites": "\n".join(suites)}
    record_call(run_dir, bench=str(bench.file.absolute()), card=card, plan=plan, **others)
    return finish(run_dir, bench, run_robot(run_dir, options, cost.usual, stop), tools, sign_with)


def read_secrets(bench: Bench) -> None:
    """Read the secrets of a bench as they are now: every value that one had during a run is masked at its end.

    A bench that a command switches on may make the file only then, and what it makes is read when the run has ended.

    Args:
        bench: The bench.

    Raises:
        BenchFault: One is missing or cannot be masked.
    """
    file = bench.secrets_file
    if bench.commands is not None and file is not None and not file.exists():
        return
    secrets = Secrets(bench.secrets_file)
    for name in bench.secret_names:
        secrets.get(name)


def require_committed() -> None:
    """Require that the lab is what its commit says: a certificate names the commit. A lab without git has none.

    Raises:
        BenchFault: Files differ from it, or git does not say whether they do.
    """
    state = runfolder.git_state(REPOSITORY)
    if state is None and (REPOSITORY / ".git").exists():
        found = f"{REPOSITORY}: git does not say whether files differ from the commit (git status)"
    elif state is not None and state["local_changes"]:
        found = f"{REPOSITORY}: files differ from commit {state['commit'][:12]}"
    else:
        return
    raise BenchFault(f"{found}; expected none on a bench of real cards, or --allow-local-changes")


def run_robot(run_dir: Path, options: list[str], earlier: Path | None = None, stop: StopOrder | None = None) -> int:
    """Run Robot Framework with every listener of a qualification; return its exit status.

    Args:
        run_dir: Folder of the run.
        options: What it runs.
        earlier: Folder of an earlier run alike, from whose durations the time left is foretold.
        stop: Where somebody orders the run to stop.
    """
    stop = stop or StopOrder()
    results = f"{LISTENER}:{run_dir / ALLURE_RESULTS_FOLDER}"
    tests = f"{TEST_JOURNAL}:{run_dir / EVIDENCE_FOLDER / test_journal.FILE}"
    progress = f"{PROGRESS}:{earlier / CERTIFICATE_FILE}" if earlier else str(PROGRESS)
    every = (MASKING, ABORT, FIGURES, progress, results, tests)
    listeners = [word for each in every for word in ("--listener", str(each))]
    whole = ["--maxerrorlines", "NONE"]  # each line of a failure is judged, and a waiver has to cover it
    output = ["--console", "quiet", *whole, "--xunit", JUNIT_NAME, "--outputdir", str(run_dir)]
    status = RobotProcess().run([*options, *listeners, *output], stop)
    if stop.reason:
        record_stop(run_dir, stop.reason)
    return status


def finish(run_dir: Path, bench: Bench, rc: int, tools: Tools | None, sign_with: Path | None) -> ExitStatus:
    """Seal the evidence of a run, judge it, and make its report; return how it ended.

    Args:
        run_dir: Folder of the run.
        bench: The bench.
        rc: Exit status of Robot Framework.
        tools: Programs that make the report, if there are any.
        sign_with: Key of SSH that signs the certificate.

    Raises:
        BenchFault: Evidence or certificate cannot be written.
    """
    with contextlib.suppress(BenchFault):  # one that is gone was read when the run began
        read_secrets(bench)
    finish_run(run_dir, rc, handed_out())
    note_attempts(run_dir)
    status = certificate.certify(run_dir, rc)
    put_into_store(run_dir)
    mark = f" ({subject_of(bench.emulated)})" if bench.emulated else ""
    for reason in certificate.reasons_of(run_dir):
        print(f"  {reason}", flush=True)
    print(f"{certificate.words_of(status)}{mark}: {run_dir}", flush=True)
    try_report(run_dir, tools)
    if sign_with is not None:
        signature.sign(run_dir / SUMS_NAME, sign_with)
    return status


def chosen(
    bench: Bench, card: str, sheet: Card, profile: str, systems: Mapping[Role, str], driver: str = ""
) -> list[str]:
    """Return the options of Robot Framework that choose and describe the tests.

    Args:
        bench: The bench.
        card: Name of the card's sheet, or its file.
        sheet: The sheet.
        profile: Name of the profile.
        systems: Systems of servers that are to run others than the bench file says, by name.
        driver: The driver that is qualified, see :func:`run`.
    """
    other_systems = [f"{role.name}_OS:{system}" for role, system in systems.items()]
    asked = [*other_systems, *([f"DRIVER:{driver}"] if driver else [])]
    options = [
        *(word for variable in asked for word in ("--variable", variable)),
        *("--variable", f"BENCH:{bench.file}", "--variable", f"CARD:{card}", "--variable", f"PROFILE:{profile}"),
        *("--name", "Qualification", "--settag", f"allure.label.card:{sheet.name}"),
        *("--prerunmodifier", f"{PER_CARD}:{sheet.file}:{bench.server(Role.DUT).os.value}"),
        *("--prerunmodifier", f"{MODIFIER}:{profile}"),
    ]
    subject = subject_of(bench.emulated)
    about = {"Subject": subject, "Card": sheet.name, "Bench": bench.name, "Profile": profile}
    options += [word for name, value in about.items() for word in ("--metadata", f"{name}:{value}")]
    return [*options, *pages(bench, sheet)]


def only(suites: Sequence[str]) -> list[str]:
    """Return the options of Robot Framework that select suites.

    Args:
        suites: Their names; none selects all.
    """
    return [word for suite in suites for word in ("--suite", suite)]


def pages(bench: Bench, sheet: Card) -> list[str]:
    """Return the options of Robot Framework, and of rebot, for its pages.

    Args:
        bench: The bench.
        sheet: The sheet.
    """
    options = ["--argumentfile", str(DIRECTORY / TAG_DOCUMENTATION), "--tagstatexclude", "allure.*"]
    if not bench.emulated:
        return options
    titles = {page: f"{subject_of(bench.emulated)}: {page} of {sheet.name}" for page in ("log", "report")}
    return [*options, *(word for page, title in titles.items() for word in (f"--{page}title", title))]


@dataclass(frozen=True)
class Ahead:
    """The result of a dry run.

    Attributes:
        tags: Tags of each test.
        boots: The boots of each server that the tests order at most.
        suites: Names of the suites that have tests, alone and with those above them.
    """

    tags: tuple[frozenset[str], ...]
    boots: Mapping[Role, int]
    suites: frozenset[str]

    @property
    def tests(self) -> int:
        """The number of the tests."""
        return len(self.tags)

    def require_each(self, suites: Sequence[str]) -> None:
        """Require that each suite that was asked for has a test: Robot Framework leaves a name out that has none.

        Args:
            suites: Their names, as of ``robot --suite``.

        Raises:
            BenchFault: One has none.
        """
        there = {_compared(name) for name in self.suites}
        empty = [suite for suite in suites if not any(fnmatchcase(name, _compared(suite)) for name in there)]
        if empty:
            raise BenchFault(
                f"suites: {', '.join(empty)}: no test in this run; expected the name of a suite with tests"
            )


def look_ahead(options: list[str], secret_names: Iterable[str] = ()) -> Ahead:
    """Look at the selected tests by a dry run: unknown keywords and wrong arguments stop the run here.

    Args:
        options: Options of Robot Framework.
        secret_names: Names of the bench's secrets, of which a dry run needs none.

    Raises:
        BenchFault: When the dry run fails or selects nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output.xml"
        quiet = ["--dryrun", "--console", "none", "--log", "NONE", "--report", "NONE", "--output", str(output)]
        command = robot_process.command([*options, *quiet])
        done = robot_process.bounded(
            command, "suites: the dry run", without_secrets(robot_process.environment(), secret_names)
        )
        if done.returncode:
            raise BenchFault(
                f"suites: the dry run fails (status {done.returncode}): {(done.stderr or done.stdout)[-800:]}"
            )
        tree = ET.parse(output)
    tags = [frozenset(tag.text or "" for tag in test.iterfind("tag")) for test in tree.iter("test")]
    return Ahead(tuple(tags), Counter(_boots(tree)), frozenset(_suites(tree.getroot(), "")))


def _suites(above: ET.Element, names: str) -> Iterator[str]:
    for suite in above.iterfind("suite"):
        name = suite.get("name", "")
        full = f"{names}.{name}" if names else name
        if suite.find(".//test") is not None:
            yield from (name, full)
        yield from _suites(suite, full)


def _compared(name: str) -> str:
    """The name of a suite as Robot Framework compares it."""
    return name.lower().replace(" ", "").replace("_", "")


def _boots(tree: ET.ElementTree[ET.Element]) -> Iterator[Role]:
    """The server of each keyword that is tagged as one that boots it."""
    servers, made = {role.value: role for role in Role}, set[tuple[str, ...]]()
    for keyword in tree.iter("kw"):
        tags = {tag.text for tag in keyword.iterfind("tag")}
        arguments = tuple((arg.text or "").lower() for arg in keyword.iterfind("arg"))
        if BOOTS in tags:
            yield from (servers[name] for name in arguments if name in servers)
        if BOOTS_ONCE in tags and arguments not in made:
            made.add(arguments)
            yield Role.DUT
