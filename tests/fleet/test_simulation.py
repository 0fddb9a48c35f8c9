"""A small lab at a real coordinator: every run once, no bench twice, clients and coordinator killed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from niclab.fleet.reservation import PYTHON

REPOSITORY = Path(__file__).parents[2]
SMALL = "--benches 6 --runs 40 --seconds 4 --workers 6 --clients 2 --kills 2 --quiet-s 2 --held-s 6 --poll-s 0.3"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not Path(os.environ.get(PYTHON, "")).is_file(), reason=f"{PYTHON} names no Python of labgrid 26.0.1"
    ),
]


def test_every_run_is_done_once_and_no_bench_is_used_twice() -> None:
    command = [sys.executable, str(REPOSITORY / "benchmarks" / "fleet.py"), *SMALL.split()]
    options = ["--reap-every", "2", "--at-least", "0"]  # how well benches are used is no fact on a loaded machine
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "done exactly once: 40 of 40\n" in done.stdout
    assert "bench used twice at once: 0 by time, 0 by its lock\n" in done.stdout
    assert re.search(r"clients killed: [1-9]", done.stdout) and "killed and started again" in done.stdout
