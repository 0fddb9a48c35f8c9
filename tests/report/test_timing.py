"""The time of a run by its use: every moment counts once, for what comes first."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from niclab.commands import cli
from niclab.core import marks
from niclab.core.marks import Mark, MarkKind
from niclab.core.verdict import BenchFault
from niclab.core.wait import pause, until
from niclab.report.evidence.runfolder import new_run
from niclab.report.timing import Spent, Stretch, divide, timing_of
from niclab.run.run_notes import RunNotes

BEGIN = datetime(2026, 11, 23, 10, 0, 0, tzinfo=UTC).timestamp()


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run of 100 s: two boots, a pause, traffic with a question meanwhile, and two questions more."""
    folder = new_run(tmp_path / "results", "x710", "hall-3", repository=tmp_path)
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(run | {"started": "2026-11-23T09:59:50+00:00"}))
    suite = '<suite><status status="PASS" start="2026-11-23T10:00:00.000000" elapsed="100.0"/></suite>'
    (folder / "output.xml").write_text(f"<robot>{suite}</robot>")
    noted = [
        Mark(MarkKind.BOOT, "dut", BEGIN + 20, 20),
        Mark(MarkKind.STATE, "dut to answer over SSH", BEGIN + 20, 15),
        Mark(MarkKind.RECOVERY, "peer", BEGIN + 30, 10),
        Mark(MarkKind.PAUSE, "pause", BEGIN + 35, 5),
        Mark(MarkKind.STATE, "carrier", BEGIN + 40, 5),
        Mark(MarkKind.DISCARDED, "20 Mbit/s", BEGIN + 50, 0),
    ]
    lines = [
        json.dumps({"kind": each.kind, "subject": each.subject, "ended": each.ended, "seconds": each.seconds})
        for each in noted
    ]
    (folder / "evidence" / marks.FILE).write_text("\n".join(lines) + "\n")
    commands = [
        ("iperf3 --client 198.18.0.2 --json", 70, 20),
        ("iperf3 --server --one-off", 75, 40),
        ("cat /proc/stat", 60, 1),
        ("cat /proc/stat", 71, 1),
        ("ip -j link", 74, 3),
        ("exec python3 /tmp/niclab.a1/standstill_program.py 20", 95, 70),
        ("while read -r line; do echo; done < /tmp/niclab.a1/standstill_program.py.told", 80, 1),
        (": frame_program; kill -USR1 7; until [ -s result ]; do sleep 0.1; done", 90, 5),
    ]
    (folder / "evidence" / "commands-dut.jsonl").write_text(
        "".join(json.dumps({"command": c, "ended": BEGIN + e, "seconds": s}) + "\n" for c, e, s in commands)
    )
    return folder


def test_the_time_of_a_run_is_divided(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = timing_of(run_dir)
    assert found.seconds == {
        Spent.TRAFFIC: 25,
        Spent.BOOTS: 30,
        Spent.PAUSES: 5,
        Spent.STATES: 5,
        Spent.COMMANDS: 5,
        Spent.FRAMEWORK: 30,
    }
    assert (found.wall_s, found.commands, found.median_s) == (100, 4, 1)
    assert found.boots == {"dut": 1, "peer": 1} and found.ratio == pytest.approx(100 / 60)
    assert cli.main(["timing", str(run_dir)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "traffic               25.0 s   25 %",
        "boots                 30.0 s   30 %  dut 1, peer 1",
        "ordered waits          5.0 s    5 %",
        "waits for a state      5.0 s    5 %",
        "commands               5.0 s    5 %  4, median 1000 ms",
        "framework             30.0 s   30 %",
        "wall                 100.0 s",
        "wall / (traffic + boots + ordered waits): 1.67",
    ]


def test_a_log_without_moments_counts_by_the_second(run_dir: Path) -> None:
    line = {"command": "iperf3 --client x", "when": "2026-11-23T10:00:30+00:00", "seconds": 10.0}
    (run_dir / "evidence" / "commands-dut.jsonl").write_text(json.dumps(line) + "\n")
    (run_dir / "evidence" / marks.FILE).unlink()
    found = timing_of(run_dir)
    assert found.seconds[Spent.TRAFFIC] == 10 and not found.marked


def test_overlaps_and_what_lies_outside_count_once() -> None:
    seconds = divide(
        [
            Stretch(Spent.COMMANDS, -5, 3),
            Stretch(Spent.COMMANDS, 1, 4),
            Stretch(Spent.BOOTS, 2, 5),
            Stretch(Spent.TRAFFIC, 9, 20),
        ],
        0,
        10,
    )
    assert seconds[Spent.COMMANDS] == 2 and seconds[Spent.BOOTS] == 3 and seconds[Spent.TRAFFIC] == 1
    assert seconds[Spent.FRAMEWORK] == 4 and sum(seconds.values()) == 10


@pytest.mark.parametrize("name", ["output.xml", "evidence/commands-dut.jsonl", "evidence/marks.jsonl"])
def test_what_cannot_be_read_is_named(run_dir: Path, name: str) -> None:
    (run_dir / name).write_text("{")
    with pytest.raises(BenchFault, match=Path(name).name):
        timing_of(run_dir)


class TestMarks:
    def test_waits_are_noted(self, tmp_path: Path) -> None:
        file = tmp_path / "evidence" / marks.FILE
        with RunNotes(file.parent).of_waits():
            pause(0.01)
            answers = iter([False, True])
            until(lambda: next(answers), within=5, what="the second answer", every=0.01)
            until(lambda: True, within=5, what="what is there already")
        pause(0)
        noted = marks.read(file)
        assert [(mark.kind, mark.subject) for mark in noted] == [
            (MarkKind.PAUSE, "pause"),
            (MarkKind.STATE, "the second answer"),
        ]
        assert all(mark.seconds >= 0.01 for mark in noted)

    def test_a_run_without_marks_has_none(self, tmp_path: Path) -> None:
        assert marks.read(tmp_path / marks.FILE) == []

    def test_a_file_that_cannot_be_written_is_a_fault(self, tmp_path: Path) -> None:
        (tmp_path / marks.FILE).mkdir()
        notes = RunNotes(tmp_path)
        with pytest.raises(BenchFault, match=r"cannot be written"):
            notes.mark(MarkKind.BOOT, "dut")
        with notes.of_waits(), pytest.raises(BenchFault, match=r"cannot be written"):
            pause(0)
