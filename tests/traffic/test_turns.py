"""Turns to measure come in the order in which runs have asked for them, and a killed run keeps nobody waiting."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TextIO

import pytest

import niclab
from niclab.core import wait
from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.traffic.runs import turns

WAITING = """
import sys
from niclab.traffic.runs.turns import turn_to_measure
with turn_to_measure():
    print("turn", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(turns.LOCK, str(tmp_path / "lock"))
    return tmp_path / "lock"


def tickets(lock: Path) -> list[str]:
    folder = lock.with_name("lock.queue")
    return [file.name for file in folder.iterdir() if not file.name.startswith(".")] if folder.exists() else []


def test_who_came_first_has_the_first_turn(lock: Path) -> None:
    order: list[int] = []

    def measure(number: int) -> None:
        with turns.turn_to_measure():
            order.append(number)
            time.sleep(0.06)

    threads = [threading.Thread(target=measure, args=(number,)) for number in range(8)]
    with turns.turn_to_measure():
        for number, thread in enumerate(threads):
            thread.start()
            until(lambda number=number: len(tickets(lock)) == number + 2, within=10, what="a ticket", every=0.005)
    for thread in threads:
        thread.join()
    assert order == list(range(8)) and tickets(lock) == []


@pytest.fixture
def others(lock: Path) -> Iterator[list[TextIO]]:
    """Three runs that came before: their tickets, which they hold."""
    lock.with_name("lock.queue").mkdir()
    with contextlib.ExitStack() as held:
        files = [held.enter_context((lock.with_name("lock.queue") / f"{number:020}").open("w")) for number in range(3)]
        for file in files:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield files


@pytest.mark.parametrize("ends_s", [0.9, 1.2])
def test_the_deadline_is_that_of_one_measurement_and_not_of_all_that_wait(
    others: list[TextIO], monkeypatch: pytest.MonkeyPatch, ends_s: float
) -> None:
    now_s, ended = 0.0, 0

    def sleep(seconds: float) -> None:
        nonlocal now_s, ended
        now_s += seconds
        while ended < len(others) and now_s >= (ended + 1) * ends_s:
            Path(others[ended].name).unlink()
            ended += 1

    monkeypatch.setattr(wait, "time", SimpleNamespace(monotonic=lambda: now_s, sleep=sleep))
    in_time = contextlib.nullcontext() if ends_s < 1 else pytest.raises(BenchFault, match="end of another run's measur")
    with in_time, turns.turn_to_measure(within_s=1.0):
        assert now_s >= 3 * ends_s
    assert (ended == 3) is (ends_s < 1)


@pytest.mark.parametrize("waits", [True, False])
def test_a_killed_run_keeps_nobody_waiting(lock: Path, waits: bool) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(niclab.__file__).parents[1])}
    killed = [sys.executable, "-c", WAITING]
    with turns.turn_to_measure() if waits else contextlib.nullcontext():
        process = subprocess.Popen(killed, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        until(lambda: len(tickets(lock)) == 1 + waits, within=30, what="the other run's ticket")
        if not waits:
            assert process.stdout is not None and process.stdout.readline() == "turn\n"
        process.kill()
        process.communicate()
    with turns.turn_to_measure(within_s=5):
        assert len(tickets(lock)) == 1
