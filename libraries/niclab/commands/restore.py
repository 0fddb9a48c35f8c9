"""Putting a bench right after a run that was killed."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from niclab.bench.bench_file import load_bench
from niclab.bench.records import Bench
from niclab.card import load_card
from niclab.core.exit_status import ExitStatus
from niclab.core.undo import BenchInUse, Journal
from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.files.secrets import Secrets
from niclab.report import who
from niclab.report.evidence.evidence import mask_unsealed
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER, RUN_FILE, read_run
from niclab.run.run import Run
from niclab.run.watching.kept_state import KeptState, compare_with_kept, kept_for_restore

ANY_CARD = "intel-82574l"
"""Nothing of a sheet is needed to undo."""
STATE, FAILED = "state", "failed"
"""The words for the state before the last run, and for every change whose undo has failed, in place of an id."""
_WAYS_OUT = f"put it right and run niclab restore again, or accept it: niclab restore --forget {STATE} --reason TEXT"


def run(bench_file: Path, *, steal: bool = False, wait_s: float = 0) -> ExitStatus:
    """Undo what is pending in the journal of a bench, and print it.

    Args:
        bench_file: The bench file.
        steal: Break the leases of others on its servers first.
        wait_s: Seconds that a run of this user on the bench has to end: one that was asked to end needs time.

    Returns:
        ``BENCH_FAULT`` where the bench is not as before the last run, could not be compared with it, or where another
        controller has to undo something; else 0.

    Raises:
        BenchFault: The bench is in use, or something could not be undone.
    """
    bench = load_bench(bench_file)
    if wait_s > 0:
        until(lambda: _ended(bench.name), within=wait_s, what=f"bench {bench.name}: the end of its run", every=1)
    with tempfile.TemporaryDirectory() as scratch:
        leasing = Run(bench, load_card(ANY_CARD), Path(scratch), lambda: None)
        leasing.journal.folder = None  # it is no run
        with leasing.journal.hold():  # what others left is in the journal of this controller then
            leasing.undoing.lease_or_give_back(print if steal else None)
    comparison = _Comparison(leasing.journal)
    if comparison.kept is not None:
        bench = bench.with_systems(comparison.kept.fitting.systems)  # as the killed run had them booted
    with tempfile.TemporaryDirectory() as scratch:
        taken = Run(bench, load_card(ANY_CARD), Path(scratch), lambda: None)
        taken.journal.folder = None
        with taken.journal.hold():
            leaving = comparison.kept.older if comparison.kept else frozenset[str]()
            look = partial(comparison.look, taken)
            down = taken.undoing.is_down() if not taken.journal.pending() else ""
            undone = taken.undoing.restore(look=look, leaving=leaving)
    elsewhere = taken.bench_servers.left_elsewhere
    for entry in undone:
        print(f"undone: {entry}" if not entry.gone else f"nothing left to undo: {entry}; {entry.gone}")
    print(f"bench {bench.name}: {len(undone)} changes undone" if undone else f"bench {bench.name}: nothing to undo")
    if down:
        print(f"bench {bench.name}: {down}; its servers were not asked for what other controllers have left")
    for line in (*_mask_killed(taken), *elsewhere, *comparison.lines):
        print(line)
    return ExitStatus.CERTIFIED if comparison.is_equal and not elsewhere else ExitStatus.BENCH_FAULT


def restore_first(bench: Bench) -> None:
    """Undo what earlier runs have left pending in the journal of a bench, before another one begins.

    Args:
        bench: The bench.

    Raises:
        BenchFault: The bench is in use, or something could not be undone.
    """
    if not Journal.for_bench(bench.name).pending():
        return
    try:
        run(bench.file)
    except BenchInUse:
        raise
    except BenchFault as error:
        raise BenchFault(f"bench {bench.name}: was not restored, and nothing was run: {error}") from error


def _mask_killed(run: Run) -> list[str]:
    """Mask the evidence of the runs that have never finished: a pipeline publishes what they left."""
    secrets, lines = Secrets(run.bench.secrets_file), list[str]()
    for folder in run.journal.folders():
        try:
            if not (folder / RUN_FILE).exists() or read_run(folder).get("finished"):
                continue
            mask_unsealed(folder / EVIDENCE_FOLDER, [secrets.get(name) for name in run.bench.secret_names])
        except BenchFault as error:
            lines.append(f"{folder}: its evidence is not masked: {error}")
        else:
            lines.append(f"{folder}: the evidence of this run, which has not finished, is masked")
    return lines


class _Comparison:
    """Compares a bench with the state before its last run, once all is undone.

    Args:
        journal: The journal of the bench.
    """

    def __init__(self, journal: Journal) -> None:
        self.lines: list[str] = []
        self.kept: KeptState | None = None
        self.is_equal = True
        try:
            self.kept = kept_for_restore(journal)
        except BenchFault as error:
            self._not_compared(error)
        if self.kept is not None:
            self._not_compared("nobody has looked")

    def look(self, run: Run) -> None:
        """Compare; forget the state when the bench is equal to it.

        Args:
            run: The run that restores.
        """
        if self.kept is None:
            return
        try:
            differences = compare_with_kept(run, self.kept)
        except BenchFault as error:
            self._not_compared(error)
            return
        self.is_equal = not differences
        if differences:
            self.lines = ["differs from the state before the run:", *(f"  {line}" for line in differences), _WAYS_OUT]
        else:
            run.journal.state_file.unlink(missing_ok=True)
            self.lines = ["equal to the state before the run"]

    def _not_compared(self, error: BenchFault | str) -> None:
        self.is_equal = False
        self.lines = [f"not compared with the state before the run: {error}", _WAYS_OUT]


def _ended(bench: str) -> bool:
    try:
        with Journal.for_bench(bench).hold():
            return True
    except BenchInUse:
        return False


def forget(bench_file: Path, id: str, reason: str) -> ExitStatus:
    """Give up changes that cannot be undone, or the state before the last run. Nothing is undone.

    The journal keeps who did so, and why.

    Args:
        bench_file: The bench file.
        id: Id of the change, or its beginning, as the messages have it; :data:`FAILED` for every change whose undo has
            failed; :data:`STATE` for the state.
        reason: Why it need not be undone, or why the bench may be as it is.

    Raises:
        BenchFault: The bench is in use, there is no such change or state, or no reason.
    """
    bench = load_bench(bench_file)
    with Journal.for_bench(bench.name).hold() as journal:
        if id != STATE:
            for each in _failed(journal) if id == FAILED else [id]:
                print(f"forgotten: {journal.forget(each, reason, who())}")
            return ExitStatus.CERTIFIED
        file = journal.state_file
        if not file.exists():
            raise BenchFault(f"{file}: is not there; expected the state before a run, which --forget {STATE} gives up")
        journal.accept("the bench as it is", reason, who())
        file.unlink()
        print(f"forgotten: {file}")
    return ExitStatus.CERTIFIED


def _failed(journal: Journal) -> list[str]:
    """The ids of the changes whose undo has failed, the newest first."""
    failed = [entry.id for entry in journal.pending() if entry.errors]
    if not failed:
        raise BenchFault(f"{journal.path}: no pending change has failed to be undone; expected one for {FAILED!r}")
    return failed
