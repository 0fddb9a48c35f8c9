"""Turns to measure come in the order in which runs have asked for them, and a killed run keeps nobody waiting."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import niclab
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


def test_the_deadline_is_that_of_one_measurement_and_not_of_all_that_wait(lock: Path) -> None:
    def measure() -> None:
        with turns.turn_to_measure():
            time.sleep(0.4)

    threads = [threading.Thread(target=measure) for _ in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: len(tickets(lock)) == 4, within=10, what="all to wait", every=0.005)
    with turns.turn_to_measure(within_s=1.0):
        pass
    for thread in threads:
        thread.join()
    with (
        turns.turn_to_measure(),
        pytest.raises(BenchFault, match="the end of another run's measurement"),
        turns.turn_to_measure(within_s=0.2),
    ):
        pass


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
