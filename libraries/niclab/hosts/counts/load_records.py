"""The load of a host: time of its CPUs, frames of a port. Two looks make a difference.

A CPU is busy when it is neither idle nor waiting for a disk; time that a hypervisor took away (steal) is not free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from niclab.bench.records import Port
from niclab.core.verdict import Trouble, blame
from niclab.hosts.errors import ReadError


@dataclass(frozen=True)
class CpuTime:
    """Clock ticks since boot.

    ``steal`` None: a kernel before 2.6.11, which does not say; ``iowait`` None: FreeBSD, where that is idle.
    """

    user: int
    nice: int
    system: int
    idle: int
    iowait: int | None
    irq: int
    softirq: int
    steal: int | None

    @property
    def working(self) -> tuple[int, ...]:
        """Everything but idle and iowait, softirq last."""
        return (self.user, self.nice, self.system, self.irq, self.steal or 0, self.softirq)

    @property
    def resting(self) -> int:
        return self.idle + (self.iowait or 0)


@dataclass(frozen=True)
class CpuTimes:
    """``cpus``: by the kernel's number."""

    cpus: Mapping[int, CpuTime]


@dataclass(frozen=True)
class CpuShare:
    """Parts 0..1 of the time of one CPU; ``softirq`` is contained in ``busy``.

    ``waiting``: for a disk or a network disk, while the CPU had nothing else to do; None where the system does not say.
    """

    busy: float
    softirq: float
    waiting: float | None = None


@dataclass(frozen=True)
class CpuLoad:
    """Load of each CPU between two looks."""

    cpus: Mapping[int, CpuShare]

    @property
    def busiest(self) -> tuple[int, CpuShare]:
        """Number and share of the CPU with the least free time: what one connection waits for."""
        return max(self.cpus.items(), key=lambda item: item[1].busy)

    @property
    def mean_busy(self) -> float:
        return sum(share.busy for share in self.cpus.values()) / len(self.cpus)

    @property
    def mean_waiting(self) -> float | None:
        """Part 0..1 of the time of all CPUs that waited for I/O; None where the system does not say."""
        waiting = [share.waiting for share in self.cpus.values() if share.waiting is not None]
        return sum(waiting) / len(waiting) if waiting else None


def load_between(before: CpuTimes, after: CpuTimes) -> CpuLoad:
    """The load between two looks.

    Raises:
        ReadError: When CPUs came or went, a time of work runs backwards, or no time has passed.
    """
    if before.cpus.keys() != after.cpus.keys():
        raise ReadError(f"CPUs {sorted(before.cpus)} before, {sorted(after.cpus)} after; expected the same ones")
    return CpuLoad({cpu: _share(cpu, before.cpus[cpu], after.cpus[cpu]) for cpu in sorted(before.cpus)})


def _share(cpu: int, before: CpuTime, after: CpuTime) -> CpuShare:
    worked = [now - then for then, now in zip(before.working, after.working, strict=True)]
    if min(worked) < 0:
        raise ReadError(f"cpu{cpu}: its time runs backwards, from {before} to {after}")
    rested = max(0, after.resting - before.resting)  # the kernel may take iowait back (proc(5))
    total = sum(worked) + rested
    if total == 0:
        raise ReadError(f"cpu{cpu}: no time has passed between two looks")
    if before.iowait is None or after.iowait is None:
        return CpuShare(sum(worked) / total, worked[-1] / total)
    waited = min(rested, max(0, after.iowait - before.iowait))
    return CpuShare(sum(worked) / total, worked[-1] / total, waited / total)


@dataclass(frozen=True)
class FrameCounters:
    """The kernel's counters of a port (Documentation/networking/statistics.rst).

    ``rx_missed``: frames the card had no room for, which are not in ``rx_dropped``; ``rx_errors``: damaged ones.
    """

    rx_packets: int
    rx_bytes: int
    rx_dropped: int
    rx_missed_errors: int
    rx_errors: int
    tx_packets: int
    tx_bytes: int
    tx_dropped: int
    tx_errors: int

    def since(self, before: FrameCounters) -> FrameCounters:
        """Return what was counted since ``before``.

        Raises:
            ReadError: When a counter runs backwards: it was reset or has wrapped.
        """
        if backwards := self.backwards(before):
            raise ReadError(backwards[0])
        return FrameCounters(
            **{each.name: getattr(self, each.name) - getattr(before, each.name) for each in fields(self)}
        )

    def backwards(self, before: FrameCounters) -> tuple[str, ...]:
        """Name the counters that are less than ``before``, with both values."""
        pairs = {each.name: (getattr(before, each.name), getattr(self, each.name)) for each in fields(self)}
        return tuple(
            f"{name} runs backwards, from {then} to {now}" for name, (then, now) in pairs.items() if now < then
        )

    @property
    def rx_lost(self) -> int:
        """Frames that arrived and were counted as lost. A driver may count one in two places."""
        return self.rx_dropped + self.rx_missed_errors + self.rx_errors


def backwards_at(port: Port, before: FrameCounters, after: FrameCounters) -> list[Trouble]:
    """Find counters of a port that run backwards between two looks, between which nobody has restarted it.

    Args:
        port: The port.
        before: Its counters at the first look.
        after: Its counters at the second one.
    """
    return [port.trouble(f"{said}; expected 64 bits that only grow") for said in after.backwards(before)]


def counted_at(port: Port, before: FrameCounters, after: FrameCounters) -> FrameCounters:
    """Return the counts of a port between two looks, between which nobody has restarted it.

    Args:
        port: The port.
        before: Its counters at the first look.
        after: Its counters at the second one.

    Raises:
        CardFailure: A counter of a port of the dut was reset, or has wrapped before it had 64 bits.
        BenchFault: One of a port of the peer.
    """
    blame(backwards_at(port, before, after))
    return after.since(before)


@dataclass(frozen=True)
class Load:
    """One look at a host: its CPUs, and one port, in this order within a few milliseconds of each other."""

    cpu: CpuTimes
    frames: FrameCounters
