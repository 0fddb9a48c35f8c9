"""The figures of reads, and the limit that binds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from niclab.hosts.counts.load_records import CpuLoad, CpuShare
from niclab.hosts.errors import ReadError
from niclab.storage.storage_figures import Binding, Ceilings, PathFigures, binding, figures_of, middle
from niclab.traffic.runs.traffic_run import TrafficRun

MOST = Ceilings(line_mbps=1000, bus_mbps=4224, frames_per_s=22500)
"""Those of the document's card."""


def made(reads: int = 2200, seconds: float = 2.0, all_reads: int = 2300, per_read: int = 23) -> TrafficRun:
    size = 32768
    cpu = [CpuLoad({0: CpuShare(busy, 0.0), 1: CpuShare(0.1, 0.0)}) for busy in (0.3, 0.6)]
    frames = SimpleNamespace(rx_packets=all_reads * per_read, rx_bytes=all_reads * (size + per_read * 34))
    result = SimpleNamespace(
        throughput_bps=reads * size * 8 / seconds, elapsed_s=seconds, received_bytes=all_reads * size
    )
    ends = [SimpleNamespace(port="dut.p0", cpu=cpu[0], frames=None), SimpleNamespace(port="peer.p0", cpu=cpu[1])]
    ends[1].frames = frames
    return cast(TrafficRun, SimpleNamespace(result=result, sender=ends[0], receiver=ends[1]))


def test_counts_are_taken_for_the_reads_that_count() -> None:
    found = figures_of(made())
    assert found.reads_per_s == pytest.approx(1100) and found.mbytes_per_s == pytest.approx(36.04, abs=0.01)
    assert found.frames_per_s == pytest.approx(25300)
    assert found.bus_mbps == pytest.approx(1100 * (32768 + 23 * 34) * 8e-6)
    assert found.wire_mbps == pytest.approx(1100 * (32768 + 23 * 58) * 8e-6)
    assert (found.dut_busy, found.peer_busy) == (0.3, 0.6)
    assert str(found) == (
        "1100.0 reads/s, 36.04 Mbyte/s, 25300 frames/s, busiest CPU of the dut 30 %, of the peer 60 %"
    )


def test_the_middle_of_several_runs() -> None:
    assert middle([made(reads=n) for n in (2200, 100, 2400)]).reads_per_s == pytest.approx(1100)


def test_a_run_without_a_read_has_no_figures() -> None:
    with pytest.raises(ReadError, match=r"peer\.p0: a run without a read"):
        figures_of(made(reads=0))


@pytest.mark.parametrize(
    ("frames", "wire", "bus", "dut", "peer", "most", "binds"),
    [
        (25300, 310, 300, 0.3, 0.6, MOST, Binding.FRAMES),
        (14000, 957, 940, 1.0, 1.0, MOST, Binding.LINE),
        (6000, 400, 380, 0.3, 0.3, Ceilings(1000, 400, 22500), Binding.BUS),
        (6000, 400, 380, 0.99, 0.99, Ceilings(1000, None, None), Binding.DUT_CPU),
        (6000, 400, 380, 0.5, 0.99, Ceilings(1000, None, None), Binding.PEER_CPU),
        (6000, 400, 380, 0.5, 0.5, MOST, Binding.SERVER),
    ],
)
def test_the_limit_that_comes_first(
    frames: float, wire: float, bus: float, dut: float, peer: float, most: Ceilings, binds: Binding
) -> None:
    found = PathFigures(frames, wire, bus, dut, peer)
    assert binding(found, most) is binds
    other = Binding.TARGET if binds is Binding.SERVER else binds
    assert binding(found, most, Binding.TARGET) is other


@pytest.mark.parametrize("binds", [Binding.TARGET, Binding.NVME_TARGET])
def test_a_target_that_binds_leaves_it_open_who_is_slow(binds: Binding) -> None:
    assert binds.doubts == (
        f"held back by {binds.value}, as nothing else is full: nobody knows if the target or the card is slow",
    )


def test_what_is_full_leaves_nothing_open() -> None:
    assert not any(each.doubts for each in set(Binding) - {Binding.TARGET, Binding.NVME_TARGET})
