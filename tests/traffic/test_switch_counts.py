"""The counts of the switch during a run are kept next to those of the servers: of each run alone, of all its ports."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench
from fake_switch import PORTS, FakeSwitch
from fake_traffic import LISTENING, carry, iperf3_text

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.links import patch_panel
from niclab.run.run import Run
from niclab.traffic.runs import measuring
from niclab.traffic.runs.traffic_run import TrafficRun, described
from niclab.traffic.tools.tool import Order


@pytest.fixture(autouse=True)
def traffic(bench: FakeBench, switch: FakeSwitch, patched: Run) -> None:
    """TCP of path a passes the switch: 7000 frames in at dut.p0, 6997 out at peer.p0, 3 discarded there."""
    assert patched

    def run(command: str) -> str:
        carry(bench, command, 10_500_000, 7000)
        count(switch, "Gi1/0/3", "ifHCInUcastPkts", 7000)
        count(switch, "Gi1/0/4", "ifHCOutUcastPkts", 6997)
        count(switch, "Gi1/0/4", "ifOutDiscards", 3)
        return iperf3_text(40)

    for ssh in bench.ssh.values():
        ssh.replies["ss -Hltn"] = LISTENING
        ssh.replies["iperf3 --client"] = run


def count(switch: FakeSwitch, port: str, counter: str, gained: int) -> None:
    before = switch.mib.value(counter, PORTS[port])
    assert isinstance(before, int)
    switch.mib.put(counter, [PORTS[port]], before + gained)


def runs(taken: Run, number: int = 2) -> list[TrafficRun]:
    with measuring.session(taken, taken.bench.path("a"), Role.DUT, 50) as session:
        return [session.measure(Order(duration_s=2)) for _ in range(number)]


def test_each_run_has_the_counts_of_every_port_of_its_own_time(patched: Run) -> None:
    patch_panel.connect(patched)
    for run in runs(patched):
        counts = {each.port: each for each in run.switch}
        assert set(counts) == {"dut.p0", "dut.p1", "peer.p0", "peer.p1"}
        assert (counts["dut.p0"].received, counts["dut.p0"].sent) == (7000, 0)
        assert (counts["peer.p0"].received, counts["peer.p0"].sent) == (0, 6997)
        assert counts["peer.p0"].counted["out_discards"] == 3 and counts["peer.p0"].place == "Gi1/0/4"
        assert described(run).endswith(
            "switch: Gi1/0/3 (dut.p0) 7000 in, 0 out; Gi1/0/1 (dut.p1) 0 in, 0 out; "
            "Gi1/0/4 (peer.p0) 0 in, 6997 out, 3 out_discards; Gi1/0/2 (peer.p1) 0 in, 0 out"
        )


def test_a_cable_has_no_counts_of_a_switch(patched: Run) -> None:
    (run,) = runs(patched, 1)
    assert run.switch == () and "switch" not in described(run)


def test_counters_that_were_cleared_meanwhile_are_a_fault(bench: FakeBench, switch: FakeSwitch, patched: Run) -> None:
    patch_panel.connect(patched)

    def cleared(_: str) -> str:
        switch.mib.put("ifCounterDiscontinuityTime", [PORTS["Gi1/0/4"]], 361_000)
        carry(bench, "iperf3 --client 198.18.10.2 --bind 198.18.10.1", 10_500_000, 7000)
        return iperf3_text(40)

    bench.ssh[Role.DUT].replies["iperf3 --client"] = cleared
    with pytest.raises(BenchFault, match=r"^sw1: Gi1/0/4 \(peer.p0\): the counters jumped"):
        runs(patched, 1)
