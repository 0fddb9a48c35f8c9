"""The waivers that apply to a run, by the copies of them that the run kept in its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault
from niclab.report import write_atomically
from niclab.report.allure.allure_results import TestRecord
from niclab.report.evidence.inputs import FOLDER
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER
from niclab.report.verdicts import Verdict, lines_to_waive
from niclab.scope.waivers import Waiver, load_waivers, said_of_expired

_KEPT = Path(EVIDENCE_FOLDER, FOLDER, "waivers")


@dataclass
class Waived:
    """The waivers of a run. ``tests``: name of each test that they cover wholly -> names of those that it takes."""

    waivers: list[Waiver] = field(default_factory=list)
    tests: dict[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> list[dict[str, Any]]:
        """Return ``waivers`` of ``certificate.json``."""
        return [
            {
                "waiver": each.waiver,
                "covers": each.covered,
                "reason": each.reason,
                "owner": each.owner,
                "expires": each.expires,
                "tests": [name for name, waivers in self.tests.items() if each.waiver in waivers],
            }
            for each in self.waivers
        ]


def keep_waivers(run_dir: Path, waivers: Iterable[Waiver]) -> None:
    """Copy the waivers of a card into the evidence.

    Args:
        run_dir: Folder of the run.
        waivers: The waivers.

    Raises:
        BenchFault: One cannot be written.
    """
    for each in waivers:
        write_atomically(run_dir / _KEPT / each.file.name, each.file.read_bytes())


def waived(run_dir: Path, card: object, started: object, tests: Sequence[TestRecord]) -> Waived:
    """Find what the waivers of a run cover.

    Args:
        run_dir: Folder of the run.
        card: Name of the card sheet.
        started: When the run began, ISO 8601: a waiver that expired before it covers nothing, and is a problem.
        tests: Every test of the run.
    """
    found = Waived()
    try:
        kept = load_waivers(run_dir / _KEPT, str(card))
        day = date.fromisoformat(str(started)[:10]) if kept else date.min
    except (BenchFault, ValueError) as problem:
        found.problems.append(str(problem))
        return found
    found.waivers = kept
    found.problems += said_of_expired([each for each in kept if each.expired(day)])
    current = [each for each in kept if not each.expired(day)]
    for test in tests:
        if test.verdict is Verdict.CARD_FAILURE and (names := _covering(current, test)):
            found.tests[test.name] = names
    return found


def _covering(waivers: Sequence[Waiver], test: TestRecord) -> list[str]:
    """Names of the waivers that cover every line of a test's failure; none where they leave one."""
    title, names = test.name.rpartition(".")[2], list[str]()
    for line in lines_to_waive(test.message) or ():
        waiver = next((each.waiver for each in waivers if each.covers(title, line)), None)
        if waiver is None:
            return []
        names.append(waiver)
    return list(dict.fromkeys(names))
