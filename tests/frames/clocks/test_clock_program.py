"""The clock program: what it makes of a clock, and its frames in two network namespaces, stamped by nobody."""

from __future__ import annotations

import errno
import itertools
import socket
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from namespaces import Namespaces

from niclab.bench.records import Role
from niclab.frames.clocks import clock_agents, clock_calls, clock_program
from niclab.frames.clocks.clock_agents import ClockAgents, restoring
from niclab.frames.clocks.clock_program import ANSWERS, ASKS, hardware_ns, numbered, sync
from niclab.frames.clocks.clock_records import PortClock

SOFTWARE_CLOCK = """

class Clock:
    def __init__(self, number: int) -> None:
        self.number = number

    def now(self) -> int:
        return time.time_ns()

    def close(self) -> None:
        pass
"""


class Ticks:
    """A clock that shows given times, the last of them for ever."""

    def __init__(self, times: Iterable[int]) -> None:
        self.times, self.set_to = list(times), list[int]()

    def now(self) -> int:
        return self.times.pop(0) if self.times[1:] else self.times[0]

    def set(self, ns: int) -> None:
        if ns < 0:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        self.set_to.append(ns)


def _clock(times: Iterable[int]) -> Any:
    return Ticks(times)


def test_readings_that_go_back_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_program, "READS", 1)
    found = clock_program.watch(_clock([10, 20, 30, 25, 25, 40, 40]), 0.1)
    assert (found["back_ns"], found["first"][1], found["last"][1]) == ([5], 10, 40)
    assert found["same"] >= 1 and found["reads"] > 5


def test_the_reading_with_the_least_time_around_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    own = iter([0, 50, 100, 107, 200, 280])
    monkeypatch.setattr(clock_program, "READS", 3)
    monkeypatch.setattr(clock_program, "own_ns", lambda: next(own))
    assert clock_program.tightest(_clock([1, 2, 3])) == [100, 2, 107]


def test_a_clock_is_set_by_a_difference_and_a_refusal_is_said() -> None:
    clock = _clock([1000, 3001])
    found = clock_program.set_by(clock, 2000)
    assert (clock.set_to, found["set"][1], found["read"][1]) == ([3000], 3000, 3001)
    assert clock_program.set_by(_clock([1000]), -2000)["errno"] == errno.EOPNOTSUPP


def test_frames_are_known_by_mark_way_and_number() -> None:
    frame = sync(bytes(6), ASKS, 517, 99)
    assert (numbered(frame, ASKS), numbered(frame, ANSWERS), len(frame)) == (517, -1, 60)
    assert frame[:6].hex() == "011b19000000" and frame[12:16].hex() == "88f70002"  # a Sync message of version 2
    assert numbered(frame[:12] + b"\x08\x00" + frame[14:], ASKS) == numbered(frame[:40], ASKS) == -1
    assert numbered(frame.replace(b"niclab", b"linux."), ASKS) == -1


def test_only_the_stamp_of_the_hardware_counts() -> None:
    software = struct.pack("@6q", 5, 6, 0, 0, 0, 0)
    by_hardware = struct.pack("@6q", 5, 6, 0, 0, 7, 8)
    kind = (socket.SOL_SOCKET, clock_program.SO_TIMESTAMPING)
    assert hardware_ns([(*kind, software)]) == hardware_ns([]) == hardware_ns([(1, 29, by_hardware)]) == 0
    assert hardware_ns([(263, 16, b""), (*kind, by_hardware)]) == 7_000_000_008


@pytest.fixture
def clocks(clean: Namespaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClockAgents]:
    """The programs, with the system's time for a clock."""
    source = tmp_path / "clock_calls.py"
    source.write_text(Path(clock_calls.__file__).read_text() + SOFTWARE_CLOCK)
    monkeypatch.setattr(
        clock_agents, "clock_calls", SimpleNamespace(__name__=clock_calls.__name__, __file__=str(source))
    )
    yield ClockAgents(clean.run)
    clean.run.ending.close()


def test_each_frame_is_answered_between_two_readings(clean: Namespaces, clocks: ClockAgents) -> None:
    port = clean.ports["dut.p0"]
    frames = clocks.exchange(port, 0, clock_agents.SENDING, 1)
    assert [each.sent for each in frames] == [()], "a veth has no hardware that stamps"
    frames = clocks.exchange(port, 0, 0, 20)
    assert len(frames) == 20 and all(each.begun < each.there < each.ended for each in frames)
    assert all(one.before < one.after < two.before for one, two in itertools.pairwise(frames))


def test_an_exchange_ends_where_several_frames_lack_something(clean: Namespaces, clocks: ClockAgents) -> None:
    peer = clean.servers[Role.PEER]
    peer.run("ip link set p1 down")
    try:
        frames = clocks.exchange(clean.ports["dut.p1"], 0, 0, 60)
    finally:
        peer.run("ip link set p1 up")
    assert [each.there for each in frames] == [0] * clock_program.MOST_LACKING
    assert all(each.ended - each.begun > 2e9 and each.stood_ns < 1e9 for each in frames)


def test_a_port_without_a_clock_is_seen_and_put_back(clean: Namespaces, clocks: ClockAgents) -> None:
    found = clocks.look(clean.ports["dut.p0"])
    assert (found.number, found.filter) == (-1, 0)
    assert clocks.stamp(clean.ports["dut.p0"], 1, 12).errno == errno.EOPNOTSUPP
    clean.servers[clean.ports["dut.p0"].role].run(restoring("p0", found))


def test_the_most_general_filter_is_taken() -> None:
    def passes(*kinds: int) -> int:
        return PortClock(number=0, sends=3, passes=sum(1 << kind for kind in kinds), stamping=(0, 0)).filter

    assert (passes(0), passes(0, 3, 6), passes(0, 9), passes(0, 9, 12), passes(0, 1, 12)) == (0, 0, 9, 12, 1)


def test_a_clock_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    refusing: set[str] = set()

    def calls(name: str) -> Any:
        def call(*words: int | str) -> None:
            done.append((name, *words))
            if name in refusing:
                raise OSError(errno.EOPNOTSUPP if name == "frequency" else errno.EIO, "no")

        return call

    clock = SimpleNamespace(frequency=calls("frequency"), set=calls("set"))
    monkeypatch.setattr(clock_calls, "Clock", lambda _: clock)
    monkeypatch.setattr(clock_calls, "offered", lambda _: (3, 3, 1))
    monkeypatch.setattr(clock_calls, "stamp", calls("stamp"))
    monkeypatch.setattr(clock_calls.time, "time_ns", lambda: 1000)
    refusing.add("frequency")
    clock_calls.put_back("eth0", 37, 9, 1, 12)
    assert done == [("stamp", "eth0", 1, 12), ("frequency", 9), ("set", 1037)]
    refusing.add("stamp")
    with pytest.raises(OSError, match="no"):
        clock_calls.put_back("eth0", 37, 9, 1, 12)
    assert len(done) == 6
