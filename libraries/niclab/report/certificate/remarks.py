"""Remarks for the reader of a certificate beyond verdicts: circumstances that no test judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from niclab.core import exposure, marks
from niclab.core.marks import Mark, MarkKind
from niclab.core.verdict import BenchFault
from niclab.report.certificate.detection_power import missed
from niclab.report.evidence.inputs import Input
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER
from niclab.report.own_checks.carrier_check import kept_carrier

SHEETS = "lab/cards/"
CERTIFIED = "CERTIFIED"
"""The beginning of a good certificate's verdict."""
_MOST_ATTEMPTS = 20


@dataclass(frozen=True)
class Remark:
    """One line of a certificate: what it is about, in words, and the details."""

    about: str
    text: str
    details: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return the entry of ``certificate.json``."""
        return {"about": self.about, "text": self.text, "details": list(self.details)}


def remarks(
    run_dir: Path, run: Mapping[str, Any], warnings: Sequence[str], figures: Sequence[Mapping[str, Any]] = ()
) -> tuple[list[Remark], list[str]]:
    """Collect what a reader must know of a run.

    Args:
        run_dir: Folder of the run.
        run: Content of ``run.json``.
        warnings: Warnings of Robot Framework's output.
        figures: Of the run, as they are on its certificate.

    Returns:
        The remarks, and what keeps them from being complete.
    """
    problems = []
    try:
        noted = marks.read(run_dir / EVIDENCE_FOLDER / marks.FILE)
    except BenchFault as fault:
        noted = []
        problems.append(str(fault))
    power, unread = _power(run_dir, noted, [each["runs"] for each in figures if each["runs"]])
    problems += unread
    found = [
        *power,
        *_carrier(run_dir),
        *_traffic(noted),
        *_recoveries(noted),
        *_drawn(noted),
        *_untried(noted),
        *_lab(run),
        *_continued(run.get("continued") or []),
        *_attempts(run.get("earlier_attempts") or [], str(run.get("attempts_unknown") or "")),
    ]
    if warnings:
        found.append(Remark("Warnings", _count(len(warnings), "warning"), tuple(warnings)))
    return found, problems


def _traffic(noted: Sequence[Mark]) -> list[Remark]:
    words = {MarkKind.DISCARDED: "not counted", MarkKind.OUTLIER: "counted although far from the rest"}
    found = {kind: tuple(mark.subject for mark in noted if mark.kind is kind) for kind in words}
    return [
        Remark("Traffic", f"{_count(len(runs), 'run')} {words[kind]}", runs) for kind, runs in found.items() if runs
    ]


def _power(run_dir: Path, noted: Sequence[Mark], runs: Sequence[int]) -> tuple[list[Remark], list[str]]:
    boots = Counter(server for mark in noted if mark.kind is MarkKind.BOOT for server in mark.subject.split(" and "))
    try:
        exposed = exposure.read(run_dir / EVIDENCE_FOLDER / exposure.FILE)
    except BenchFault as fault:
        return [], [str(fault)]
    lines = missed(exposed, boots, runs)
    return [Remark("Power", "Faults that are too rare for this run", lines)] if lines else [], []


def _carrier(run_dir: Path) -> list[Remark]:
    try:
        kept = kept_carrier(run_dir)
    except BenchFault:
        return []  # the own check says so
    return [Remark("Carrier", str(kept), kept.lines())] if kept is not None else []


def _recoveries(noted: Sequence[Mark]) -> list[Remark]:
    ways = tuple(f"{mark.subject}: {mark.seconds:.0f} s" for mark in noted if mark.kind is MarkKind.RECOVERY)
    text = f"{len(ways)} by the lab, because a server did not answer"
    return [Remark("Recoveries", text, ways)] if ways else []


def _drawn(noted: Sequence[Mark]) -> list[Remark]:
    lines = tuple(mark.subject for mark in noted if mark.kind is MarkKind.DRAWN)
    return [Remark("Drawn", "Settings that were changed under traffic, drawn at random", lines)] if lines else []


def _untried(noted: Sequence[Mark]) -> list[Remark]:
    lines = tuple(dict.fromkeys(mark.subject for mark in noted if mark.kind is MarkKind.UNTRIED))
    return (
        [Remark("Not tried", "Abilities that the card offers, and that no test of this lab tries", lines)]
        if lines
        else []
    )


def _lab(run: Mapping[str, Any]) -> list[Remark]:
    found = []
    if (run.get("git") or {}).get("local_changes"):
        said = f"SHA-256 of the differences: {run['git'].get('changes_sha256', 'not recorded')}"
        found.append(Remark("Lab", "The files of the lab differ from the commit.", (said,)))
    ports = run.get("ports") or {}
    if ports.get("bench", 0) < ports.get("card", 0):
        named = f"{ports['bench']} of the {ports['card']} ports of the card"
        text = f"The bench file names {named}; the others were not tested."
        found.append(Remark("Ports", text))
    sheet = (run.get("inputs") or {}).get(Input.SHEET.value)
    if sheet is not None and not str(sheet).startswith(SHEETS):
        found.append(Remark("Sheet", f"The sheet is not one of {SHEETS}: {sheet}"))
    return found


def _continued(continued: Sequence[Mapping[str, Any]]) -> list[Remark]:
    if not continued:
        return []
    lines = tuple(
        f"{each.get('when')} by {each.get('who')}; killed during: {each.get('interrupted') or 'no test'}"
        for each in continued
    )
    text = f"The run was killed and continued {_count(len(continued), 'time')}; an interrupted test was not repeated."
    return [Remark("Continued", text, lines)]


def _attempts(attempts: Sequence[Mapping[str, Any]], unknown: str) -> list[Remark]:
    found = [Remark("Attempts", f"There may be other earlier runs: {unknown}")] if unknown else []
    if not attempts:
        return found
    newest = attempts[-_MOST_ATTEMPTS:]
    lines = [f"{each.get('run')} on {each.get('bench')}: {each.get('verdict')}" for each in newest]
    lines += [f"and {len(attempts) - len(newest)} older ones"] * (len(attempts) > len(newest))
    good = sum(str(each.get("verdict")).startswith(CERTIFIED) for each in attempts)
    text = f"{_count(len(attempts), 'earlier run')} of this card, {good} of them certified"
    return [Remark("Attempts", text, tuple(lines)), *found]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
