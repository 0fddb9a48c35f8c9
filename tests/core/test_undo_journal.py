"""The undo journal survives kills, torn lines, failing actions and a full disk, and lets one run at a time in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

import niclab
from niclab.core import undo
from niclab.core.undo import Action, ActionKind, Entry, Journal
from niclab.core.verdict import BenchFault

CHILD = """
import sys
from pathlib import Path
from niclab.core.undo import Action, ActionKind, Journal
journal, marker, change = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "change"
with Journal(journal, run="killed").hold() as held:
    held.register("dut.p0", "marker made", Action(ActionKind.LOCAL, "controller", f"rm -f {marker}"))
    if change:
        marker.write_text("changed")
    print("ready", flush=True)
    sys.stdin.readline()
"""


def local(command: str) -> Action:
    return Action(ActionKind.LOCAL, "controller", command)


def run_locally(action: Action) -> None:
    subprocess.run(["sh", "-c", action.command], check=True, timeout=10)


def refuse(_: Action) -> None:
    raise OSError("no")


def lines(journal: Journal) -> list[dict[str, object]]:
    return [json.loads(line) for line in journal.path.read_text().splitlines()]


@contextmanager
def holder(journal: Path, marker: Path, *, change: bool) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the journal, has registered an undo, and has made the change or not."""
    environment = {**os.environ, "PYTHONPATH": str(Path(niclab.__file__).parents[1])}
    command = [sys.executable, "-c", CHILD, str(journal), str(marker), "change" if change else "no"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            yield child
        finally:
            child.kill()
            child.wait(timeout=10)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "state" / "toy.jsonl", run="r1")


def three(held: Journal) -> list[Entry]:
    return [held.register("dut", f"change {number}", local(f"undo {number}")) for number in (1, 2, 3)]


def test_an_entry_is_on_disk_before_register_returns(journal: Journal) -> None:
    action = Action(ActionKind.SHELL, "dut", "ip link set dev enp1s0 up")
    with journal.hold():
        entry = journal.register(subject="dut.p0", what="link of dut.p0 taken down", action=action)
        assert Journal(journal.path).pending() == [entry]
    assert (entry.subject, entry.what, entry.action, entry.run) == ("dut.p0", "link of dut.p0 taken down", action, "r1")
    assert entry.pid == os.getpid()
    assert abs(datetime.fromisoformat(entry.at) - datetime.now().astimezone()).total_seconds() < 60


def test_an_action_keeps_its_deadline(journal: Journal) -> None:
    slow = Action(ActionKind.SHELL, "dut", "ethtool -f enp1s0 old.bin", deadline_s=700)
    with journal.hold():
        journal.register("dut.p0", "flashed", slow)
        journal.register("dut.p0", "link taken down", Action(ActionKind.SHELL, "dut", "ip link set dev enp1s0 up"))
    assert [entry.action.deadline_s for entry in Journal(journal.path).pending()] == [60, 700]


def test_a_line_of_before_without_a_deadline_has_the_usual_one(journal: Journal) -> None:
    with journal.hold():
        journal.register("dut", "change", local("undo"))
    journal.path.write_text(journal.path.read_text().replace(', "deadline_s": 60.0', ""))
    assert "deadline_s" not in journal.path.read_text()
    assert [entry.action for entry in journal.pending()] == [local("undo")]


@pytest.mark.parametrize("deadline_s", [0, -1, float("inf"), float("nan")])
def test_a_deadline_is_a_time(deadline_s: float) -> None:
    with pytest.raises(BenchFault, match="expected a positive number of seconds"):
        Action(ActionKind.SHELL, "dut", "true", deadline_s)


