"""The cables: frames at wire speed, carrier as on a real cable."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from bench_fakes import FakeQemu, short_folder, undisturbed, wait_for
from cable_bench import CableBench, cable_bench, wire_mbps
from wires_in_memory import Wires, on_wires

import linkcontrol
from cables import BUFFER_S, wire_time_s
from control import ControlError
from qmp import QmpError

BOTH = {"p0": True, "p1": True}
NO_A = {"p0": False, "p1": True}
NONE = {"p0": False, "p1": False}


# --- frames


@pytest.mark.parametrize(
    ("frame_bytes", "frames_per_s"),
    [(60, 1_488_095.2), (1, 1_488_095.2), (1514, 81_274.4), (9014, 13_830.5)],
)
def test_frames_per_second_at_1_gbit_are_those_of_the_standard(frame_bytes: int, frames_per_s: float) -> None:
    """1488095 and 81274 frames/s: RFC 2544 and every Ethernet tester, for 64 and 1518 bytes with FCS."""
    assert 1 / wire_time_s(frame_bytes, 1e9) == pytest.approx(frames_per_s, rel=1e-6)


def test_a_frame_arrives_at_the_far_end_of_its_cable_and_nowhere_else() -> None:
    with cable_bench() as bench:
        for cable in ("p0", "p1"):
            bench.carries(f"dut.{cable}", f"peer.{cable}")
            bench.carries(f"peer.{cable}", f"dut.{cable}")


def test_frames_stay_as_they_are_and_in_order() -> None:
    frames = [bytes((number,)) * (60 + 37 * number) for number in range(40)]
    with cable_bench() as bench:
        for frame in frames:
            bench.nics["dut.p0"].send(frame)
        assert [bench.nics["peer.p0"].next() for _ in frames] == frames


def test_a_frame_that_the_card_did_not_pad_arrives_at_the_least_length() -> None:
    with cable_bench() as bench:
        bench.nics["dut.p0"].send(b"x" * 42)
        assert bench.nics["peer.p0"].next() == b"x" * 42 + bytes(18)


@pytest.mark.parametrize(("frame_bytes", "rate_mbps"), [(60, 2.0), (1514, 20.0)])
def test_the_wire_runs_at_its_rate(frame_bytes: int, rate_mbps: float) -> None:
    async def scenario(wires: Wires) -> float:
        return await wires.rate_mbps("dut.p0", "peer.p0", frame_bytes)

    assert on_wires(scenario, rate_mbps=rate_mbps) == pytest.approx(rate_mbps, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("frame_bytes", "rate_mbps"), [(60, 2.0), (1514, 20.0)])
def test_the_process_keeps_the_rate_within_2_percent(frame_bytes: int, rate_mbps: float) -> None:
    with cable_bench(rate_mbps) as bench:
        undisturbed(lambda: wire_mbps(bench, "dut.p0", "peer.p0", frame_bytes), pytest.approx(rate_mbps, rel=0.02))


def test_where_the_card_keeps_wire_time_the_cable_takes_a_burst_at_once() -> None:
    frames = [bytes((number,)) * 1514 for number in range(45)]  # 64 KiB: 54 s at this rate
    with cable_bench(rate_mbps=0.01, paced=False) as bench:
        for frame in frames:
            bench.nics["dut.p0"].send(frame)
        assert [bench.nics["peer.p0"].next() for _ in frames] == frames
        assert bench.end("dut.p0")["dropped"] == 0


def test_a_fault_slows_down_also_a_cable_that_keeps_no_wire_time() -> None:
    async def scenario(wires: Wires) -> None:
        await wires.fault("a.dut", "rate_factor", 0.1)
        wires.send("dut.p0", bytes(1000))  # 82 ms
        wires.send("peer.p0", b"x" * 60)
        await asyncio.sleep(0.08)
        assert (wires.counted("dut.p0"), wires.came("dut.p0")) == ((0, 0), [b"x" * 60])
        await asyncio.sleep(0.01)
        assert wires.came("peer.p0") == [bytes(1000)]

    on_wires(scenario, rate_mbps=1.0, paced=False)


def test_both_directions_and_both_cables_have_wires_of_their_own() -> None:
    async def scenario(wires: Wires) -> None:
        wires.send("dut.p0", *[bytes(1000)] * 4)  # 8 ms each
        wires.send("peer.p0", b"x" * 60)  # 0.7 ms
        wires.send("dut.p1", b"y" * 60)
        await asyncio.sleep(0.001)
        assert (wires.came("dut.p0"), wires.came("peer.p1"), wires.came("peer.p0")) == ([b"x" * 60], [b"y" * 60], [])
        await asyncio.sleep(0.04)
        assert wires.came("peer.p0") == [bytes(1000)] * 4

    on_wires(scenario, rate_mbps=1.0)


def test_what_would_wait_longer_than_the_buffer_is_dropped() -> None:
    frame_bytes, sent, rate_mbps = 1514, 100, 5.0
    at_once = int(BUFFER_S / wire_time_s(frame_bytes, rate_mbps * 1e6)) + 1

    async def scenario(wires: Wires) -> None:
        wires.send("dut.p0", *[bytes(frame_bytes)] * sent)
        await asyncio.sleep(1)
        assert wires.counted("dut.p0") == (at_once, sent - at_once)
        assert len(wires.came("peer.p0")) == at_once

    on_wires(scenario, rate_mbps=rate_mbps)


def test_a_frame_on_the_wire_when_the_cable_is_pulled_is_lost() -> None:
    async def scenario(wires: Wires) -> None:
        wires.send("dut.p0", bytes(1514))  # 123 ms
        await asyncio.sleep(0.1)
        await wires.ask(pull="a")
        await asyncio.sleep(1)
        assert (wires.counted("dut.p0"), wires.came("peer.p0")) == ((0, 1), [])

    on_wires(scenario, rate_mbps=0.1)


def test_the_wire_goes_on_while_the_cables_get_no_processor() -> None:
    """Frames that came while nobody took them have been on the wire meanwhile: none is dropped for want of room."""
    frame, rate_mbps = b"x" * 1514, 25.0
    count = round(0.2 / wire_time_s(len(frame), rate_mbps * 1e6))  # what the wire carries in 0.2 s

    async def scenario(wires: Wires) -> tuple[int, int]:
        for number in range(count):
            wires.sockets["dut.p0"].send(frame, ago_s=0.2 * (1 - number / count))
        wires.send("dut.p0")
        await asyncio.sleep(1)
        return wires.counted("dut.p0")

    assert on_wires(scenario, rate_mbps=rate_mbps) == (count, 0)


# --- carrier


def test_pull_takes_and_plug_gives_the_carrier_at_both_ends() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.ask(pull="a")
        assert bench.qemu["dut"].links() == bench.qemu["peer"].links() == NO_A  # at once: pull waits for it
        bench.nics["dut.p0"].send(bytes(60))
        assert bench.settled("dut.p0", 1)["dropped"] == 1
        bench.carries("dut.p1", "peer.p1")
        bench.ask(plug="a")
        assert bench.qemu["dut"].links() == bench.qemu["peer"].links() == BOTH
        bench.carries("dut.p0", "peer.p0")


def test_a_machine_without_power_takes_the_carrier_at_the_far_end() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.qemu["peer"].power_off()
        bench.links_become(dut=NONE)
        bench.nics["dut.p0"].send(bytes(60))
        assert bench.settled("dut.p0", 1)["dropped"] == 1
        bench.power_on("peer")
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.carries("dut.p0", "peer.p0")


def test_a_machine_alone_has_no_link() -> None:
    with cable_bench(powered=("dut",)) as bench:
        bench.links_become(dut=NONE)
        assert bench.end("peer.p0")["carrier"] is None


def test_a_machine_that_starts_is_told_which_of_its_links_are_down() -> None:
    with cable_bench() as bench:
        bench.ask(pull="a")
        for _ in range(3):
            bench.qemu["dut"].power_off()
            bench.links_become(peer=NONE)
            bench.power_on("dut")
            bench.links_become(dut=NO_A, peer=NO_A)


def test_a_machine_that_stands_still_is_named_keeps_its_partner_s_links_and_is_told_when_it_wakes() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.qemu["dut"].awake.clear()
        with pytest.raises(ControlError, match=r"cable 'a': dut\.p0 has not taken the change of carrier within 3 s"):
            bench.ask(pull="a")
        assert bench.end("dut.p0")["carrier"] is None
        assert bench.qemu["peer"].links() == NO_A
        bench.qemu["dut"].awake.set()
        bench.links_become(dut=NO_A)
        wait_for(lambda: bench.end("dut.p0")["carrier"] is False, "its late answer is heard")


def test_a_machine_that_lost_power_in_mid_command_is_told_anew_at_once() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.fault("a.dut", "carrier_delay_s", 0.001)  # so that pull does not wait for it
        bench.qemu["dut"].awake.clear()
        before = bench.qemu["dut"].received
        bench.ask(pull="a")
        wait_for(lambda: bench.qemu["dut"].received > before, "the machine is asked")
        bench.qemu["dut"].power_off()
        bench.qemu["dut"].awake.set()
        bench.power_on("dut")
        bench.links_become(dut=NO_A)


def test_nobody_waits_for_the_answer_of_a_machine_that_lost_power(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkcontrol, "QMP_DEADLINE_S", 600)
    with short_folder() as folder:
        qemu = FakeQemu(folder / "qmp")
        qemu.power_on()
        qemu.awake.clear()

        async def asked() -> None:
            powered = asyncio.Event()
            machine = linkcontrol.Machine(qemu.path)
            watch = asyncio.create_task(machine.watch(powered.set))
            await powered.wait()
            answer = asyncio.create_task(machine.set_link("p0", False))
            while not qemu.received:
                await asyncio.sleep(0.01)
            qemu.power_off()
            with pytest.raises(QmpError, match="QEMU hung up"):
                await answer
            watch.cancel()

        asyncio.run(asyncio.wait_for(asked(), 60))
        qemu.awake.set()


def test_a_pulled_cable_and_a_fault_survive_a_restart_of_the_process() -> None:
    with cable_bench() as bench:
        bench.ask(pull="a")
        bench.fault("b.dut", "silent")
        bench.fault("a", "crossed")
        before = bench.ask(status=True)
        bench.restart()
        after = bench.ask(status=True)
        assert after["faults"] == before["faults"] == ["crossed"]
        assert [cable["plugged"] for cable in after["cables"].values()] == [False, True]
        assert bench.end("dut.p1")["faults"] == {"silent": 1.0}
        bench.links_become(dut=NO_A, peer={"p0": True, "p1": False})


def test_a_pull_that_a_machine_refuses_is_an_error_naming_it() -> None:
    with cable_bench() as bench:
        bench.links_become(dut=BOTH, peer=BOTH)
        bench.qemu["peer"].refuse = True
        with pytest.raises(ControlError, match=r"cable 'a': peer\.p0 has not taken the change of carrier within 3 s"):
            bench.ask(pull="a")
        assert bench.qemu["dut"].links() == NO_A


# --- what is refused


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        ({"pull": "c"}, "no cable 'c'; there are a, b"),
        ({"plug": 1}, "no cable 1; there are a, b"),
        ({"pull": None}, "no cable None"),
        ({"hello": 1}, "not understood"),
        ({"status": False}, "not understood"),
        ({"fault": {"target": "a", "name": "loss"}}, "not understood"),
        ({"fault": {"target": "a", "name": "loss", "value": "1"}}, "not understood"),
        ({"fault": {"target": "a", "name": "melted", "value": 1}}, "no fault 'melted'; there are rate_factor, loss"),
        ({"fault": {"target": "c", "name": "silent", "value": 1}}, "no cable 'c'"),
        ({"fault": {"target": "c", "name": "crossed", "value": 1}}, "no cable 'c'"),
        ({"fault": {"target": "a.switch", "name": "silent", "value": 1}}, "cable 'a' has no end at 'switch'"),
        (
            {"fault": {"target": "a", "name": "rate_factor", "value": 0}},
            "rate_factor is 0; expected a fraction above 0",
        ),
        ({"fault": {"target": "a", "name": "rate_factor", "value": 1.5}}, "rate_factor is 1.5; expected a fraction"),
        ({"fault": {"target": "a", "name": "loss", "value": -0.1}}, "loss is -0.1; expected a fraction"),
        ({"fault": {"target": "a", "name": "loss", "value": float("nan")}}, "loss is nan; expected a fraction"),
        ({"fault": {"target": "a", "name": "carrier_delay_s", "value": 0}}, "carrier_delay_s is 0; expected a number"),
        ({"fault": {"target": "a", "name": "carrier_delay_s", "value": float("inf")}}, "carrier_delay_s is inf"),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(
    unpowered: CableBench, request_: dict[str, object], complaint: str
) -> None:
    before = unpowered.ask(status=True)
    with pytest.raises(ControlError, match=complaint):
        unpowered.ask(**request_)
    assert unpowered.ask(status=True) == before


@pytest.fixture(scope="module")
def unpowered() -> Iterator[CableBench]:
    """Cables between machines that are off, shared by the tests that change nothing."""
    with cable_bench(powered=(), second=True) as bench:
        yield bench
