"""A killed qualification run, continued: ``niclab certify --resume RUN``.

Tests that have ended keep their verdicts. The test during which the run was killed is not repeated: it gets a verdict
with the words of the dut's console. All other tests run, and the certificate says that the run was continued.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from niclab.bench.bench_file import load_bench
from niclab.bench.records import Bench, OperatingSystem, Role
from niclab.card import Card, load_card
from niclab.commands.certifying import certify, robot_process
from niclab.commands.restore import restore_first
from niclab.commands.results.report import look_for_tools
from niclab.core.exit_status import ExitStatus
from niclab.core.undo import Journal
from niclab.core.verdict import BenchFault, KernelFailure
from niclab.files.environment import plain_environment
from niclab.files.mask import Mask
from niclab.files.repository import REPOSITORY
from niclab.files.secrets import Secrets
from niclab.fleet.reservation import ReservedBench
from niclab.hosts.kernel import freebsd_trouble as of_freebsd
from niclab.hosts.kernel import linux_trouble as of_linux
from niclab.hosts.kernel.card_names import CardNames
from niclab.hosts.kernel.dmesg import read_dmesg
from niclab.hosts.kernel.trouble import NOBODY_KNOWS, OF_THE_BENCH, ONLY_OF_THE_CARD, KernelTrouble
from niclab.report.certificate.waived import kept_waivers
from niclab.report.evidence import signature
from niclab.report.evidence.continued import add_verdict, found_in, join_summaries, make_whole
from niclab.report.evidence.inputs import Input, content_to_keep, kept
from niclab.report.evidence.runfolder import (
    ALLURE_RESULTS_FOLDER,
    CERTIFICATE_FILE,
    EVIDENCE_FOLDER,
    git_state,
    read_run,
    record_continuation,
)
from niclab.report.evidence.sums import OUTPUT_NAME
from niclab.report.evidence.test_journal import FILE, EndedTest, SoFar, read_so_far
from niclab.report.own_checks.last_look import earlier_findings, keep_last_look
from niclab.scope.plan import load_plan
from niclab.scope.requirements import REQUIREMENTS_FILE
from niclab.scope.waivers import require_current

CONTINUE = certify.LISTENERS / "Continue.py"
_PARTS = "outputs"
_LINES = 40
_CONSOLE = f"console-{Role.DUT.value}.log"
_STAMP = re.compile(r"(?P<when>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z (?P<text>.*)")


@dataclass(frozen=True)
class _Call:
    """The original arguments of the killed run."""

    bench: Bench
    sheet: Card
    options: list[str]
    started: str


def run(run_dir: Path, sign_with: Path | None = None, held: ReservedBench | None = None) -> ExitStatus:
    """Continue a killed run; return what :func:`niclab.commands.certifying.certify.run` returns.

    Where every test has ended, no test runs: only the certificate is made.

    Args:
        run_dir: Folder of the run.
        sign_with: Key of SSH that signs the certificate.
        held: The bench that is held for it, where benches are shared out.

    Raises:
        BenchFault: The bench is another than the run's, the run has a certificate or still goes on, its files or the
            lab have changed since, one of its waivers has expired and tests are left, what it left cannot be undone, or
            the certificate cannot be written.
    """
    run_dir = run_dir.resolve()
    if sign_with is not None:
        signature.check_key(sign_with)
    call, evidence = _call(run_dir), run_dir / EVIDENCE_FOLDER
    certify.read_secrets(call.bench)
    if held is not None and held.file.resolve() != call.bench.file.resolve():
        raise BenchFault(f"bench {held.file}: is held; expected {call.bench.file}, on which the run was killed")
    with Journal.for_bench(call.bench.name).hold():  # a run that goes on holds it
        _cut_torn_lines(evidence)
        before = read_so_far(evidence / FILE)
    is_left = len(before.ended) != read_run(run_dir).get("expected_tests")
    if is_left:
        require_current(kept_waivers(run_dir, call.sheet.name), date.today())
        restore_first(call.bench)
    if before.running:
        add_verdict(evidence, before.running, _verdict_of_interrupted(call, evidence, before))
    tools = look_for_tools()
    _keep_part(run_dir, evidence, before)
    record_continuation(run_dir, before.running)
    rc = 0
    if is_left and not before.running:
        _keep_words_between(call, run_dir, before)
    if is_left:
        options = [*call.options, "--prerunmodifier", f"{CONTINUE}:{evidence}"]
        rc = certify.run_robot(run_dir, options, stop=held.stop if held else None)
    after = read_so_far(evidence / FILE)
    join_summaries(run_dir / ALLURE_RESULTS_FOLDER, after.ended, before.ended)
    if is_left:
        (run_dir / OUTPUT_NAME).replace(_next_part(evidence))
    rc = max(rc, _merge(run_dir, evidence, call))
    return certify.finish(run_dir, call.bench, rc, tools, sign_with)


def _call(run_dir: Path) -> _Call:
    """Return the original arguments of the run, as long as nothing of it has changed."""
    run = read_run(run_dir)
    if run.get("finished") and (run_dir / CERTIFICATE_FILE).exists():
        raise BenchFault(f"{run_dir}: has finished at {run['finished']}; expected a run that was killed")
    called: dict[str, Any] = run.get("called") or {}
    missing = [name for name in ("bench", "card", "plan") if not called.get(name)]
    if missing:
        raise BenchFault(f"{run_dir}: run.json does not say what it was called with: {', '.join(missing)}")
    systems: dict[Role, str] = {role: called[role.value] for role in Role if role.value in called}
    bench = load_bench(called["bench"]).with_systems(systems)
    sheet, plan = load_card(called["card"]), load_plan(called["plan"])
    files = {Input.SHEET: sheet.file, Input.BENCH: bench.file, Input.PLAN: plan.file}
    for kind, file in {**files, Input.REQUIREMENTS: REQUIREMENTS_FILE}.items():
        if content_to_keep(kind, file, sheet.name) != kept(run_dir, kind).read_bytes():
            raise BenchFault(f"{file}: has changed since the run began; expected {kept(run_dir, kind)}")
    now, then = git_state(REPOSITORY), run.get("git")
    if now != then:
        raise BenchFault(f"{REPOSITORY}: is at {now}; expected {then}, as when the run began")
    suites = certify.only(str(called.get("suites") or "").splitlines())
    driver = str(called.get("driver") or "")
    options = [*certify.chosen(bench, called["card"], sheet, plan.profile.value, systems, driver), *suites]
    return _Call(bench, sheet, options, str(run["started"]))


def _cut_torn_lines(evidence: Path) -> None:
    """Cut the last line of each log that the kill has torn: whoever reads it later would stumble over it."""
    for file in evidence.glob("*.jsonl"):
        content = file.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole != len(content):
            with file.open("r+b") as log:
                log.truncate(whole)


def _verdict_of_interrupted(call: _Call, evidence: Path, before: SoFar) -> str:
    """The message of the test during which the run was killed: whose it is, and what the dut's console said."""
    said = _console_since(evidence / _CONSOLE, before.since)
    found, _ = _troubles(call, said)
    kind = KernelFailure if found else BenchFault
    heard = "\n".join(said[-_LINES:]) or "(nothing)"
    text = "the run was killed during this test, which is not repeated"
    return _masked(call, f"{kind.__name__}: {text}{_words(found)}\ndut console since it began:\n{heard}")


