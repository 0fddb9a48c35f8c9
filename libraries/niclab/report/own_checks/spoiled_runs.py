"""Traffic runs that were not counted because a server stood still, as an own check on the certificate.

Each question bounds its own; this is the bound of the whole run, by the share that the bench file allows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from niclab.bench.records import Role
from niclab.core import notes
from niclab.core.verdict import BenchFault, Undecided
from niclab.report.allure.allure_results import TestRecord, check_of_run
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER

FILE = "traffic-runs.jsonl"
"""File of the evidence: a line for each run, and one for the comparison with an idle dut."""
CHECK = "Traffic runs that were not counted"
_ALLOWED = 1
"""One spoiled run is allowed however few there are."""


@dataclass(frozen=True)
class _Made:
    """One run: the servers that stood still in it, and the share of such runs that the bench file allows."""

    stood: tuple[str, ...]
    bound_percent: float


@dataclass(frozen=True)
class _Idle:
    """The comparison with an idle dut: how often it stood still in how many seconds."""

    seconds: float
    stood: int


def _noted(content: Any) -> _Made | _Idle:
    if "idle_s" in content:
        return _Idle(float(content["idle_s"]), int(content["stood_idle"]))
    return _Made(tuple(map(str, content["stood"])), float(content["bound_percent"]))


def exceeds(spoiled: int, made: int, bound_percent: float) -> bool:
    """Tell whether more runs were spoiled than a bench may.

    Args:
        spoiled: Runs in which the server stood still.
        made: All runs.
        bound_percent: What the bench file allows.
    """
    return spoiled > max(_ALLOWED, made * bound_percent / 100)


def spoiled_runs_check(run_dir: Path) -> TestRecord | None:
    """Judge how many runs each server spoiled; None for a run that measured nothing.

    Args:
        run_dir: Folder of the run.

    Returns:
        The check: passed; undecided where the dut spoiled too many; a bench fault where the peer did, or where the
        dut stalls without traffic, too.
    """
    file = run_dir / EVIDENCE_FOLDER / FILE
    if not file.exists():
        return None
    try:
        found = _findings(file)
    except BenchFault as fault:
        found = [f"{BenchFault.__name__}: {fault}"]
    return check_of_run(CHECK, found)


def _findings(file: Path) -> list[str]:
    noted = notes.read(file, _noted, "stood and bound_percent, or idle_s and stood_idle")
    made = [each for each in noted if isinstance(each, _Made)]
    idle = [each for each in noted if isinstance(each, _Idle)]
    spoiled, bound = Counter(name for each in made for name in each.stood), made[-1].bound_percent if made else 0.0
    return [
        _finding(role, spoiled[role.value], len(made), bound, idle)
        for role in Role
        if exceeds(spoiled[role.value], len(made), bound)
    ]


def _finding(role: Role, spoiled: int, made: int, bound: float, idle: list[_Idle]) -> str:
    share = f"{role.value} stood still in {spoiled} of {made} traffic runs; expected at most {bound:g} % (bench file)"
    if role is Role.PEER or any(each.stood for each in idle):
        compared = "".join(f"; it did so {each.stood} times in {each.seconds:g} s without traffic" for each in idle)
        return f"{BenchFault.__name__}: {share}{compared if role is Role.DUT else ''}"
    compared = "".join(f"; not once in {each.seconds:g} s without traffic" for each in idle)
    return f"{Undecided.__name__}: {share}{compared}: card, driver or firmware of the server may be what stops it"
