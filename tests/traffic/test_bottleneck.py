"""The parts of the bench that may hold traffic back are distinguished from those that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_bench import FakeBench
from fake_parts import FakeHost

from niclab.bench.records import Role
from niclab.hosts.counts.load_records import CpuLoad, CpuShare, FrameCounters
from niclab.run.run import Run
from niclab.traffic.limits import bottleneck
from niclab.traffic.limits.bottleneck import Before, hindrances, look_before
from niclab.traffic.limits.pcie_ceiling import Ceiling, ceiling
from niclab.traffic.runs import endpoints
from niclab.traffic.runs.traffic_run import Conservation, EndOfRun, TrafficRun
from niclab.traffic.tools.tool import CpuScale, Order, ToolResult

LINE_BPS = 50e6
QUIET = Before("dut.p0", None, None, 900e6, 0.1, 1000.0)
NONE = FrameCounters(*[0] * 9)


def run(sender: float, receiver: float) -> TrafficRun:
    """A run during which one CPU of each end was busy so much of the time."""
    ends = [
        EndOfRun(port, CpuLoad({0: CpuShare(0.0, 0.0), 1: CpuShare(busy, 0.0)}), NONE)
        for port, busy in (("dut.p0", sender), ("peer.p0", receiver))
    ]
    result = ToolResult(40e6, None, 2.0, 1.0, None, 0, None, None, CpuScale.ONE_CPU)
    return TrafficRun("iperf3", "iperf3", Order(), result, ends[0], ends[1], Conservation(0, 0, 0, 0), 2.1)


def test_a_quiet_bench_with_free_cpus_hinders_nothing() -> None:
    assert hindrances([QUIET], [run(0.95, 0.5)] * 3, LINE_BPS) == []


def test_a_server_that_carries_less_than_the_line_with_itself_is_told() -> None:
    assert hindrances([replace(QUIET, loopback_bps=LINE_BPS)], [run(0.1, 0.1)], LINE_BPS) == []
    (found,) = hindrances([QUIET, replace(QUIET, loopback_bps=49.9e6)], [run(0.1, 0.1)], LINE_BPS)
    assert found == "dut.p0: its server carries 49.9 Mbit/s with itself alone, the line 50"


@pytest.mark.parametrize(
    ("change", "told"),
    [({"busiest": 0.51}, "dut.p0: a CPU was 51 % busy"), ({"traffic_bps": 500_001.0}, "dut.p0: 0.500 Mbit/s flowed")],
)
def test_load_before_the_runs_is_told(change: dict[str, float], told: str) -> None:
    (found,) = hindrances([QUIET, replace(QUIET, **change)], [run(0.1, 0.1)], LINE_BPS)  # type: ignore[arg-type]
    assert found.startswith(told) and found.endswith("before the runs")


def test_most_runs_without_free_cpu_are_told_and_one_of_them_is_not() -> None:
    assert hindrances([QUIET], [run(0.1, 1.0), run(0.1, 0.5), run(0.1, 0.5)], LINE_BPS) == []
    found = hindrances([QUIET], [run(0.1, 0.99), run(0.1, 0.98), run(0.1, 0.5)], LINE_BPS)
    assert found == ["peer.p0: its busiest CPU had 2 % free time during the runs"]


def test_a_conventional_bus_is_the_ceiling_of_the_dut_alone(bench: FakeBench, taken: Run) -> None:
    """The sheet does not say on which bus the peer sits."""
    bus = "conventional_pci:\n  width_bits: 64\n  clock_mhz: 66\n"
    bench.edit(bench.sheet, ("pcie:\n  speed_gts: 2.5\n  width: 1\n", bus))
    taken.card = bench.load()[1]
    found = {port.name: bottleneck.conventional_ceiling(taken, port) for port in taken.bench.ports}
    assert found["dut.p0"] == Ceiling(4.224e9, "4.22 Gbit/s over PCI of 64 bit and 66 MHz") == found["dut.p1"]
    assert found["peer.p0"] is found["peer.p1"] is None


def says(run: Run, role: Role, mbytes_per_s: float) -> None:
    """The bench file says what the bus of a server carries."""
    server = run.server(role)
    server.description = server.description.model_copy(update={"bus_mbytes_per_s": mbytes_per_s})


@pytest.mark.parametrize("role", list(Role))
def test_what_the_bench_file_says_of_a_bus_is_the_ceiling_of_that_server(taken: Run, role: Role) -> None:
    """As of the NetApp talk: 47 MB/s over PCI."""
    says(taken, role, 47)
    stated = Ceiling(376e6, "0.38 Gbit/s over its bus (bench file: bus_mbytes_per_s 47)")
    for port in taken.bench.ports:
        links = taken.server_of(port).host.pci.path(port.pci)
        assert bottleneck.bus_ceiling(taken, port, links) == (stated if port.role is role else ceiling(links))
        assert bottleneck.bus_ceiling(taken, port, ()) == (stated if port.role is role else None)


def test_a_bus_that_carries_more_than_the_links_is_no_ceiling(taken: Run) -> None:
    says(taken, Role.DUT, 4000)
    port = taken.bench.ports[0]
    links = taken.server_of(port).host.pci.path(port.pci)
    assert bottleneck.bus_ceiling(taken, port, links) == ceiling(links)


def test_both_ends_are_looked_at_before(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bottleneck, "LOOK_S", 0.01)
    real = FakeHost.frame_counters

    def somebody_else(host: FakeHost, iface: str) -> FrameCounters:
        nic = host.by_iface(iface)
        nic.frames["rx_bytes"] = nic.frames.get("rx_bytes", 0) + (10_000_000 if host.role is Role.PEER else 0)
        return real(host, iface)

    monkeypatch.setattr(FakeHost, "frame_counters", somebody_else)
    bench.dut.busy_ticks = 60
    mine, theirs = look_before(taken, endpoints.ends(taken, taken.bench.path("a"), Role.DUT))
    assert (mine.port, mine.busiest, mine.traffic_bps) == ("dut.p0", pytest.approx(0.6), 0.0)
    assert theirs.port == "peer.p0" and theirs.busiest == pytest.approx(0.1) and theirs.traffic_bps > LINE_BPS
    assert mine.ceiling is not None and mine.ceiling.bps == pytest.approx(1.684e9, rel=1e-3)
    assert len(hindrances([mine, theirs], [], LINE_BPS)) == 2
