"""Progress of a run: one line on a terminal, a line for each test elsewhere, failures always."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from niclab.report.live import LiveBoard, LiveThread

LISTENER = Path(__file__).parents[2] / "libraries" / "listeners" / "LiveProgress.py"
ROBOT = [sys.executable, "-m", "robot", "--console", "quiet", "--log", "NONE", "--report", "NONE"]
ROBOT += ["--pythonpath", str(LISTENER.parents[1])]
SUITE = """*** Test Cases ***
Good
    No Operation
Bad
    Fail    CardFailure: trained to x4
"""


TESTS = ["Q.Link.A", "Q.Link.B", "Q.Link.C"]
EARLIER = {"Q.Link.A": 20.0, "Q.Link.B": 400.0}


def shown(*, terminal: bool) -> str:
    out = io.StringIO()
    board = LiveBoard(out, TESTS, EARLIER, terminal=terminal, clock=itertools.count().__next__)
    for name, status in (("Q.Link.A", "PASS"), ("Q.Link.B", "FAIL")):
        board.start(name)
        board.end(name, status, 3.0, "CardFailure: trained to x4\nmore")
    board.close()
    return out.getvalue()


def on_screen(text: str) -> list[str]:
    """Return what a terminal shows in the end: a block that is cleared leaves nothing."""
    lines = [""]
    for part in re.split(r"(\r\x1b\[1A\x1b\[J|\n)", text):
        if part == "\n":
            lines.append("")
        elif part.startswith("\r"):
            lines[-2:] = [""]
        else:
            lines[-1] += part
    return lines


def test_a_pipe_gets_a_line_for_each_test() -> None:
    lines = [line[9:] if line[0].isdigit() and ":" in line[:9] else line for line in shown(terminal=False).splitlines()]
    assert lines[:3] == [
        "[1/3] PASS  Link: A  3.0 s, about 10 min left",
        "[2/3] FAIL  Link: B  3.0 s, about 4 min left",
        "    CardFailure: trained to x4",
    ]
    assert re.fullmatch(r"2 of 3 tests ended in 0:0\d min, 1 failed", lines[3]) and len(lines) == 4


def test_a_terminal_keeps_the_failures_and_nothing_else() -> None:
    text = shown(terminal=True)
    assert " s, 20 s in the run before)" in text and "[========                ] 1/3   0:" in text
    lines = on_screen(text)
    assert lines[0].endswith("[2/3] FAIL  Link: B  3.0 s, about 4 min left")
    assert lines[1] == "    CardFailure: trained to x4" and lines[2].startswith("2 of 3 tests ended in ")
    assert lines[3:] == [""]


def test_without_history_nothing_is_said_of_the_time_left() -> None:
    out = io.StringIO()
    LiveBoard(out, ["Q.Link.A"], {}, terminal=True, clock=lambda: 0.0).start("Q.Link.A")
    assert out.getvalue() == f"[{' ' * 24}] 0/1   0:00 min\n  Link: A  (0 s)"


def test_an_output_that_fails_or_blocks_holds_up_nothing() -> None:
    blocked = threading.Event()

    class Broken:
        def write(self, text: str) -> None:
            raise OSError(text)

    class Blocked:
        def write(self, text: str) -> None:
            blocked.wait(30 + len(text))

    for out in (Broken(), Blocked()):
        begun = time.monotonic()
        live = LiveThread(LiveBoard(out, TESTS, {}, terminal=True))
        for name in TESTS:
            live.start(name)
            live.end(name, "PASS", 0.1, "")
        live.close()
        assert time.monotonic() - begun < 10
    blocked.set()


def test_a_reader_that_stopped_reading_does_not_stop_the_run(tmp_path: Path) -> None:
    (tmp_path / "suite.robot").write_text("*** Test Cases ***\n" + "".join(
        f"{'A Long Name ' * 30}{n}\n    No Operation\n" for n in range(300)
    ))  # fmt: skip
    reading, writing = os.pipe()
    command = [*ROBOT, "--listener", str(LISTENER), "--output", str(tmp_path / "output.xml"), str(tmp_path)]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    assert len(os.read(reading, 1 << 20)) > 60000  # the pipe is full
    os.close(reading)
    os.close(writing)
    assert done.returncode == 0 and done.stderr == "" and "<errors>\n</errors>" in (tmp_path / "output.xml").read_text()


def test_the_listener_takes_the_place_of_the_console(tmp_path: Path) -> None:
    (tmp_path / "suite.robot").write_text(SUITE)
    earlier = tmp_path / "certificate.json"
    earlier.write_text(json.dumps({"tests": [{"name": "Suite.Bad", "seconds": 7}]}))
    command = [*ROBOT, "--output", "NONE", "--listener", f"{LISTENER}:{earlier}", str(tmp_path / "suite.robot")]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert [line.partition("] ")[2] for line in lines[:2]] == [
        "PASS  Suite: Good  0.0 s, about 7 s left",
        "FAIL  Suite: Bad  0.0 s",
    ]
    assert lines[-1].startswith("2 of 2 tests ended in ") and lines[-1].endswith("1 failed")
    assert done.stderr == ""


def test_a_test_that_no_earlier_run_had_takes_as_long_as_most() -> None:
    out = io.StringIO()
    earlier = {"Q.A": 1.0, "Q.B": 2.0, "Q.C": 600.0}
    LiveBoard(out, ["Q.A", "Q.B", "Q.C", *"new"], earlier, terminal=False, clock=lambda: 0.0).end("Q.C", "PASS", 1, "")
    assert out.getvalue().endswith("about 9 s left\n")
