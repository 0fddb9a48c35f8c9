"""Putting a bench right after a run that was killed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from niclab.bench.records import load_bench
from niclab.card import load_card
from niclab.core.undo import BenchInUse, Journal
from niclab.core.wait import until
from niclab.report import who
from niclab.run.run import Run

ANY_CARD = "intel-82574l"
"""Nothing of a sheet is needed to undo."""


def run(bench_file: Path, *, steal: bool = False, wait_s: float = 0) -> int:
    """Undo what is pending in the journal of a bench, and print it.

    Args:
        bench_file: The bench file.
        steal: Break the leases of others on its servers first.
        wait_s: Seconds that a run of this user on the bench has to end: one that was asked to end needs time.

    Raises:
        BenchFault: The bench is in use, or something could not be undone.
    """
    bench = load_bench(bench_file)
    if wait_s > 0:
        until(lambda: _ended(bench.name), within=wait_s, what=f"bench {bench.name}: the end of its run", every=1)
    with tempfile.TemporaryDirectory() as scratch:
        taken = Run(bench, load_card(ANY_CARD), Path(scratch), lambda: None)
        with taken.journal.hold():
            undone = taken.restore(steal=print if steal else None)
    for entry in undone:
        print(f"undone: {entry}")
    print(f"bench {bench.name}: {len(undone)} changes undone" if undone else f"bench {bench.name}: nothing to undo")
    return 0


def _ended(bench: str) -> bool:
    try:
        with Journal.for_bench(bench).hold():
            return True
    except BenchInUse:
        return False


def forget(bench_file: Path, id: str, reason: str) -> int:
    """Give a change up that cannot be undone; the journal keeps who did so, and why. Nothing else is undone.

    Args:
        bench_file: The bench file.
        id: Id of the change, or its beginning, as the messages have it.
        reason: Why it need not be undone.

    Raises:
        BenchFault: The bench is in use, there is no such change, or no reason.
    """
    bench = load_bench(bench_file)
    with Journal.for_bench(bench.name).hold() as journal:
        print(f"forgotten: {journal.forget(id, reason, who())}")
    return 0
