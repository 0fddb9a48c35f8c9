"""Looks at a port under full load, made of the rates that it carries."""

from __future__ import annotations

from collections.abc import Sequence

from niclab.frames.load.load_rates import LoadLook
from niclab.hosts.counts.load_records import CpuTime, CpuTimes, FrameCounters, Load


def looks(mbps: Sequence[float], busy: float = 0.5, **gained: int) -> list[LoadLook]:
    """One look a second: both directions at the same rates, counters that gain so much a second."""
    found, sent = [], 0
    for second, rate in enumerate([0.0, *mbps]):
        sent += int(rate * 1e6 / 8)
        counted = {name: count * second for name, count in gained.items()}
        frames = FrameCounters(
            **{
                "rx_packets": sent // 1514,
                "rx_bytes": sent,
                "rx_dropped": 0,
                "rx_missed_errors": 0,
                "rx_errors": 0,
                "tx_packets": sent // 1514,
                "tx_bytes": sent,
                "tx_dropped": 0,
                "tx_errors": 0,
                **counted,
            }
        )
        cpu = CpuTime(int(100 * second * busy), 0, 0, int(100 * second * (1 - busy)), 0, 0, 0, 0)
        found.append(LoadLook(float(second), Load(CpuTimes({0: cpu}), frames)))
    return found
