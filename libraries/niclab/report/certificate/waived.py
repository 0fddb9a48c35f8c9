"""The waivers that apply to a run, by the copies of them that the run kept in its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
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


def kept_waivers(run_dir: Path, card: object) -> list[Waiver]:
    """Read the waivers that a run kept.

    Args:
        run_dir: Folder of the run.
        card: Name of the card sheet.

    Raises:
        BenchFault: A file is wrong.
    """
    return load_waivers(run_dir / _KEPT, str(card))


def waived(run_dir: Path, card: object, started: object, tests: Sequence[TestRecord]) -> Waived:
    """Find what the waivers of a run cover.

    Args:
        run_dir: Folder of the run.
        card: Name of the card sheet.
        started: When the run began, ISO 8601: a waiver that expired before it covers nothing, and is a problem. So is
            one that expired before a test that it would cover: a run may be long, or continued.
        tests: Every test of the run.
    """
    found = Waived()
    try:
        kept = kept_waivers(run_dir, card)
        began = datetime.fromisoformat(str(started)) if kept else datetime.min
    except (BenchFault, ValueError) as problem:
        found.problems.append(str(problem))
        return found
    found.waivers = kept
    expired = {each.waiver for each in kept if each.expired(began.date())}
    for test in tests:
        if test.verdict is not Verdict.CARD_FAILURE:
            continue
        day = _day_of(test, began)
        if names := _covering([each for each in kept if not each.expired(day)], test):
            found.tests[test.name] = names
        else:
            lacking = _covering(kept, test)
            expired |= {each.waiver for each in kept if each.waiver in lacking and each.expired(day)}
    found.problems += said_of_expired([each for each in kept if each.waiver in expired])
    return found


def _day_of(test: TestRecord, began: datetime) -> date:
    """The day on which a test began, where the run did; never a day before the run."""
    return max(began.date(), datetime.fromtimestamp(test.start_ms / 1000, began.tzinfo).date())


def _covering(waivers: Sequence[Waiver], test: TestRecord) -> list[str]:
    """Names of the waivers that cover every line of a test's failure; none where they leave one."""
    title, names = test.name.rpartition(".")[2], list[str]()
    for line in lines_to_waive(test.message) or ():
        waiver = next((each.waiver for each in waivers if each.covers(title, line)), None)
        if waiver is None:
            return []
        names.append(waiver)
    return list(dict.fromkeys(names))
