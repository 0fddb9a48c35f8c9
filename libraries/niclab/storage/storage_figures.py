"""The figures of storage over a path, from what programs and ports have counted, and the limit that binds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from statistics import median
from typing import TypeVar

from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.storage.nfs.nfs_reads import READ_BYTES
from niclab.traffic.limits.bottleneck import BUSY_DURING
from niclab.traffic.limits.frame_rate import ON_THE_WIRE
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs.traffic_run import TrafficRun

FULL = 0.9
"""Assumption: nine tenths of what something carries are all of it, as headers and pauses are not counted exactly."""


class Binding(StrEnum):
    """The limit that comes first."""

    LINE = "the line"
    BUS = "the PCI bus"
    FRAMES = "the card's frames a second"
    DUT_CPU = "the CPU of the dut"
    PEER_CPU = "the CPU of the peer"
    SERVER = "the NFS server's time to answer"
    """Neither line, bus, card nor a CPU is full: it is what 4 reads under way take."""
    TARGET = "the iSCSI target's time to answer"
    NVME_TARGET = "the NVMe target's time to answer"

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return why nobody knows who held a load back: where nothing is full, a slow target looks like a slow card."""
        if self not in (Binding.TARGET, Binding.NVME_TARGET):
            return ()
        return (f"held back by {self.value}, as nothing else is full: nobody knows if the target or the card is slow",)


@dataclass(frozen=True)
class PathFigures:
    """The frames that a path carried during a load, and the CPUs.

    ``frames_per_s``, ``wire_mbps``, ``bus_mbps``: of the frames that came into the port that received the data, on the
    line and without what is added there. ``dut_busy``, ``peer_busy``: part 0..1 of the time of the busiest CPU.
    """

    frames_per_s: float
    wire_mbps: float
    bus_mbps: float
    dut_busy: float
    peer_busy: float


F = TypeVar("F", bound=PathFigures)


@dataclass(frozen=True)
class ReadFigures(PathFigures):
    """The figures of a run of reads."""

    reads_per_s: float

    @property
    def mbytes_per_s(self) -> float:
        """Data in 10^6 bytes a second."""
        return self.reads_per_s * READ_BYTES / 1e6

    def __str__(self) -> str:
        return (
            f"{self.reads_per_s:.1f} reads/s, {self.mbytes_per_s:.2f} Mbyte/s, {self.frames_per_s:.0f} frames/s, "
            f"busiest CPU of the dut {100 * self.dut_busy:.0f} %, of the peer {100 * self.peer_busy:.0f} %"
        )


@dataclass(frozen=True)
class Ceilings:
    """The most that the parts of a path carry: line and bus in Mbit/s, frames a second. None where nobody knows."""

    line_mbps: float
    bus_mbps: float | None
    frames_per_s: float | None


def figures_of(run: TrafficRun) -> ReadFigures:
    """Return what a run has carried, for the time that its reads are counted.

    The port has counted the reads before and after as well, so its counts are taken by the reads that are counted.

    Args:
        run: The run.

    Raises:
        ReadError: The run has read nothing.
    """
    found = run.result
    if not found.throughput_bps or not found.received_bytes:
        raise ReadError("a run without a read; expected at least one", run.receiver.port)
    part = found.throughput_bps / 8 * found.elapsed_s / found.received_bytes
    frames, data = (
        part * each / found.elapsed_s for each in (run.receiver.frames.rx_packets, run.receiver.frames.rx_bytes)
    )
    return ReadFigures(
        reads_per_s=found.throughput_bps / 8 / READ_BYTES,
        frames_per_s=frames,
        wire_mbps=(data + ON_THE_WIRE * frames) * 8e-6,
        bus_mbps=data * 8e-6,
        dut_busy=run.sender.cpu.busiest[1].busy,
        peer_busy=run.receiver.cpu.busiest[1].busy,
    )


def middle(runs: Sequence[TrafficRun]) -> ReadFigures:
    """Return the median of each figure of runs.

    Args:
        runs: The runs, at least one.
    """
    return medians([figures_of(each) for each in runs])


def medians(found: Sequence[F]) -> F:
    """Return the median of each figure.

    Args:
        found: The figures of runs, at least one.
    """
    names = [each.name for each in fields(found[0])]
    return replace(found[0], **{name: median(getattr(each, name) for each in found) for name in names})


def binding(found: PathFigures, most: Ceilings, otherwise: Binding = Binding.SERVER) -> Binding:
    """Return the limit that comes first.

    Args:
        found: What was carried.
        most: What the parts of the path carry.
        otherwise: What it is where none of them is full.
    """
    if found.wire_mbps >= FULL * most.line_mbps:
        return Binding.LINE
    if most.bus_mbps is not None and found.bus_mbps >= FULL * most.bus_mbps:
        return Binding.BUS
    if most.frames_per_s is not None and found.frames_per_s >= FULL * most.frames_per_s:
        return Binding.FRAMES
    if found.dut_busy > BUSY_DURING:
        return Binding.DUT_CPU
    return Binding.PEER_CPU if found.peer_busy > BUSY_DURING else otherwise


def ceilings(run: Run, measured: MeasuredPath) -> Ceilings:
    """Return the most that the parts of a path carry.

    Args:
        run: The current run.
        measured: The path.
    """
    buses = [each.ceiling.bps / 1e6 for each in measured.before if each.ceiling is not None]
    frames = run.card.limits.frames_per_s
    return Ceilings(
        line_mbps=measured.rate_mbps,
        bus_mbps=min(buses) if buses else None,
        frames_per_s=frames / measured.path.rate_scale if isinstance(frames, int) else None,
    )
