"""The undo journal stays readable, whatever hits it at whatever moment, and the next run puts the bench right."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import niclab
from niclab.core import undo
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault

CALLS = ("write", "fsync", "ftruncate")


class Aborted(Exception):
    """Replaces the exception that a signal handler raises."""


class Bench:
    """Changes are files; the undo of one is its removal."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder / "changes", folder / "toy.jsonl"
        self.folder.mkdir()

    def change(self, journal: Journal, name: str) -> None:
        journal.register("dut", f"change {name}", Action(ActionKind.LOCAL, "controller", name))
        (self.folder / name).touch()

    def put_back(self, action: Action) -> None:
        (self.folder / action.command).unlink(missing_ok=True)

    def run(self) -> None:
        """A run with three changes; one is undone on the way, the others at its end."""
        with Journal(self.path, run="r1").hold() as journal:
            for name in ("a", "b", "c"):
                self.change(journal, name)
            journal.undo(journal.pending()[1], self.put_back)
            journal.undo_all(self.put_back).raise_if_failed()

    @property
    def changed(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}

    def check(self) -> None:
        """Every change is in the journal, and the next run puts it back."""
        assert self.changed <= {entry.action.command for entry in Journal(self.path).pending()}
        with Journal(self.path, run="r2").hold() as journal:
            journal.undo_all(self.put_back).raise_if_failed()
            assert not self.changed and not journal.pending()
            self.change(journal, "d")
            journal.undo_all(self.put_back).raise_if_failed()
        assert not self.changed and not Journal(self.path).pending()


