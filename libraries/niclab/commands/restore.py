"""Putting a bench right after a run that was killed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from niclab.bench.bench_file import load_bench
from niclab.card import load_card
from niclab.core.undo import BenchInUse, Journal
from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.report import who
from niclab.run.run import Run
from niclab.run.watching.hygiene import compare_with_kept, kept_for_restore, restore_file
from niclab.state.snapshot import Snapshot

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
            lines, kept = list[str](), None
            try:
                kept = kept_for_restore(taken.journal)
            except BenchFault as error:
                lines.append(f"not compared with the state before the run: {error}")
            leaving = kept.older if kept else frozenset[str]()

            def look() -> None:
                if kept is not None:
                    lines.extend(_compared(taken, kept.states))

            undone = taken.undoing.restore(steal=print if steal else None, look=look, leaving=leaving)
    for entry in undone:
        print(f"undone: {entry}")
    print(f"bench {bench.name}: {len(undone)} changes undone" if undone else f"bench {bench.name}: nothing to undo")
    for line in lines:
        print(line)
    return 0


def _ended(bench: str) -> bool:
    try:
        with Journal.for_bench(bench).hold():
            return True
    except BenchInUse:
        return False


def _compared(run: Run, before: Sequence[Snapshot]) -> list[str]:
    """Compare the bench with the state before the interrupted run, and forget that state when they are equal."""
    try:
        differences = compare_with_kept(run, before)
    except BenchFault as error:
        return [f"not compared with the state before the run: {error}"]
    if differences:
        return ["differs from the state before the run:", *(f"  {line}" for line in differences)]
    restore_file(run.journal).unlink(missing_ok=True)
    return ["equal to the state before the run"]


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
