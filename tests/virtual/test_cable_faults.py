"""Every defect that the cables can have does what it says, at that end, and nothing else."""

from __future__ import annotations

import asyncio

import pytest
from bench_fakes import undisturbed
from cable_bench import cable_bench, wire_mbps
from wires_in_memory import Wires, on_wires

from cableend import Loss
from cables import END_FAULTS, PANEL_FAULTS

BOTH = {"p0": True, "p1": True}
NO_A = {"p0": False, "p1": True}


def test_every_fault_has_a_test_here() -> None:
    tested = {name.removeprefix("test_fault_") for name in globals() if name.startswith("test_fault_")}
    assert tested == {*END_FAULTS, *PANEL_FAULTS}


def test_fault_rate_factor() -> None:
    async def scenario(wires: Wires) -> None:
        await wires.fault("a.dut", "rate_factor", 0.25)
        assert await wires.rate_mbps("dut.p0", "peer.p0", 1514) == pytest.approx(5.0, rel=1e-3)
        assert await wires.rate_mbps("peer.p0", "dut.p0", 1514) == pytest.approx(20.0, rel=1e-3)

    on_wires(scenario, rate_mbps=20.0)


@pytest.mark.slow
def test_the_process_slows_one_direction_down_within_2_percent() -> None:
    with cable_bench(rate_mbps=20.0) as bench:
        bench.fault("a.dut", "rate_factor", 0.25)
        for ends, wanted in ((("dut.p0", "peer.p0"), 5.0), (("peer.p0", "dut.p0"), 20.0)):
            undisturbed(lambda ends=ends: wire_mbps(bench, *ends, 1514), pytest.approx(wanted, rel=0.02))  # type: ignore[misc]


def test_fault_loss() -> None:
    sent, loss = 2000, 0.3
    with cable_bench(rate_mbps=1000.0) as bench:
        bench.fault("a.dut", "loss", loss)
        for number in range(sent):
            bench.nics["dut.p0"].send(bytes(60))
            bench.nics["peer.p0"].send(bytes(60))
            if number % 50 == 0:
                bench.settled("dut.p0", number - 50)
        lossy, whole = bench.settled("dut.p0", sent), bench.settled("peer.p0", sent)
        assert abs(lossy["dropped"] - sent * loss) <= 1
        assert whole["dropped"] == 0
        assert bench.end("dut.p0")["carrier"] is bench.end("peer.p0")["carrier"] is True


@pytest.mark.parametrize("one_of", [3, 20, 100])
def test_one_frame_of_each_so_many_is_lost_at_changing_places(one_of: int) -> None:
    loss = Loss()
    lost = [[loss.takes_one(1 / one_of) for _ in range(one_of)] for _ in range(50)]
    assert all(sum(map(sum, lost[:blocks])) in range(blocks - 1, blocks + 2) for blocks in range(1, 51))
    assert len({tuple(each) for each in lost}) > 2


def test_all_frames_are_lost_of_all() -> None:
    loss = Loss()
    assert all(loss.takes_one(1.0) for _ in range(100))


def test_fault_silent() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.fault("a.dut", "silent")
        for _ in range(10):
            bench.nics["dut.p0"].send(bytes(60))
        assert bench.settled("dut.p0", 10)["dropped"] == 10
        bench.carries("peer.p0", "dut.p0")
        bench.carries("dut.p1", "peer.p1")
        assert bench.qemu["dut"].links() == bench.qemu["peer"].links() == BOTH


def test_fault_carrier_stuck() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.fault("a.dut", "carrier_stuck")
        bench.ask(pull="a")
        assert bench.qemu["dut"].links() == BOTH
        assert bench.qemu["peer"].links() == NO_A
        bench.nics["dut.p0"].send(bytes(60))
        assert bench.settled("dut.p0", 1)["dropped"] == 1
        bench.ask(clear={})
        bench.links_become(dut=NO_A, peer=NO_A)


def test_fault_carrier_delay_s() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.fault("a.dut", "carrier_delay_s", 600)
        bench.ask(pull="a")
        assert bench.qemu["peer"].links() == NO_A
        bench.ask(pull="b")  # the other cable does not wait for this one
        bench.links_become(dut={"p0": True, "p1": False})


def test_a_late_end_is_told_when_the_delay_is_over() -> None:
    async def scenario(wires: Wires) -> None:
        await wires.fault("a.dut", "carrier_delay_s", 0.6)
        began = asyncio.get_running_loop().time()
        await wires.ask(pull="a")
        await asyncio.sleep(2)
        for role, late_s in (("dut", 0.6), ("peer", 0.0)):
            ((at, port, carrier),) = wires.machines[role].told
            assert (port, carrier) == ("p0", False)
            assert at - began == pytest.approx(late_s, abs=1e-3)

    on_wires(scenario)


def test_a_change_that_waits_is_made_when_the_delay_is_cleared() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.fault("a.dut", "carrier_delay_s", 600)
        bench.ask(pull="a")
        assert bench.qemu["dut"].links() == BOTH
        bench.ask(clear={})
        bench.links_become(dut=NO_A, peer=NO_A)


def test_a_machine_that_restarts_during_the_delay_is_told_all_the_same() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.ask(pull="b")
        bench.fault("a.dut", "carrier_delay_s", 0.5)
        bench.ask(pull="a")
        bench.qemu["dut"].power_off()
        bench.links_become(peer={"p0": False, "p1": False})
        bench.power_on("dut")
        bench.links_become(dut={"p0": False, "p1": False})


def test_fault_crossed() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.fault("a", "crossed")
        for source, target in (("dut.p0", "peer.p1"), ("dut.p1", "peer.p0")):
            bench.carries(source, target)
            bench.carries(target, source)
        bench.ask(pull="a")  # the cable at dut.p0, wherever it leads
        assert bench.qemu["dut"].links() == NO_A
        assert bench.qemu["peer"].links() == {"p0": True, "p1": False}
        bench.ask(plug="a")
        bench.ask(clear={})
        bench.carries("dut.p0", "peer.p0")


def test_clear_takes_every_fault_back() -> None:
    with cable_bench(rate_mbps=1000.0) as bench:
        for name in END_FAULTS:
            bench.fault("a", name, 0.5)
        bench.fault("a", "crossed")
        assert set(bench.end("dut.p0")["faults"]) == set(bench.end("peer.p0")["faults"]) == set(END_FAULTS)
        assert bench.end("dut.p1")["faults"] == {}
        status = bench.ask(clear={})
        assert status["faults"] == []
        assert bench.end("dut.p0")["faults"] == bench.end("peer.p0")["faults"] == {}
        bench.restart()
        assert bench.end("dut.p0")["faults"] == {}
        bench.links_become(dut=BOTH, peer=BOTH)
        for _ in range(10):
            bench.carries("dut.p0", "peer.p0")
