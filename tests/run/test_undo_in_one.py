"""Changes of one server's shell, undone in one command: the newest first, up to the first that cannot be."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.core.undo import Action, ActionKind, Entry
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.transports.ssh.ssh import Result


@pytest.fixture
def asked(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The dut's shell is a real one; what it is asked."""
    commands = list[str]()

    def run(command: str, *, timeout_s: float) -> Result:
        commands.append(command)
        assert timeout_s > 0
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        return Result(command, done.returncode, None, done.stdout, done.stderr, 0.01)

    monkeypatch.setattr(bench.ssh[Role.DUT], "run", run)
    return commands


def made(taken: Run, *commands: str) -> list[Entry]:
    return [taken.journal.register("dut", each, Action(ActionKind.SHELL, "dut", each)) for each in commands]


def test_all_are_undone_in_one_command(taken: Run, asked: list[str], tmp_path: Path) -> None:
    file, before = tmp_path / "undone", taken.journal.pending()
    entries = made(taken, *(f"cd / && echo {word} >> {file} || exit 1 # {word}" for word in ("one", "two", "three")))
    taken.undoing.undo_newest_first(entries)
    assert file.read_text().split() == ["three", "two", "one"]
    assert entries == [] and taken.journal.pending() == before and len(asked) == 1


def test_one_that_fails_ends_it_and_stays(taken: Run, asked: list[str], tmp_path: Path) -> None:
    file, before = tmp_path / "undone", taken.journal.pending()
    entries = made(taken, f"touch {file}", "echo it is busy >&2; exit 3", "true")
    left = entries[:2]
    with pytest.raises(BenchFault, match=r"dut: 'echo it is busy .*': exit status 3; stderr: 'it is busy'"):
        taken.undoing.undo_newest_first(entries)
    assert [each.id for each in entries] == [each.id for each in left] and not file.exists()
    assert len(taken.journal.pending()) == len(before) + 2 and len(asked) == 1


def test_nothing_to_undo_asks_nothing(taken: Run, asked: list[str]) -> None:
    taken.undoing.undo_newest_first([])
    assert asked == []