def _keep_words_between(call: _Call, run_dir: Path, before: SoFar) -> None:
    """Keep the dut's words since the last test ended: no look has judged them, and the next one begins behind them."""
    evidence, ends = run_dir / EVIDENCE_FOLDER, [_end_of(each) for each in before.ended.values() if each.start]
    of_card, of_others = _troubles(call, _console_since(evidence / _CONSOLE, max(ends, default=None)))
    said = "the run was killed between two tests; dut console since the last one"
    found = [
        kind(_masked(call, f"{said}{_words(each)}"))
        for kind, each in ((KernelFailure, of_card), (BenchFault, of_others))
        if each
    ]
    if found:
        keep_last_look(evidence, found, earlier_findings(run_dir), over=False)


def _end_of(test: EndedTest) -> datetime:
    return datetime.fromisoformat(test.start).astimezone() + timedelta(seconds=test.seconds)


def _troubles(call: _Call, said: Sequence[str]) -> tuple[list[KernelTrouble], list[KernelTrouble]]:
    """The trouble that lines of the dut's console report: that of the card, and that of others."""
    dut = call.bench.server(Role.DUT)
    read = of_freebsd.read_trouble if dut.os is OperatingSystem.FREEBSD else of_linux.read_trouble
    ports = [port.pci for port in call.bench.ports if port.role is Role.DUT]
    card = CardNames(frozenset(ports), frozenset({call.sheet.driver(dut.os).module}), frozenset())
    troubles = [each for each in read(read_dmesg("\n".join(said))) if not call.sheet.calls_harmless(each.words)]
    known = [each for each in troubles if each.kind not in NOBODY_KNOWS]
    of_card = [each for each in known if card.are_in(each) and each.kind not in OF_THE_BENCH]
    return of_card, [each for each in known if each not in of_card and each.kind not in ONLY_OF_THE_CARD]


