"""Progress of a run: one line on a terminal, a line for each test elsewhere, failures always."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

from niclab.report.live import LiveBoard

LISTENER = Path(__file__).parents[2] / "libraries" / "listeners" / "LiveProgress.py"
SUITE = """*** Test Cases ***
Good
    No Operation
Bad
    Fail    CardFailure: trained to x4
"""


def shown(*, terminal: bool) -> str:
    out = io.StringIO()
    board = LiveBoard(out, ["Q.Link.A", "Q.Link.B", "Q.Link.C"], {"Q.Link.A": 20, "Q.Link.B": 400}, terminal=terminal)
    for name, status in (("Q.Link.A", "PASS"), ("Q.Link.B", "FAIL")):
        board.start(name)
        board.end(name, status, 3.0, "CardFailure: trained to x4\nmore")
    board.close()
    return out.getvalue()


def test_a_pipe_gets_a_line_for_each_test() -> None:
    lines = [line[9:] if line[0].isdigit() and ":" in line[:9] else line for line in shown(terminal=False).splitlines()]
    assert lines == [
        "[1/3] PASS  Link: A  3.0 s, about 10 min left",
        "[2/3] FAIL  Link: B  3.0 s, about 4 min left",
        "    CardFailure: trained to x4",
        "2 of 3 tests ended, 1 failed",
    ]


def test_a_terminal_gets_one_line_that_is_rewritten_and_the_failures() -> None:
    text = shown(terminal=True)
    assert text.count("\n") == 3 and "PASS" not in text
    assert "\r\x1b[2K[0/3], about 10 min left  Link: A" in text and "    CardFailure: trained to x4\n" in text


def test_without_history_nothing_is_said_of_the_time_left() -> None:
    out = io.StringIO()
    LiveBoard(out, ["Q.Link.A"], {}, terminal=True).start("Q.Link.A")
    assert out.getvalue() == "\r\x1b[2K[0/1]  Link: A"


def test_the_listener_takes_the_place_of_the_console(tmp_path: Path) -> None:
    (tmp_path / "suite.robot").write_text(SUITE)
    earlier = tmp_path / "certificate.json"
    earlier.write_text(json.dumps({"tests": [{"name": "Suite.Bad", "seconds": 7}]}))
    options = ["--console", "quiet", "--output", "NONE", "--log", "NONE", "--report", "NONE"]
    command = [sys.executable, "-m", "robot", *options, "--pythonpath", str(LISTENER.parents[1])]
    done = subprocess.run(
        [*command, "--listener", f"{LISTENER}:{earlier}", str(tmp_path / "suite.robot")], capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    assert [line.partition("] ")[2] for line in lines[:2]] == [
        "PASS  Suite: Good  0.0 s, about 7 s left",
        "FAIL  Suite: Bad  0.0 s",
    ]
    assert lines[-1] == "2 of 2 tests ended, 1 failed" and done.stderr == ""
