"""Is it the bench that holds the traffic back? Asked before a limit is judged, so that a card is not blamed for it.

A limit above the PCIe ceiling of an end is not measured at all. A server that carries less than the line with itself
alone, load that was there before, or a CPU without free time during the runs, is shown with the limit; it makes a
missed limit a fault of the bench, and leaves a met one alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from niclab.bench.records import Port, Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault
from niclab.core.wait import pause
from niclab.hosts.counts.load_records import counted_at, load_between
from niclab.hosts.errors import ReadError
from niclab.hosts.host_records import PcieLink
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.watching import standstill
from niclab.traffic.limits.loopback import loopback_bps
from niclab.traffic.limits.pcie_ceiling import Ceiling, ceiling
from niclab.traffic.runs.endpoints import Ends
from niclab.traffic.runs.traffic_run import EndOfRun, TrafficRun
from niclab.traffic.tools.tool_choice import tool_of

LOOK_S = 1.0
"""Measured: the look itself keeps the CPU of a slow server (an emulated one) busy for up to 0.2 s."""
BUSY_BEFORE = 0.5
"""Assumption: a CPU that is half taken before a run has not enough left for it."""
TRAFFIC_BEFORE = 0.01
"""Assumption: more than this part of the line before a run is somebody else's traffic."""
BUSY_DURING = 0.95
"""Assumption: less than 5 % free on one CPU is none: a connection is served by one CPU at each end."""


@dataclass(frozen=True)
class Before:
    """One end before the runs.

    ``link``: of the card itself, None on a conventional PCI bus. ``ceiling``: of its whole path, None where nobody
    knows the bus.
    ``loopback_bps``: what its server carries with itself alone. ``busiest``: part 0..1 of its busiest CPU;
    ``traffic_bps``: over its port, both directions, with headers.
    """

    port: str
    link: PcieLink | None
    ceiling: Ceiling | None
    loopback_bps: float
    busiest: float
    traffic_bps: float

    def __str__(self) -> str:
        carries = self.ceiling.text if self.ceiling else "no ceiling known of its bus"
        return (
            f"{self.port}: {carries}; its server with itself alone: {self.loopback_bps / 1e6:.0f} Mbit/s; "
            f"before: busiest CPU {100 * self.busiest:.0f} % busy, "
            f"{self.traffic_bps / 1e6:.3f} Mbit/s"
        )


def look_before(run: Run, ends: Ends) -> tuple[Before, Before]:
    """Both ends before the first run: takes about a second, and once a server a run of its own, with itself."""
    watch = standstill.watch(run)
    first, second = side_by_side(
        lambda end: _before(run, watch, *end), ((ends.sender, ends.from_port), (ends.receiver, ends.to_port))
    )
    return first, second


def _before(run: Run, watch: standstill.StandstillWatch, server: Server, port: Port) -> Before:
    iface = run.interface(port)
    alone_bps = loopback_bps(server, tool_of(run.bench.traffic), watch)
    links = _links(server, port)
    start, before = time.monotonic(), server.host.counts.load(iface)
    pause(LOOK_S)
    later = server.host.counts.load(iface)
    seconds = time.monotonic() - start
    try:
        gained, load = counted_at(port, before.frames, later.frames), load_between(before.cpu, later.cpu)
    except ReadError as error:
        raise error.about(f"{server.name}: {port.name} before the runs") from error
    traffic_bps = (gained.rx_bytes + gained.tx_bytes) * 8 / seconds
    carries = bus_ceiling(run, port, links)
    return Before(port.name, links[-1] if links else None, carries, alone_bps, load.busiest[1].busy, traffic_bps)


def _links(server: Server, port: Port) -> tuple[PcieLink, ...]:
    """The links down to the card; none when it sits on conventional PCI.

    Raises:
        BenchFault: When it sits on PCI Express and its links cannot be read.
    """
    try:
        return server.host.pci.path(port.pci)
    except BenchFault:
        device = server.host.pci.device(port.pci)
        if (device.port_type, device.lnkcap_gts, device.lnksta_gts) == (None, None, None):
            return ()
        raise


def bus_ceiling(run: Run, port: Port, links: Sequence[PcieLink]) -> Ceiling | None:
    """Return what the bus of a port carries at most.

    Args:
        run: The current run.
        port: The port.
        links: The PCI Express links down to its card; none on conventional PCI.

    Returns:
        The least of what the links or the sheet's conventional bus can carry, and of what the bench file says of the
        server; None where nobody knows any.
    """
    known = [ceiling(links) if links else conventional_ceiling(run, port)]
    if (stated := run.server_of(port).description.bus_mbytes_per_s) is not None:
        text = f"{stated * 8e-3:.2f} Gbit/s over its bus (bench file: bus_mbytes_per_s {stated:g})"
        known.append(Ceiling(stated * 8e6, text))
    return min((each for each in known if each is not None), key=lambda each: each.bps, default=None)


def conventional_ceiling(run: Run, port: Port) -> Ceiling | None:
    """The ceiling of the conventional PCI bus that the sheet names; None of the peer, which may have another card."""
    bus = run.card.conventional_pci
    if bus is None or port.role is not Role.DUT:
        return None
    bps = bus.width_bits * bus.clock_mhz * 1e6
    return Ceiling(bps, f"{bps / 1e9:.2f} Gbit/s over PCI of {bus.width_bits} bit and {bus.clock_mhz} MHz")


def want_room(befores: Sequence[Before], limit_bps: float, expected: str) -> None:
    """Want room.

    Raises:
        BenchFault: When the bus of an end cannot carry ``limit_bps``; ``expected`` says where that is from.
    """
    short = without_room(befores, limit_bps)
    if short:
        raise BenchFault("\n".join(f"{each}; {expected}: {limit_bps / 1e6:g} Mbit/s" for each in short))


def without_room(befores: Sequence[Before], limit_bps: float) -> list[str]:
    """Return the ends whose bus cannot carry a limit, as words.

    Args:
        befores: The ends.
        limit_bps: The limit in bit/s.
    """
    return [
        f"{each.port}: the bench carries at most {each.ceiling.text}"
        for each in befores
        if each.ceiling is not None and each.ceiling.bps < limit_bps
    ]


def hindrances(befores: Sequence[Before], runs: Sequence[TrafficRun], line_bps: float) -> list[str]:
    """Return the reasons why the bench may hold the traffic back; empty when nothing shows that it does."""
    found = []
    for each in befores:
        if each.loopback_bps < line_bps:
            found.append(
                f"{each.port}: its server carries {each.loopback_bps / 1e6:.1f} Mbit/s with itself alone, "
                f"the line {line_bps / 1e6:g}"
            )
        if each.busiest > BUSY_BEFORE:
            found.append(f"{each.port}: a CPU was {100 * each.busiest:.0f} % busy before the runs")
        if each.traffic_bps > TRAFFIC_BEFORE * line_bps:
            found.append(f"{each.port}: {each.traffic_bps / 1e6:.3f} Mbit/s flowed before the runs")
    for ends in ([measured.sender for measured in runs], [measured.receiver for measured in runs]):
        found += _without_free_cpu(ends)
    return found


def _without_free_cpu(ends: Sequence[EndOfRun]) -> list[str]:
    if not ends:
        return []
    busy = median(end.cpu.busiest[1].busy for end in ends)
    if busy <= BUSY_DURING:
        return []
    return [f"{ends[0].port}: its busiest CPU had {100 * (1 - busy):.0f} % free time during the runs"]