def test_every_line_is_synced_while_register_runs(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    with journal.hold():
        before = journal.path.stat().st_size
        monkeypatch.setattr(os, "fsync", lambda _: synced.append(journal.path.stat().st_size))
        journal.register("dut", "change", local("undo"))
        monkeypatch.undo()
    assert len(synced) == 1
    assert synced[0] > before


def test_the_file_is_its_owners_alone(journal: Journal) -> None:
    with journal.hold():
        assert journal.path.stat().st_mode & 0o777 == 0o600
        assert journal.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_bench_has_its_journal_below_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Journal.for_bench("virtual").path == tmp_path / ".local/state/niclab/journal/virtual.jsonl"
    with pytest.raises(BenchFault, match=r"'\.\./x' is no bench name"):
        Journal.for_bench("../x")


def test_undo_runs_newest_first_and_leaves_nothing_pending(journal: Journal) -> None:
    seen: list[str] = []
    with journal.hold():
        entries = three(journal)
        journal.done(entries[1])
        assert journal.pending() == [entries[2], entries[0]]
        report = journal.undo_all(lambda action: seen.append(action.command))
        assert seen == ["undo 3", "undo 1"]
        assert report.done == (entries[2], entries[0])
        assert report.failed == ()
        report.raise_if_failed()
        assert journal.pending() == []


def test_when_one_undo_fails_the_others_run_and_it_stays_pending(journal: Journal) -> None:
    seen: list[str] = []

    def run(action: Action) -> None:
        seen.append(action.command)
        if action.command == "undo 2":
            raise ConnectionError("dut is gone")

    with journal.hold():
        entries = three(journal)
        report = journal.undo_all(run)
        assert seen == ["undo 3", "undo 2", "undo 1"]
        assert report.done == (entries[2], entries[0])
        with pytest.raises(BenchFault) as caught:
            report.raise_if_failed()
        first, second = str(caught.value).splitlines()
        assert first == (
            "1 of 3 changes could not be undone and stay in the journal, such as dut: change 2: ConnectionError: "
            "dut is gone; put the server right and run niclab restore again, or give them up: niclab restore "
            "--forget failed --reason TEXT (a single one: --forget ID):"
        )
        assert second.startswith("dut: change 2 (")
        assert second.endswith("undo: local on controller: undo 2; failed: ConnectionError: dut is gone")
        (left,) = Journal(journal.path).pending()
        assert (left.id, left.errors) == (entries[1].id, ("ConnectionError: dut is gone",))
        again = journal.undo_all(run)
        assert again.failed[0].errors == ("ConnectionError: dut is gone",) * 2
        assert journal.undo_all(lambda _: None).done[0].id == left.id


def test_a_run_broken_off_by_the_user_leaves_the_rest_pending(journal: Journal) -> None:
    def run(action: Action) -> None:
        if action.command == "undo 2":
            raise KeyboardInterrupt

    with journal.hold():
        entries = three(journal)
        with pytest.raises(KeyboardInterrupt):
            journal.undo_all(run)
        assert journal.pending() == [entries[1], entries[0]]


def test_one_entry_is_undone_by_itself(journal: Journal) -> None:
    seen: list[str] = []
    with journal.hold():
        first, second, third = three(journal)
        journal.undo(second, lambda action: seen.append(action.command))
        assert seen == ["undo 2"]
        assert journal.pending() == [third, first]
        repeats: list[Callable[[], None]] = [lambda: journal.undo(second, run_locally), lambda: journal.done(second)]
        for again in repeats:
            with pytest.raises(BenchFault, match="not pending: dut: change 2"):
                again()
        with pytest.raises(BenchFault, match="1 of 1 changes could not be undone"):
            journal.undo(third, refuse)
        assert journal.pending()[0].errors == ("OSError: no",)


@pytest.mark.parametrize("change", [True, False])
def test_a_killed_run_is_undone_by_the_next(journal: Journal, tmp_path: Path, change: bool) -> None:
    marker = tmp_path / "marker"
    with holder(journal.path, marker, change=change) as child:
        assert marker.exists() is change
        os.kill(child.pid, signal.SIGKILL)
        child.wait(timeout=10)
        with journal.hold():
            (left,) = journal.pending()
            assert (left.subject, left.what, left.run, left.pid) == ("dut.p0", "marker made", "killed", child.pid)
            report = journal.undo_all(run_locally)
            assert [entry.id for entry in report.done] == [left.id]
            assert not marker.exists()
            assert journal.pending() == []


def test_a_second_run_is_told_who_holds_the_bench(journal: Journal, tmp_path: Path) -> None:
    with holder(journal.path, tmp_path / "marker", change=False) as child:
        with pytest.raises(BenchFault, match=rf"the bench is in use by pid {child.pid}; expected one run at a time"):
            journal.hold().__enter__()
        assert len(journal.pending()) == 1
    with journal.hold():
        other = Journal(journal.path)
        with pytest.raises(BenchFault, match=rf"in use by pid {os.getpid()}"):
            other.hold().__enter__()
        with pytest.raises(BenchFault, match="this run holds the journal already"):
            journal.hold().__enter__()


def test_a_journal_is_given_back_also_when_the_run_fails(journal: Journal) -> None:
    with pytest.raises(ZeroDivisionError), journal.hold():
        raise ZeroDivisionError
    assert lines(journal)[-1]["event"] == "released"
    with Journal(journal.path).hold():
        pass


def test_only_the_holder_writes(journal: Journal) -> None:
    with journal.hold():
        entry = journal.register("dut", "change", local("undo"))
    ran: list[Action] = []
    writers: list[Callable[[], object]] = [
        lambda: journal.register("dut", "change", local("undo")),
        lambda: journal.done(entry),
        lambda: journal.undo(entry, ran.append),
        lambda: journal.undo_all(ran.append),
    ]
    for write in writers:
        with pytest.raises(BenchFault, match="the undo journal is not held"):
            write()
    assert ran == []
    assert journal.pending() == [entry]


@pytest.mark.parametrize("cut", [b'{"event": "regis', b"\x00\x00\x00", b'{"event": "done", "id": "\xff'])
def test_a_torn_last_line_is_tolerated_reported_and_mended(journal: Journal, cut: bytes) -> None:
    with journal.hold():
        entry = journal.register("dut", "change", local("undo"))
    with journal.path.open("ab") as file:
        file.write(cut)
    again = Journal(journal.path)
    assert again.pending() == [entry]
    with again.hold():
        assert again.torn == cut.decode(errors="replace")
        assert again.pending() == [entry]
        again.done(entry)
    assert [line["event"] for line in lines(again)][-4:] == ["torn", "held", "done", "released"]
    with journal.hold():
        assert journal.torn is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{}", "KeyError"),
        ('{"event": "done", "id": "nobody"}', "KeyError"),
        ('{"event": "regis', "JSONDecodeError"),
        ("5", "TypeError"),
        ("", "JSONDecodeError"),
        ('{"event": "mislaid"}', "unknown event 'mislaid'"),
        ('{"event": "forgotten", "id": "nobody"}', "KeyError"),
        (
            '{"event": "registered", "action": {"kind": "magic", "where": "dut", "command": "x"}}',
            "'magic' is not a valid",
        ),
    ],
)
def test_any_other_unreadable_line_is_an_error(journal: Journal, line: str, reason: str) -> None:
    with journal.hold():
        journal.register("dut", "change", local("undo"))
    content = f"{line}\n{journal.path.read_text()}"
    journal.path.write_text(content)
    for read in (journal.pending, journal.hold().__enter__):
        with pytest.raises(BenchFault, match=r"toy\.jsonl:1: no line of an undo journal") as caught:
            read()
        assert reason in str(caught.value)
    assert journal.path.read_text() == content


