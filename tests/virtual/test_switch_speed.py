"""Frames take their time on the switch's wires."""

from __future__ import annotations

import asyncio
import select
import time
from typing import Any

import pytest
from bench_fakes import undisturbed
from switch_bench import A, B, SwitchBench, frame, switch_bench
from wires_in_memory import MemorySocket, offered, on_a_clock, wire_mbps

from cables import wire_time_s
from switch.port import Port

SPEEDS = pytest.mark.parametrize(("scale", "size"), [(20.0, 1514), (20.0, 9018), (100.0, 1514)])


@SPEEDS
def test_frames_leave_at_the_ports_speed_at_the_scale_of_the_bench(scale: float, size: int) -> None:
    cards = MemorySocket(), MemorySocket()

    async def scenario() -> None:
        def port(number: int, received: Any) -> Port:
            made: Any = cards[number]
            return Port(number, f"port{number}", bytes(6), ("", ""), made, ("", 0), scale, received, up=True)

        out = port(1, lambda *_: None)
        into = port(0, out.send)

        def send(data: bytes) -> None:
            cards[0].send(data)
            into.read()

        await offered(send, frame(B, A, size=size), for_s=0.5)
        await asyncio.sleep(1)

    on_a_clock(scenario)
    assert wire_mbps(cards[1].came) == pytest.approx(1000 / scale, rel=1e-3)


def test_the_wires_go_on_while_the_switch_gets_no_processor() -> None:
    """Frames that came while nobody took them have been on the wire meanwhile: none is refused for want of room."""
    cards = MemorySocket(), MemorySocket()
    data, scale = frame(B, A, size=1514), 40.0
    count = round(0.2 / wire_time_s(len(data), 1e9 / scale))  # what a wire carries in 0.2 s

    async def scenario() -> tuple[int, int]:
        def port(number: int, received: Any) -> Port:
            made: Any = cards[number]
            return Port(number, f"port{number}", bytes(6), ("", ""), made, ("", 0), scale, received, up=True)

        out = port(1, lambda *_: None)
        into = port(0, out.send)
        for number in range(count):
            cards[0].send(data, ago_s=0.2 * (1 - number / count))
        while cards[0].sent:
            into.read()
        await asyncio.sleep(0.05)
        return len(cards[1].came), out.counters.out_discards

    assert on_a_clock(scenario) == (count, 0)


def carried_mbps(bench: SwitchBench, for_s: float, size: int) -> float:
    """Offer more than the wire takes for a while; what came out at another port, in Mbit/s of wire time.

    Counted is what the wire is busy with: every frame and the 24 bytes of FCS, preamble and gap (IEEE 802.3).
    """
    sender, receiver = bench.nics[1], bench.nics[3]
    data = frame(B, A, size=size)
    arrivals: list[tuple[float, bytes]] = []
    end = time.monotonic() + for_s
    while time.monotonic() < end:
        for _ in range(20):
            sender.send(data)
        select.select([receiver._socket], [], [], 0.002)
        arrivals += [(at, came) for at, came in receiver.take() if came == data]
    return wire_mbps(arrivals)


@pytest.mark.slow
@SPEEDS
def test_the_process_keeps_the_speed_within_10_percent(scale: float, size: int) -> None:
    """A process that does not get the processor for longer than its buffer lasts is slower meanwhile."""
    wanted = 1000 / scale
    with switch_bench(scale=scale) as bench:
        undisturbed(lambda: carried_mbps(bench, for_s=0.15, size=size), pytest.approx(wanted, rel=0.1))
