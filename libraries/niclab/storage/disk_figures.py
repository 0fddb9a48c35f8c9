"""The figures of loads of disks of the peer: operations and data a second, frames, and what the CPUs took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.card import StorageLoad
from niclab.storage.disk_program import SEQUENTIAL_BYTES
from niclab.storage.storage_figures import PathFigures, medians
from niclab.traffic.limits.frame_rate import ON_THE_WIRE
from niclab.traffic.runs.traffic_run import TrafficRun

_MBYTES, _OPERATIONS = "Mbyte/s", "operations/s"


@dataclass(frozen=True)
class LoadFigures(PathFigures):
    """The figures of a load. ``data_per_s``: bytes; those read alone of random operations."""

    operations_per_s: float
    data_per_s: float

    def __str__(self) -> str:
        return (
            f"{self.operations_per_s:.1f} operations/s, {self.data_per_s / 1e6:.2f} Mbyte/s, busiest CPU of the dut "
            f"{100 * self.dut_busy:.0f} %, of the peer {100 * self.peer_busy:.0f} %"
        )


def unit_of(load: StorageLoad) -> str:
    """Return the unit of the figure of a load.

    Args:
        load: The load.
    """
    return _OPERATIONS if load is StorageLoad.RANDOM else _MBYTES


def value_of(made: TrafficRun) -> float:
    """Return the figure of a run: operations/s of random ones, else Mbyte/s.

    Args:
        made: The run.
    """
    found = made.result
    return found.transactions_per_s if found.transactions_per_s is not None else (found.throughput_bps or 0.0) / 8e6


def figures_of(runs: Sequence[TrafficRun]) -> LoadFigures:
    """Return the median of each figure of runs.

    Args:
        runs: The runs, at least one.
    """
    return medians([_figures_of(each) for each in runs])


def _figures_of(made: TrafficRun) -> LoadFigures:
    result, port = made.result, made.receiver.frames
    data_per_s = (result.received_bytes or 0.0) / result.elapsed_s
    busy = {each.port.partition(".")[0]: each.cpu.busiest[1].busy for each in (made.sender, made.receiver)}
    operations = result.transactions_per_s
    return LoadFigures(
        frames_per_s=port.rx_packets / result.elapsed_s,
        wire_mbps=(port.rx_bytes + ON_THE_WIRE * port.rx_packets) * 8e-6 / result.elapsed_s,
        bus_mbps=port.rx_bytes * 8e-6 / result.elapsed_s,
        dut_busy=busy[Role.DUT.value],
        peer_busy=busy[Role.PEER.value],
        operations_per_s=data_per_s / SEQUENTIAL_BYTES if operations is None else operations,
        data_per_s=data_per_s,
    )