def test_a_full_disk_stops_the_change_and_leaves_the_journal_whole(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    with journal.hold():
        entry = journal.register("dut", "change", local("undo"))
        before = journal.path.read_bytes()
        monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[: len(data) // 2]))
        with pytest.raises(BenchFault, match="no room for a whole line of the undo journal"):
            journal.register("dut", "another", local("undo"))
        report = journal.undo_all(lambda _: None)
        assert report.done == ()
        assert "(not recorded: " in report.failed[0].errors[-1]
        monkeypatch.undo()
        assert journal.path.read_bytes() == before
        assert journal.pending() == [entry]


def test_a_disk_error_is_a_bench_fault(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    with journal.hold():
        monkeypatch.setattr(os, "fsync", broken)
        with pytest.raises(BenchFault, match="the undo journal cannot be written: Input/output error"):
            journal.register("dut", "change", local("undo"))
        monkeypatch.undo()


@pytest.mark.parametrize("moved", [True, False])
def test_a_journal_moved_away_during_the_run_is_noticed(journal: Journal, moved: bool) -> None:
    with pytest.raises(BenchFault, match="moved or deleted during the run"), journal.hold():
        if moved:
            journal.path.rename(journal.path.with_suffix(".away"))
            journal.path.touch()
        else:
            journal.path.unlink()
        journal.register("dut", "change", local("undo"))


def test_a_long_settled_journal_starts_afresh(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "_START_AFRESH_ABOVE_BYTES", 100)
    with journal.hold():
        entry = journal.register("dut", "change", local("undo"))
    with journal.hold():
        assert journal.pending() == [entry]
        journal.done(entry)
    old = journal.path.read_text()
    with journal.hold():
        assert [line["event"] for line in lines(journal)] == ["tokens", "held"]
    assert journal.path.with_suffix(".old.jsonl").read_text() == old


def test_a_journal_that_cannot_be_made_is_a_bench_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BenchFault, match=r"cannot be opened: (Not a directory|File exists)"):
        Journal(tmp_path / "file" / "toy.jsonl").hold().__enter__()
    assert Journal(tmp_path / "none.jsonl").pending() == []


@pytest.mark.parametrize(
    ("kind", "where", "command", "message"),
    [
        (ActionKind.SHELL, "controller", "true", "where 'controller' is not wanted; expected dut or peer"),
        (ActionKind.LOCAL, "dut", "true", "where 'dut' is not wanted; expected controller"),
        (ActionKind.POWER, "dut", "cycle", "power state 'cycle' is not wanted; expected on or off"),
        (ActionKind.SHELL, "dut", " ", "the command is empty"),
    ],
)
def test_an_action_that_cannot_be_run_is_refused(kind: ActionKind, where: str, command: str, message: str) -> None:
    with pytest.raises(BenchFault, match=message):
        Action(kind, where, command)


@pytest.mark.parametrize(("subject", "what"), [("", "change"), ("dut", " ")])
def test_an_entry_says_whom_and_what(journal: Journal, subject: str, what: str) -> None:
    with journal.hold(), pytest.raises(BenchFault, match="without subject or change"):
        journal.register(subject, what, local("undo"))


def test_a_forgotten_change_is_kept_with_who_and_why_and_never_undone(journal: Journal) -> None:
    with journal.hold():
        entries = three(journal)
        assert journal.forget(entries[1].short_id, "the disk was replaced", "alice@here") == entries[1]
        assert journal.pending() == [entries[2], entries[0]]
        assert journal.undo_all(lambda _: None).done == (entries[2], entries[0])
    (kept,) = [line for line in lines(journal) if line["event"] == "forgotten"]
    assert (kept["id"], kept["reason"], kept["by"]) == (entries[1].id, "the disk was replaced", "alice@here")
    with Journal(journal.path).hold() as again:
        assert again.pending() == []


@pytest.mark.parametrize(
    ("id", "reason", "said"),
    [
        ("", "why", r"0 pending entries have the id ''; expected one of: \w{8}, \w{8}, \w{8}$"),
        ("nobody", "why", "0 pending entries"),
        ("00000000", "  ", "entry 00000000: the reason is empty; expected the reason why"),
    ],
)
def test_only_one_pending_entry_is_forgotten_and_with_a_reason(
    journal: Journal, id: str, reason: str, said: str
) -> None:
    with journal.hold():
        entries = three(journal)
        with pytest.raises(BenchFault, match=said):
            journal.forget(id, reason, "alice@here")
        assert len(journal.pending()) == len(entries)
        journal.done(entries[0])
        with pytest.raises(BenchFault, match="0 pending entries"):
            journal.forget(entries[0].id, "undone by hand", "alice@here")


def test_the_marks_of_an_earlier_holder_are_its_own_and_of_another_journal_are_not(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with journal.hold():
        pass
    monkeypatch.setattr(undo, "_START_AFRESH_ABOVE_BYTES", 1)
    again, other = Journal(journal.path), Journal(tmp_path / "state" / "other.jsonl")
    assert not again.is_own(journal.token)
    with again.hold(), other.hold():
        assert again.is_own(again.token) and again.is_own(journal.token) and again.token != journal.token
        assert not other.is_own(journal.token) and not again.is_own(other.token) and not again.is_own("")
    assert again.token in {line.get("token") for line in lines(again)}
