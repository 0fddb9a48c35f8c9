"""The programs that are sent to servers, run here over the loopback: what they print is what is read."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from niclab.hosts.errors import ReadError
from niclab.run.watching import standstill_program
from niclab.run.watching.standstill import read_told
from niclab.traffic import WorthlessResult
from niclab.traffic.fragments import datagram_program, datagrams
from niclab.traffic.fragments.datagrams import BYTES, COUNT, read_delivery
from niclab.traffic.tools import round_trip_program, round_trips

HERE = "127.0.0.1"
PORT = 17111


def command(module: ModuleType, *words: object) -> list[str]:
    return [sys.executable, str(module.__file__), *map(str, words)]


@contextmanager
def serving(module: ModuleType, *words: object) -> Iterator[subprocess.Popen[str]]:
    """The program, ready; ended with the block."""
    process = subprocess.Popen(command(module, *words), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_datagrams_arrive_whole() -> None:
    with serving(datagram_program, "receive", HERE, PORT, COUNT, BYTES, 20) as receiver:
        subprocess.run(command(datagram_program, "send", HERE, HERE, PORT, COUNT, BYTES), check=True, timeout=20)
        text, _ = receiver.communicate(timeout=20)
    found = read_delivery(f"ready\n{text}", 0)
    assert (found.whole, found.twice, found.damaged, found.problem) == (COUNT, 0, 0, "")


def test_what_is_lost_twice_or_changed_is_told() -> None:
    with serving(datagram_program, "receive", HERE, PORT + 1, COUNT, 4096, 1) as receiver:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one, other = (datagram_program.content(number, 4096) for number in (1, 2))
        for data in (one, one, other[:2000] + one[2000:], b"x", other[:-1]):
            sock.sendto(data, (HERE, PORT + 1))
        text, _ = receiver.communicate(timeout=20)
    found = read_delivery(f"ready\n{text}", None)
    assert (found.whole, found.twice, found.damaged) == (1, 1, 3)
    assert found.problem.startswith("1 of 60 datagrams") and "1 twice, 3 with another content" in found.problem


@pytest.mark.parametrize("text", ["", "ready\nnumbers 1\ndamaged 0\n", "ready\nnumbers 60\ndamaged 0\nend\n"])
def test_what_is_not_whole_is_an_error(text: str) -> None:
    with pytest.raises(ReadError):
        read_delivery(text, None)


def test_wrong_checksums_alone_are_a_problem() -> None:
    delivery = datagrams.Delivery(sent=100, whole=100, twice=0, damaged=0, wrong_sums=1)
    assert delivery.problem.endswith("0 with another content, 1 with a wrong checksum")


def test_round_trips_are_counted() -> None:
    with serving(round_trip_program, "serve", HERE, PORT + 2, 20):
        done = subprocess.run(
            command(round_trip_program, "ask", HERE, HERE, PORT + 2, 1), capture_output=True, text=True, timeout=20
        )
    assert round_trips.read_rate(done.stdout, 1) > 50


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("trips 0\nseconds 2.0\nend\n", WorthlessResult),
        ("trips 900\nseconds 0.5\nend\n", WorthlessResult),
        ("trips 900\nseconds 2.0\n", ReadError),
    ],
)
def test_round_trips_that_prove_nothing_are_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        round_trips.read_rate(text, 2)


def test_a_standstill_is_told_with_its_length(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now, sleeps = [100.0], iter((0.021, 0.269, 0.271, 0.02, 1.775, *[0.02] * 400))

    def sleep(_: float) -> None:
        now[0] += next(sleeps)

    monkeypatch.setattr(standstill_program, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    file = tmp_path / "told"
    standstill_program.watch(str(file), 0.02, 0.25, 5)
    assert file.read_text() == f"pid {os.getpid()}\nstood 251\nstood 1755\n"
    assert 105 <= now[0] < 105.1


def test_what_the_watch_has_written_is_there_when_it_is_ready(tmp_path: Path) -> None:
    with serving(standstill_program, tmp_path / "told", 20, 60000, 30) as watch:
        assert (tmp_path / "told").read_text() == f"pid {watch.pid}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [("pid 7\n", ()), ("pid 7\nstood 300\nstood 12", (300,)), ("pid 7\nstood 300\nstood 1200\n", (300, 1200))],
)
def test_what_the_watch_has_said_until_now_is_read(text: str, told: tuple[int, ...]) -> None:
    assert read_told(text) == told


@pytest.mark.parametrize(
    "text", ["", "stood 300\n", "pid 7\nstood\n", "pid 7\nTraceback (most recent call last):\n", "pid\n"]
)
def test_what_the_watch_does_not_say_is_refused(text: str) -> None:
    with pytest.raises(ReadError, match="expected pid and a number, then lines of stood and a number"):
        read_told(text)
