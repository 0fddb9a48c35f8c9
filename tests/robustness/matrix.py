"""Defect matrix: every declared defect of card, server, cable, switch and BMC, and the tests that it turns red.

    python tests/robustness/matrix.py

Runs the negative controls, on a bench of their own, and prints the table. Ends with status 1 when a
control fails, a test of the suites is turned red by no defect, or a fault of the bench is injected by no control.
``--table`` prints the declarations alone.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

REPOSITORY = Path(__file__).resolve().parents[2]
CONTROLS = REPOSITORY / "tests" / "controls"
BENCH = REPOSITORY / "tests" / "virtual" / "bench"
FAKES = REPOSITORY / "tests" / "fakes"
for _folder in (CONTROLS, BENCH, FAKES, REPOSITORY / "lab" / "virtual", REPOSITORY / "libraries"):
    sys.path.append(str(_folder))

import nightly  # noqa: E402 - as above
from declared import UNSEEN, Declared, declared  # noqa: E402
from robot.running import TestSuite  # noqa: E402

import faults  # noqa: E402

HEAD = ("defect", "card", "turns red", "verdict", "seen", "s")
_NO_CARD = "not applicable to every sheet there is"
_HASH = "the virtual card does not say by which key it hashes; unit tests spoil the table and the key"
_SHELL = "a suite of one's own shows it; the library's unit tests break the shell"
_BONDING = "the bonding driver asks, which no defect changes; unit tests do"
EXEMPT: dict[str, str] = {
    "A Background Program Is Read When It Has Ended": _SHELL,
    "A File Goes There And Comes Back Unchanged": _SHELL,
    "A Panic Is Captured And The Server Recovered": "its twin, the panic by an NMI, is turned red by a dead BMC",
    "Direct Data Placement Saves The Receiver's CPU": "the virtual card's TCP is its server's, as the bench declares",
    "Firmware That Runs After A Power Cycle Can Be Changed And Put Back": _NO_CARD,
    "Flows Come By The Queues That The Key Predicts": _HASH,
    "Hash Fields Can Be Set": _HASH,
    "The Frame Rate Is The Same At Every Size": "no defect of the virtual card depends on the size of small frames",
    "The Recommended Configuration Survives A Restart": "no defect loses files of udev; unit tests do",
    "Virtual Functions Refuse Spoofed Addresses": "QEMU's 82576 checks no source address, as the bench declares",
    "The Switch Is Asked For LACPDUs At The LACP Rate Of The Bond": _BONDING,
}
"""Tests that no defect turns red -> why not. It may only become shorter."""
_ROW = re.compile(r"^(Offload|Ring|Coalescing Parameter|Setting) \S+ ")
"""A test of one row of a sheet, made from the test of every row."""


@dataclass(frozen=True)
class Seen:
    """The ending of a control."""

    passed: bool
    seconds: float


def of_every_row(test: str) -> str:
    """The name under which the suites have a test."""
    return _ROW.sub(r"Every \1 ", test)


def tests_of_suites() -> set[str]:
    """The names of all tests of the suites."""
    return {test.name for test in TestSuite.from_file_system(REPOSITORY / "suites").all_tests}


def never_red(rows: Iterable[Declared], tests: Iterable[str]) -> list[str]:
    """The tests that no row turns red, without those that are exempt."""
    begun = {of_every_row(test) for row in rows for test in row.red}
    return sorted(test for test in tests if test not in EXEMPT and test not in begun)


def unseen_faults(rows: Iterable[Declared]) -> list[str]:
    """The faults of the bench that no row has, each with what it offends."""
    known = {(row.kind, row.fault) for row in rows}
    return [
        f"{fault.kind}: {fault.name} ({fault.offends}): {UNSEEN.get(fault.name, 'not declared')}"
        for fault in faults.FAULTS
        if (str(fault.kind), fault.name) not in known
    ]


def read_results(report: Path) -> dict[str, Seen]:
    """Return the ending of each control, by its id below the folder of the controls."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        file, *classes = [word for word in case.get("classname", "").split(".") if word not in ("tests", "controls")]
        bad = any(case.find(kind) is not None for kind in ("failure", "error", "skipped"))
        ident = "::".join([f"{file}.py", *classes, case.get("name", "")])
        found[ident] = Seen(not bad and found.get(ident, Seen(True, 0)).passed, float(case.get("time", 0)))
    return found


def table(rows: Sequence[Declared], seen: Mapping[str, Seen]) -> str:
    """The table."""
    lines = []
    for row in rows:
        result = seen.get(row.control)
        judged = "not run" if result is None else "yes" if result.passed else "NO"
        took = "-" if result is None else f"{result.seconds:.0f}"
        first, *more = sorted(row.red)
        lines.append((row.defect, row.card, first, row.verdict, judged, took))
        lines += [("", "", name, "", "", "") for name in more]
    return nightly.table([HEAD, *lines])


def run_controls(folder: Path) -> dict[str, Seen]:
    """Run every control."""
    report = folder / "controls.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-m", "bench", f"--junitxml={report}", str(CONTROLS)]
    subprocess.run(command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, check=False)
    if not report.exists():
        raise SystemExit("the controls could not be run")
    return read_results(report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the matrix; 0 when every row is seen, every test has a row, and every fault as well."""
    parser = argparse.ArgumentParser(description="Which defect turns which test red.")
    parser.add_argument("--table", action="store_true", help="run nothing; print what is declared")
    options = parser.parse_args(arguments)
    rows, seen = declared(), dict[str, Seen]()
    if not options.table:
        with tempfile.TemporaryDirectory() as folder:
            seen = run_controls(Path(folder))
    print(table(rows, seen))
    tests = tests_of_suites()
    unproven, open_faults = never_red(rows, tests), unseen_faults(rows)
    without = dict.fromkeys(unproven, "no control") | EXEMPT
    print(f"\n{len(tests) - len(without)} of {len(tests)} tests are turned red by a defect")
    print("\n".join(f"never red: {name}: {why}" for name, why in sorted(without.items())))
    print("\n".join(f"no control: {line}" for line in open_faults))
    failed = [row.control for row in rows if row.control not in seen or not seen[row.control].passed]
    if options.table:
        return 0
    print(f"{len(rows) - len(failed)} of {len(rows)} rows seen")
    return 1 if failed or unproven or open_faults else 0


if __name__ == "__main__":
    sys.exit(main())
