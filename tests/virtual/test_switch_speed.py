"""Frames take their time on the switch's wires."""

from __future__ import annotations

import pytest
from switch_bench import A, B, frame, switch_bench


def test_frames_leave_at_the_ports_speed() -> None:
    """At 1 Gbit/s / 20 a hundred frames of 1500 bytes keep the wire busy for 24 ms, and none is dropped."""
    with switch_bench(scale=20.0) as bench:
        bench.quiet()
        for _ in range(100):
            bench.nics[1].send(frame(B, A, size=1500))
        bench.settle()
        came = [(at, data) for at, data in bench.nics[3].take() if data[:6] == B]
    assert len(came) == 100
    wanted_s = 99 * (1500 + 24) * 8 / 50e6
    assert came[-1][0] - came[0][0] == pytest.approx(wanted_s, rel=0.2)
