"""Certificates one after the other on a virtual bench: what soak, campaign and kills share.

The bench has a name of its own, is started fresh, and is removed at the end. What is judged is what a run leaves on the
disk: ``certificate.json``, the evidence, and what ``niclab restore`` says of the bench.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab" / "virtual"))

REPOSITORY = Path(__file__).resolve().parents[2]
VBENCH = REPOSITORY / "lab" / "virtual" / "vbench"
NICLAB = (sys.executable, "-m", "niclab.commands.cli")
COMMAND_S = 600
ORPHANS_S = 60
OWN_CHECKS = ("Bench hygiene", "Last look at both kernels")
RED = ("card-failure", "bench-fault", "undecided")


@dataclass(frozen=True)
class Outcome:
    """The results of a run: exit status, seconds, verdict and message of each test and own check, reasons, warnings."""

    status: int
    seconds: float
    run_dir: Path | None
    verdicts: dict[str, str] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    partial: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def red(self) -> list[str]:
        """Names of the tests and checks that did not pass."""
        return [name for name, verdict in self.verdicts.items() if verdict in RED]

    @property
    def is_clean(self) -> bool:
        """Nothing red, every own check made, and no reason against a certificate but that the run is partial."""
        others = [each for each in self.reasons if not (self.partial and of_partial(each))]
        return bool(self.verdicts) and not self.red and not others and set(OWN_CHECKS) <= set(self.verdicts)


def of_partial(reason: str) -> bool:
    """Does every partial run have this reason? What its plan lacks follows from the part."""
    return reason.startswith(("The run is partial: ", "Plan "))


def outcome_of(status: int, seconds: float, run_dir: Path | None) -> Outcome:
    """Read what a run left; one without a certificate has no verdicts."""
    if run_dir is None or not (run_dir / "certificate.json").exists():
        return Outcome(status, seconds, run_dir)
    content: dict[str, Any] = json.loads((run_dir / "certificate.json").read_text())
    return Outcome(
        status,
        seconds,
        run_dir,
        {each["name"]: each["verdict"] for each in content["tests"]},
        {each["name"]: each["message"] for each in content["tests"]},
        tuple(content["reasons"]),
        bool(json.loads((run_dir / "run.json").read_text()).get("partial")),
        tuple(_warnings(run_dir / "output.xml")),
    )


def _warnings(output: Path) -> Iterator[str]:
    """The warnings and errors of Robot Framework's output; those before the damage of a damaged one."""
    with suppress(FileNotFoundError, ET.ParseError):
        for _, element in ET.iterparse(output):
            if element.tag == "msg" and element.get("level") in ("WARN", "ERROR"):
                yield element.text or ""


class Nightly:
    """A virtual bench, and the certificates that are made on it."""

    def __init__(self, name: str, card: str, suites: Sequence[str], results: Path) -> None:
        self.name, self.card, self.suites, self.results = name, card, suites, results
        self.file = results / f"{name}.yaml"

    def vbench(self, *arguments: str, check: bool = True) -> str:
        """Run ``vbench`` for this bench; return what it printed."""
        words = 2 if arguments[0] == "fault" else 1
        command = [sys.executable, str(VBENCH), *arguments[:words], "--name", self.name, *arguments[words:]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S, stdin=subprocess.DEVNULL)
        if check and done.returncode:
            raise SystemExit(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def certify(self) -> subprocess.Popen[bytes]:
        """Start a run; its output goes to a file in the results."""
        suites = [word for suite in self.suites for word in ("--suite", suite)]
        command = [*NICLAB, "certify", str(self.file), "--card", self.card, "--results", str(self.results), *suites]
        with (self.results / f"{self.name}.log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def newest(self, before: set[Path]) -> Path | None:
        """The run folder that was not there before."""
        return next(iter(sorted(self.folders() - before)), None)

    def folders(self) -> set[Path]:
        """Every run folder."""
        return {file.parent for file in self.results.glob("*/run.json") if not file.parent.is_symlink()}

    def whole_run(self) -> Outcome:
        """Make one certificate, with nothing in its way."""
        before, start = self.folders(), time.monotonic()
        status = self.certify().wait()
        return outcome_of(status, time.monotonic() - start, self.newest(before))

    def restore(self) -> tuple[int, str]:
        """Run ``niclab restore``; return its exit status and what it said.

        A command of the bench that outlives a killed run keeps the bench in use until it ends: restore is tried again.
        """
        end = time.monotonic() + ORPHANS_S
        while True:
            status, said = self._restore()
            if not status or "in use" not in said or time.monotonic() > end:
                return status, said
            time.sleep(1)

    def _restore(self) -> tuple[int, str]:
        command = [*NICLAB, "restore", str(self.file)]
        done = subprocess.run(
            command, cwd=REPOSITORY, capture_output=True, text=True, timeout=COMMAND_S, stdin=subprocess.DEVNULL
        )
        return done.returncode, done.stdout + done.stderr

    @contextmanager
    def up(self) -> Iterator[None]:
        """The bench, fresh; it is removed at the end."""
        self.results.mkdir(parents=True, exist_ok=True)
        self.vbench("up", "--fresh", "--card", self.card)
        self.file.write_text(self.vbench("bench-file"))
        try:
            yield
        finally:
            with suppress(SystemExit):
                self.vbench("fault", "clear")
            self.vbench("down", "--now", "--purge")


def last_begun(journal: str) -> str:
    """The test that had begun and not ended, by the journal of tests; empty if none had."""
    running = ""
    for line in journal.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # torn by the kill
        if entry["event"] in ("begin", "end"):
            running = entry["test"] if entry["event"] == "begin" else ""
    return running


def restored_equal(status: int, said: str, *, compared: bool = False) -> str:
    """Return why a bench is not as it was before, by the words of ``niclab restore``; empty when it is.

    ``compared``: the run was killed after the state before it was taken, so that restore must compare.
    """
    if status:
        return f"restore ended with {status}: {said.strip()[-200:]}"
    bad = [line for line in said.splitlines() if line.startswith(("differs from the state", "not compared with"))]
    if compared and not bad and "equal to the state before the run" not in said:
        return "restore compared nothing"
    return "; ".join(bad)


def counts(outcome: Outcome) -> str:
    """The verdicts of a run, counted."""
    found = Counter(outcome.verdicts.values())
    return ", ".join(f"{number} {verdict}" for verdict, number in sorted(found.items())) or "no certificate"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Lines of a plain table; the first row is its head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def options_of(parser: argparse.ArgumentParser, name: str, suites: Sequence[str]) -> None:
    """Add what all of them take."""
    parser.add_argument("--name", default=name, help="name of the virtual bench")
    parser.add_argument("--card", default="intel-82574l")
    parser.add_argument("--suite", action="append", default=[], help=f"instead of {', '.join(suites) or 'all'}")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "results" / name)
