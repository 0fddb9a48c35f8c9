"""Throughput against the sheet: at the limit is green, a hair below is red, in every direction and on every path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from fake_bench import FakeBench

from niclab.bench import BenchPath, Role
from niclab.lab import Lab
from niclab.traffic import WorthlessResult, tcp
from niclab.traffic.iperf3 import Iperf3Result, Iperf3Test
from niclab.verdict import BenchFault, CardFailure, NotApplicable
from Traffic import Traffic

LIMIT_BPS = 42.5e6
"""0.85 of 1000 Mbit/s on a path that is scaled by 20."""
DIRECTIONS = pytest.mark.parametrize(
    ("sender", "ends"), [(Role.DUT, ("dut.p{}", "peer.p{}")), (Role.PEER, ("peer.p{}", "dut.p{}"))]
)


@pytest.fixture
def rates(taken: Lab, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, Role], float]:
    """What iperf3 will measure, in bit/s, by path and sender; what was asked for is added to the keys."""
    assert taken
    found: dict[tuple[str, Role], float] = {}

    def measure(_: Lab, path: BenchPath, sender: Role, duration_s: int) -> Iperf3Result:
        assert duration_s == 3
        rate = found.setdefault((path.name, sender), LIMIT_BPS)
        return Iperf3Result(Iperf3Test.TCP, rate, 3.0, 1, 1, 0, None, None, None, None, 1, False, "cubic", "3.12")

    monkeypatch.setattr(tcp, "measure", measure)
    return found


@DIRECTIONS
def test_exactly_at_the_limit_is_green(rates: dict[tuple[str, Role], float], sender: Role, ends: object) -> None:
    assert ends
    Traffic().tcp_should_reach_the_limit(sender, 3)
    assert list(rates) == [("a", sender), ("b", sender)]


def test_traffic_alone_is_not_judged(rates: dict[tuple[str, Role], float]) -> None:
    rates["a", Role.DUT] = 1.0
    Traffic().carry_tcp(Role.DUT, 3)
    assert list(rates) == [("a", Role.DUT), ("b", Role.DUT)]


def test_traffic_that_does_not_flow_is_an_error(taken: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(*_: object) -> Iperf3Result:
        raise WorthlessResult("nothing arrived")

    assert taken
    monkeypatch.setattr(tcp, "measure", measure)
    with pytest.raises(BenchFault, match="nothing arrived"):
        Traffic().carry_tcp(Role.PEER, 2)


@DIRECTIONS
@pytest.mark.parametrize(("path", "index"), [("a", 0), ("b", 1)])
def test_a_hair_below_on_one_path_is_named(
    rates: dict[tuple[str, Role], float], sender: Role, ends: tuple[str, str], path: str, index: int
) -> None:
    rates[path, sender] = LIMIT_BPS - 1
    with pytest.raises(CardFailure) as caught:
        Traffic().tcp_should_reach_the_limit(sender, 3)
    between = " to ".join(end.format(index) for end in ends)
    assert str(caught.value) == (
        f"{between}: 42.5 Mbit/s, 0.850 of 50 Mbit/s, 0 retransmissions; "
        "sheet intel-82574l wants at least 0.85 of line rate"
    )


def test_the_rate_of_the_senders_port_counts(bench: FakeBench, rates: dict[tuple[str, Role], float]) -> None:
    nic = bench.nic("dut.p0")
    assert nic.settings is not None
    nic.settings = replace(nic.settings, speed_mbps=2000)
    Traffic().tcp_should_reach_the_limit(Role.PEER, 3)
    with pytest.raises(CardFailure, match=r"0\.425 of 100 Mbit/s") as caught:
        Traffic().tcp_should_reach_the_limit(Role.DUT, 3)
    assert "dut.p1" not in str(caught.value)
    assert len(rates) == 4


@pytest.mark.parametrize("speed_mbps", [None, 0])
def test_no_line_rate_is_a_bench_fault(
    bench: FakeBench, rates: dict[tuple[str, Role], float], speed_mbps: int | None
) -> None:
    nic = bench.nic("dut.p1")
    assert nic.settings is not None
    nic.settings = replace(nic.settings, speed_mbps=speed_mbps)
    with pytest.raises(BenchFault, match=r"^dut\.p1: link speed is unknown"):
        Traffic().tcp_should_reach_the_limit(Role.DUT, 3)
    assert ("b", Role.DUT) not in rates


def test_an_unknown_limit_is_not_applicable_and_measures_nothing(
    bench: FakeBench, taken: Lab, rates: dict[tuple[str, Role], float]
) -> None:
    bench.edit(bench.sheet, ("tcp_fraction_of_line_rate: 0.85", "tcp_fraction_of_line_rate: unknown"))
    taken.card = bench.load()[1]
    with pytest.raises(NotApplicable, match=r"does not know limits.tcp_fraction_of_line_rate$"):
        Traffic().tcp_should_reach_the_limit(Role.DUT, 3)
    assert rates == {}


class TestSteady:
    @pytest.fixture
    def flows(self, taken: Lab, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """What happened to the traffic."""
        assert taken
        events: list[str] = []

        @contextmanager
        def steady(_: Lab, path: BenchPath, sender: Role) -> Iterator[None]:
            events.append(f"starts on {path.name} from {sender.value}")
            if len(events) > 3:
                raise BenchFault("no traffic")
            yield
            events.append("stops")

        monkeypatch.setattr(tcp, "steady", steady)
        return events

    def test_it_flows_between_start_and_stop(self, flows: list[str]) -> None:
        traffic = Traffic()
        traffic.stop_steady_traffic()
        traffic.start_steady_traffic()
        assert flows == ["starts on a from dut"]
        with pytest.raises(BenchFault, match=r"^steady traffic flows already"):
            traffic.start_steady_traffic()
        traffic.stop_steady_traffic()
        traffic.stop_steady_traffic()
        assert flows == ["starts on a from dut", "stops"]

    def test_it_can_be_started_again_after_a_start_that_failed(self, flows: list[str]) -> None:
        traffic = Traffic()
        flows += ["", "", ""]
        with pytest.raises(BenchFault, match=r"^no traffic$"):
            traffic.start_steady_traffic()
        flows.clear()
        traffic.start_steady_traffic()
        traffic.stop_steady_traffic()
        assert flows == ["starts on a from dut", "stops"]
