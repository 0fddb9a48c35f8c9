"""The counts of a congested SAN: of each source's disks and target, the three ports, the switch, and TCP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from niclab.bench.records import Port, Role
from niclab.core.parallel import side_by_side
from niclab.hosts.counts.load_records import FrameCounters, counted_at
from niclab.run.run import Run
from niclab.storage.congestion.congested_san import CongestedSan
from niclab.storage.disk_counts import DiskCounts
from niclab.storage.iscsi import iscsi_counts
from niclab.traffic.runs.switch_counts import Look as SwitchLook
from niclab.traffic.runs.switch_counts import PortCount, SwitchCountWatch


@dataclass(frozen=True)
class Disks:
    """Disks of one load whose data come from one port of the peer.

    ``names``: on the dut; ``volumes``: numbers of their volumes.
    """

    source: Port
    names: tuple[str, ...]
    volumes: range


@dataclass(frozen=True)
class SanLook:
    """One look. ``disks``: what disks, target and TCP have counted, by the place of the disks."""

    disks: tuple[DiskCounts, ...]
    ports: Mapping[Port, FrameCounters]
    switch: SwitchLook


@dataclass(frozen=True)
class SanCounts:
    """The counts between two looks. ``ports``: by name."""

    disks: tuple[DiskCounts, ...]
    ports: Mapping[str, FrameCounters]
    switch: tuple[PortCount, ...]


class SanCounter:
    """Looks at a congested SAN.

    Args:
        run: The current run.
        san: The paths.
        disks: The disks of each source.
    """

    def __init__(self, run: Run, san: CongestedSan, disks: Sequence[Disks]) -> None:
        self._run, self._disks = run, tuple(disks)
        self._ports = (run.bench.end(san.first, Role.DUT), *san.sources(run))
        self._switch = SwitchCountWatch(run, san.first)

    def look(self) -> SanLook:
        """Look.

        Raises:
            BenchFault: A server or the switch does not answer, or a count cannot be read.
        """
        run = self._run

        def frames(port: Port) -> FrameCounters:
            return run.server_of(port).host.counts.load(run.interface(port)).frames

        disks = tuple(iscsi_counts.look(run, each.names, each.volumes) for each in self._disks)
        ports = dict(zip(self._ports, side_by_side(frames, self._ports), strict=True))
        return SanLook(disks, ports, self._switch.look())

    def since(self, before: SanLook) -> SanCounts:
        """Look again, and return what was counted since.

        Args:
            before: The other look.

        Raises:
            CardFailure: A counter of the dut's port runs backwards.
            BenchFault: As :meth:`look`, or another counter does.
        """
        now = self.look()
        return SanCounts(
            tuple(after.since(then) for after, then in zip(now.disks, before.disks, strict=True)),
            {port.name: counted_at(port, then, now.ports[port]) for port, then in before.ports.items()},
            self._switch.since(before.switch),
        )