def _words(troubles: Sequence[KernelTrouble]) -> str:
    return "".join(f"; {each.kind}: {each.words}" for each in troubles[:3])


def _masked(call: _Call, text: str) -> str:
    secrets = Secrets(call.bench.secrets_file)
    return Mask([secrets.get(name) for name in call.bench.secret_names])(text)


def _console_since(log: Path, since: datetime | None) -> list[str]:
    if since is None or not log.exists():
        return []
    lines = [_STAMP.match(line) for line in log.read_text("utf-8", "replace").replace("\0", "").splitlines()]
    heard = [line for line in lines if line is not None and not line["text"].startswith("---")]
    return [line["text"] for line in heard if datetime.fromisoformat(line["when"]).replace(tzinfo=UTC) >= since]


def _keep_part(run_dir: Path, evidence: Path, before: SoFar) -> None:
    """Keep the output of the killed part: the tests, warnings and errors that no part has yet."""
    parts = _parts(evidence)
    tests, moments = found_in(parts)
    new = {name: test for name, test in before.ended.items() if name not in tests}
    messages = [each for each in before.messages if (each.time, each.level) not in moments]
    if new or (messages and not parts):
        make_whole(run_dir / OUTPUT_NAME, new, _next_part(evidence), messages)
    elif messages:
        make_whole(parts[-1], {}, parts[-1], messages)


def _next_part(evidence: Path) -> Path:
    (evidence / _PARTS).mkdir(exist_ok=True)
    return evidence / _PARTS / f"output-{len(_parts(evidence)) + 1}.xml"


def _parts(evidence: Path) -> list[Path]:
    return sorted((evidence / _PARTS).glob("output-*.xml"), key=lambda file: int(file.stem.partition("-")[2]))


def _merge(run_dir: Path, evidence: Path, call: _Call) -> int:
    """Merge the outputs of all parts into one, with log and report; return the exit status that it means."""
    from_begin = ["--starttime", call.started[:19], "--endtime", datetime.now().isoformat(timespec="seconds")]
    files = ["--output", OUTPUT_NAME, "--xunit", certify.JUNIT_NAME]
    options = ["--merge", "--nostatusrc", *files, "--outputdir", str(run_dir), *from_begin]
    command = [sys.executable, "-m", "robot.rebot", *options, *certify.pages(call.bench, call.sheet)]
    done = robot_process.bounded([*command, *map(str, _parts(evidence))], f"{run_dir}: rebot", plain_environment())
    if done.returncode:
        raise BenchFault(f"{run_dir}: the outputs cannot be merged: {(done.stderr or done.stdout)[-800:]}")
    failed = sum(each.status == "FAIL" for each in read_so_far(evidence / FILE).ended.values())
    return min(failed, 250)