@pytest.fixture
def toy(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class Injector:
    """Breaks into the n-th call that works on the file."""

    def __init__(self, at: int, trouble: BaseException, *, how: str) -> None:
        self.at, self.trouble, self.how, self.seen = at, trouble, how, 0

    def wrapped(self, real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.seen += 1
            if self.seen != self.at:
                return real(*arguments)
            if self.how == "before":
                raise self.trouble
            if self.how == "half" and name == "write":
                real(arguments[0], arguments[1][: len(arguments[1]) // 2])
            else:
                real(*arguments)
            raise self.trouble

        return call


TROUBLES = {
    "EIO": lambda: OSError(errno.EIO, "Input/output error"),
    "ENOSPC": lambda: OSError(errno.ENOSPC, "No space left on device"),
    "signal": Aborted,
    "Ctrl-C": KeyboardInterrupt,
}


@pytest.mark.parametrize("how", ["before", "half", "after"])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_at_each_call_leaves_a_journal_that_the_next_run_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str, how: str
) -> None:
    real = {name: getattr(os, name) for name in CALLS}
    for at in range(1, 200):
        toy = Bench(_folder(tmp_path, at))
        injector = Injector(at, TROUBLES[trouble](), how=how)
        for name in CALLS:
            monkeypatch.setattr(os, name, injector.wrapped(real[name], name))
        with suppress(BenchFault, Aborted, KeyboardInterrupt):
            toy.run()
        monkeypatch.undo()
        toy.check()
        if injector.seen < at:
            return
    raise AssertionError("the run never came to an end without trouble")


def _folder(parent: Path, number: int) -> Path:
    folder = parent / str(number)
    folder.mkdir()
    return folder


def test_a_signal_while_done_is_written_stops_no_other_undo(toy: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync
    left = [1]

    def interrupted(fd: int) -> None:
        fsync(fd)
        if left:
            left.pop()
            raise Aborted

    with Journal(toy.path).hold() as journal:
        for name in ("a", "b", "c"):
            toy.change(journal, name)
        monkeypatch.setattr(os, "fsync", interrupted)
        report = journal.undo_all(toy.put_back)
        assert len(report.done) == 3 and not report.failed and not journal.pending()
    assert not toy.changed


def test_a_done_that_the_disk_refuses_leaves_the_entry_pending(toy: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with Journal(toy.path).hold() as journal:
        toy.change(journal, "a")
        monkeypatch.setattr(os, "fsync", broken)
        report = journal.undo_all(toy.put_back)
        monkeypatch.undo()
        assert [entry.id for entry in report.failed] == [entry.id for entry in journal.pending()]
        assert journal.undo_all(toy.put_back).failed == ()


@pytest.mark.parametrize("error", [ZeroDivisionError, BenchFault])
def test_a_full_disk_at_the_end_does_not_hide_the_error_of_the_run(
    toy: Bench, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(error, match="of the run"), Journal(toy.path).hold():
        monkeypatch.setattr(os, "write", full)
        raise error("of the run")


def test_a_file_that_a_kill_left_empty_holds_nothing_to_undo(toy: Bench) -> None:
    toy.path.touch()
    assert Journal(toy.path).pending() == []
    toy.check()


def test_a_last_line_whose_beginning_never_reached_the_disk_is_torn(toy: Bench) -> None:
    with Journal(toy.path).hold() as journal:
        toy.change(journal, "a")
    with toy.path.open("ab") as file:
        file.write(b"\0" * 40 + b'"pid": 1}\n')
    toy.check()


def test_the_rotated_journal_is_its_owners_alone_and_on_the_disk(toy: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "_START_AFRESH_ABOVE_BYTES", 10)
    toy.run()
    old = toy.path.with_suffix(".old.jsonl")
    old.touch(0o644)
    old.chmod(0o644)
    content = toy.path.read_bytes()
    synced: list[bytes] = []
    fsync, truncate = os.fsync, os.ftruncate

    def note(fd: int) -> None:
        fsync(fd)
        if os.path.samestat(os.fstat(fd), old.stat()):
            synced.append(old.read_bytes())

    def cut(fd: int, size: int) -> None:
        assert synced == [content]  # before anything is lost
        truncate(fd, size)

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(os, "ftruncate", cut)
    with Journal(toy.path).hold():
        assert old.stat().st_mode & 0o777 == 0o600
    assert synced == [content]


def test_threads_share_a_journal_on_a_disk_that_takes_half_lines(toy: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    write, dice = os.write, random.Random(1)

    def short(fd: int, data: bytes) -> int:
        part = data if dice.random() < 0.7 else data[: len(data) // 2]
        count = write(fd, part)
        time.sleep(0.0005)
        return count

    with Journal(toy.path).hold() as journal:
        monkeypatch.setattr(os, "write", short)

        def work(number: int) -> None:
            for step in range(20):
                with suppress(BenchFault):
                    toy.change(journal, f"{number}-{step}")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        monkeypatch.undo()
        assert toy.changed == {entry.action.command for entry in journal.pending()} != set()
    toy.check()


LOOP = """
import signal, sys
from contextlib import suppress
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_undo_interrupted import Aborted, Bench
folder, mode, seed = Path(sys.argv[1]), sys.argv[3], int(sys.argv[4])
toy = Bench.__new__(Bench)
toy.folder, toy.path = folder / "changes", folder / "toy.jsonl"
def abort(*_):
    raise Aborted
if mode == "abort":
    import random
    signal.signal(signal.SIGALRM, abort)
    dice = random.Random(seed)
    print("ready", flush=True)
    for _ in range(60):
        with suppress(Exception):  # the signal may come in the last statement too
            try:
                signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.0002, 0.01))
                toy.run()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        toy.check()
else:
    print("ready", flush=True)
    while True:
        toy.run()
"""


@pytest.fixture
def start(toy: Bench) -> Iterator[Callable[[str, int], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def run(mode: str, seed: int) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(Path(niclab.__file__).parents[1])}
        words = [str(toy.folder.parent), str(Path(__file__).parent), mode, str(seed)]
        child = subprocess.Popen([sys.executable, "-c", LOOP, *words], stdout=-1, text=True, env=environment)
        started.append(child)
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        return child

    yield run
    for child in started:
        child.kill()
        child.wait(timeout=10)
        assert child.stdout is not None
        child.stdout.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_signals_at_random_moments(start: Callable[[str, int], subprocess.Popen[str]], toy: Bench, seed: int) -> None:
    assert start("abort", seed).wait(timeout=60) == 0
    toy.check()


def test_kills_at_random_moments(start: Callable[[str, int], subprocess.Popen[str]], toy: Bench) -> None:
    dice = random.Random(1)
    for number in range(12):
        child = start("kill", number)
        time.sleep(dice.uniform(0.0, 0.05))
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=10)
        toy.check()
