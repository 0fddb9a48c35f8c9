"""Cycles of a soak: what each measures, what ends it, and that every event is kept."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.frames.blame.frame_findings import Culprit
from niclab.frames.blame.loop import TriedPort
from niclab.frames.latency.ping_pong import PingPong, Trips
from niclab.frames.latency.round_trip_times import LateAt, LateTrip, RoundTrips
from niclab.frames.soak import soaking
from niclab.frames.soak.soak_series import SoakFigure
from niclab.frames.soak.soaking import Soaked, cycle_s, soak
from niclab.run.run import Run
from niclab.run.watching.kernel_watch import KernelWatch
from niclab.transports import ConnectionLost

GOOD = RoundTrips((100.0, 200.0, 300.0), (), 0)
LATE = RoundTrips((100.0,), (LateTrip(0.7, LateAt.ASKER),), 0)


class Clock:
    """A cycle takes as long as it pauses."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A bench whose flows and programs are good."""
    made, agents = Clock(), SimpleNamespace(inside=lambda *_: GOOD)

    @contextmanager
    def steady(*_: object) -> Iterator[None]:
        yield

    monkeypatch.setattr(soaking.tcp, "steady", steady)
    monkeypatch.setattr(soaking, "pause", made.pause)
    monkeypatch.setattr(soaking.stalls, "alone", lambda run, *_: ([Trips(run.bench.paths[0], GOOD)], []))
    monkeypatch.setitem(taken._parts, PingPong, agents)
    for host in bench.hosts.values():
        monkeypatch.setattr(host, "available_bytes", lambda: 1.5e9, raising=False)
    with taken.part(KernelWatch).beginning():
        pass
    return made


def soaked(run: Run, clock: Clock, hours: float = 0.05) -> Soaked:
    made, shown = Soaked(hours), list[int]()
    soak(run, made, lambda: shown.append(len(made.cycles)), lambda _: None, clock)
    assert shown
    return made


def test_a_cycle_is_neither_short_nor_long() -> None:
    assert [cycle_s(hours) for hours in (0.05, 1, 12, 100)] == [20, 60, 300, 300]


def test_every_figure_is_in_every_cycle(taken: Run, clock: Clock) -> None:
    found = soaked(taken, clock)
    assert len(found.cycles) > 8 and found.ended == "" and found.events == []
    for each in found.cycles:
        assert {measure.quantity for measure in each.found} >= set(SoakFigure) - {SoakFigure.TEMPERATURE}
        places = [measure.place for measure in each.found if measure.quantity is SoakFigure.RATE]
        assert sorted(places) == sorted(f"dut.{port} {does}" for port in ("p0", "p1") for does in ("sends", "receives"))


def test_a_frame_that_lies_in_the_dut_is_kept_and_the_soak_goes_on(
    taken: Run, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soaking.stalls, "alone", lambda run, *_: ([Trips(run.bench.paths[0], LATE)], []))
    sound = TriedPort(Culprit.CARD, "frames came in time")
    tried = {taken.bench.end(taken.bench.paths[0], Role.PEER): sound}
    monkeypatch.setattr(soaking.stalls, "try_peer", lambda *_: tried)
    found = soaked(taken, clock)
    assert len(found.cycles) == len(found.events) and found.ended == ""
    assert all(isinstance(each, CardFailure) for each in found.events)


@pytest.mark.parametrize(("counter", "kind"), [("rx_errors", Undecided), ("tx_errors", CardFailure)])
def test_errors_of_frames_are_kept(
    bench: FakeBench, taken: Run, clock: Clock, monkeypatch: pytest.MonkeyPatch, counter: str, kind: type[Exception]
) -> None:
    nic, looks = bench.nic("dut.p0"), soaking._looks

    def damaged(run: Run) -> Any:
        nic.frames[counter] = nic.frames.get(counter, 0) + 1
        return looks(run)

    monkeypatch.setattr(soaking, "_looks", damaged)
    found = soaked(taken, clock)
    assert f"counted 1 {counter} under full load" in str(found.events[0]) and type(found.events[0]) is kind


@pytest.mark.parametrize(("stood", "kind"), [("", CardFailure), ("dut stood still for 900 ms", Undecided)])
def test_missed_frames_are_nobodys_while_a_server_stood_still(
    bench: FakeBench, taken: Run, clock: Clock, monkeypatch: pytest.MonkeyPatch, stood: str, kind: type[Exception]
) -> None:
    nic, looks = bench.nic("dut.p0"), soaking._looks

    def missing(run: Run) -> Any:
        nic.frames["rx_missed_errors"] = nic.frames.get("rx_missed_errors", 0) + 10**9
        return looks(run)

    watch = SimpleNamespace(told=tuple, between=lambda *_: [stood] if stood else [])
    monkeypatch.setattr(soaking.standstill, "watch", lambda _: watch)
    monkeypatch.setattr(soaking, "_looks", missing)
    event = soaked(taken, clock).events[0]
    assert "rx_missed_errors" in str(event) and stood in str(event) and type(event) is kind


def test_trouble_of_a_kernel_ends_it(bench: FakeBench, taken: Run, clock: Clock) -> None:
    bench.dut.says("NETDEV WATCHDOG: enp1s0 (e1000e): transmit queue 0 timed out")
    found = soaked(taken, clock)
    assert len(found.cycles) == 1 and "transmit queue 0 timed out" in found.ended
    assert isinstance(found.events[0], CardFailure)


@pytest.mark.parametrize(
    ("faults", "fault", "ends"),
    [(2, BenchFault, False), (3, BenchFault, True), (1, ConnectionLost, True)],
)
def test_traffic_that_breaks_again_and_again_or_a_server_that_is_gone_ends_it(
    taken: Run, clock: Clock, monkeypatch: pytest.MonkeyPatch, faults: int, fault: type[BenchFault], ends: bool
) -> None:
    """Once in hours is noted, and what a card does afterwards is seen."""
    loads, load = itertools.count(), soaking._loaded

    def broken(*arguments: Any) -> Any:
        if next(loads) in range(1, 1 + faults):  # the first cycle is good
            raise fault("peer: iperf3 ended early")
        return load(*arguments)

    monkeypatch.setattr(soaking, "_loaded", broken)
    found = soaked(taken, clock)
    assert [str(each) for each in found.events] == faults * ["peer: iperf3 ended early"]
    assert bool(found.ended) is ends and (len(found.cycles) == 1) is ends


def test_ports_that_carry_nothing_are_undecided(taken: Run, clock: Clock) -> None:
    """The counters of the fakes stay; the sheet knows what they must carry."""
    limits = taken.card.limits.model_copy(update={"full_load_fraction": 0.56})
    taken.card = taken.card.model_copy(update={"limits": limits})
    said = [str(each) for each in soaked(taken, clock).findings()]
    assert sum("cycles stalled, the worst with 0," in each for each in said) == 4
    assert sum("limits.full_load_fraction" in each for each in said) == 4


def test_few_cycles_are_undecided(taken: Run, clock: Clock) -> None:
    found = soaked(taken, clock, hours=0.01)
    kinds: Sequence[type] = [type(each) for each in found.findings()]
    assert kinds and set(kinds) == {Undecided}
    assert {role.value for role in Role} <= {str(each).partition(",")[0] for each in found.findings()}
