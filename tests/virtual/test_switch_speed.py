"""Frames take their time on the switch's wires."""

from __future__ import annotations

import select
import time

import pytest
from switch_bench import A, B, SwitchBench, frame, switch_bench

TRIES = 6


def carried_mbps(bench: SwitchBench, for_s: float, size: int) -> float:
    """Offer more than the wire takes for a while; what came out at another port, in Mbit/s of wire time.

    Counted is what the wire is busy with: every frame and the 24 bytes of FCS, preamble and gap (IEEE 802.3).
    """
    sender, receiver = bench.nics[1], bench.nics[3]
    data = frame(B, A, size=size)
    arrivals: list[float] = []
    end = time.monotonic() + for_s
    while time.monotonic() < end:
        for _ in range(20):
            sender.send(data)
        select.select([receiver._socket], [], [], 0.002)
        arrivals += [at for at, came in receiver.take() if came == data]
    assert len(arrivals) > 20
    return (len(arrivals) - 1) * (size + 24) * 8 / (arrivals[-1] - arrivals[0]) / 1e6


@pytest.mark.parametrize(("scale", "size"), [(20.0, 1514), (20.0, 9018), (100.0, 1514)])
def test_frames_leave_at_the_ports_speed_at_the_scale_of_the_bench(scale: float, size: int) -> None:
    """Never faster; a process that does not get the processor for longer than its buffer lasts is slower meanwhile."""
    wanted = 1000 / scale
    with switch_bench(scale=scale) as bench:
        seen = []
        for _ in range(TRIES):
            seen.append(carried_mbps(bench, for_s=0.5, size=size))
            if seen[-1] >= 0.9 * wanted:
                break
    assert 0.9 * wanted <= max(seen) <= 1.1 * wanted, seen
