"""Traffic runs that were not counted because a server stood still, as an own check on the certificate.

Each question bounds its own; this is the bound of the whole run, by the share that the bench file allows.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, Undecided
from niclab.report.results import TestRecord, check_of_run
from niclab.report.runfolder import EVIDENCE_FOLDER

FILE = "traffic-runs.jsonl"
"""File of the evidence: a line for each run, and one for the comparison with an idle dut."""
CHECK = "Traffic runs that were not counted"
_ALLOWED = 1
"""One spoiled run is allowed however few there are."""


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
    spoiled, made, bound, idle = Counter[str](), 0, 0.0, list[tuple[float, int]]()
    try:
        for line in file.read_text("utf-8").splitlines():
            entry = json.loads(line)
            if "idle_s" in entry:
                idle.append((float(entry["idle_s"]), int(entry["stood_idle"])))
                continue
            made, bound = made + 1, float(entry["bound_percent"])
            spoiled.update(str(name) for name in entry["stood"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchFault(f"{file}: cannot be read: {error}; expected: stood and bound_percent on each line") from error
    return [
        _finding(role, spoiled[role.value], made, bound, idle)
        for role in Role
        if exceeds(spoiled[role.value], made, bound)
    ]


def _finding(role: Role, spoiled: int, made: int, bound: float, idle: list[tuple[float, int]]) -> str:
    share = f"{role.value} stood still in {spoiled} of {made} traffic runs; expected: at most {bound:g} % (bench file)"
    if role is Role.PEER or any(stood for _, stood in idle):
        compared = "".join(f"; it did so {stood} times in {seconds:g} s without traffic" for seconds, stood in idle)
        return f"{BenchFault.__name__}: {share}{compared if role is Role.DUT else ''}"
    compared = "".join(f"; not once in {seconds:g} s without traffic" for seconds, _ in idle)
    return f"{Undecided.__name__}: {share}{compared}: card, driver or firmware of the server may be what stops it"
