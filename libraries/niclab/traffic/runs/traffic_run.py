"""One measured run as it is kept: what the tool found, and what both servers and the switch counted meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.hosts.counts.load_records import CpuLoad, FrameCounters
from niclab.traffic.runs import switch_counts
from niclab.traffic.runs.switch_counts import PortCount
from niclab.traffic.tools.tool import Order, ToolResult, TrafficTest

STRAY_FRAMES = 50
"""Assumption: frames of other protocols (ARP, IPv6 neighbours, LLDP) between the looks at the two ends."""


@dataclass(frozen=True)
class EndOfRun:
    """One end of a run: its port, the load of its CPUs, and what its port counted from before to after.

    ``seconds``: between the two looks at the CPUs; longer than the run.
    """

    port: str
    cpu: CpuLoad
    frames: FrameCounters
    seconds: float = 0.0


@dataclass(frozen=True)
class Conservation:
    """Frames of the direction of the data: sent = received + counted as lost + missing.

    ``explained``: frames that TCP sent again, which it does for those that never arrived; None when not counted.
    ``missing`` below 0: some drivers count what the card cuts into frames (TSO) as one, so only a loss is reported.
    """

    sent: int
    received: int
    lost: int
    explained: int | None

    @property
    def missing(self) -> int:
        return self.sent - self.received - self.lost

    @property
    def holds(self) -> bool:
        return self.missing <= (self.explained or 0) + STRAY_FRAMES

    def __str__(self) -> str:
        counted = f"{self.sent} frames sent, {self.received} received, {self.lost} counted as lost"
        if self.missing < 0:
            return f"{counted}: the sender counts before segmentation (TSO), so frames cannot be compared"
        return f"{counted}: {self.missing} missing without a trace"


@dataclass(frozen=True)
class TrafficRun:
    """One run. ``tool``: name of the tool.

    ``command``: of the client; ``seconds``: how long that command took, its start and the connection's included;
    ``switch``: what the switch counted, where the path goes through it; ``disturbed``: the runs before it that are
    not counted, because a server stood still meanwhile or they found more than the line carries.
    """

    tool: str
    command: str
    order: Order
    result: ToolResult
    sender: EndOfRun
    receiver: EndOfRun
    conservation: Conservation
    seconds: float
    switch: tuple[PortCount, ...] = ()
    disturbed: tuple[str, ...] = ()

    @property
    def dut(self) -> EndOfRun:
        """The end at the card under test."""
        return self.sender if self.sender.port.startswith(f"{Role.DUT.value}.") else self.receiver

    @property
    def remarkable(self) -> bool:
        """Should a person look at it?"""
        return bool(self.disturbed) or not self.conservation.holds


def described(measured: TrafficRun) -> str:
    """The run in one line, for the log."""
    found, order = measured.result, measured.order
    parts = [f"{measured.tool} {order.words}: {figure_text(found)} in {found.elapsed_s:.2f} s"]
    if found.loss is not None:
        parts.append(f"{100 * found.loss:.2f} % lost")
    if order.test is not TrafficTest.UDP_STREAM:
        count = "unknown" if found.retransmits is None else found.retransmits
        parts.append(f"{count} retransmissions")
    if found.window_bytes is not None:
        parts.append(f"the receiver offered {found.window_bytes} bytes")
    for side in (measured.sender, measured.receiver):
        cpu, share = side.cpu.busiest
        parts.append(f"{side.port}: cpu{cpu} {100 * share.busy:.0f} % busy ({100 * share.softirq:.0f} % softirq)")
        if (waiting := side.cpu.mean_waiting) is not None:
            parts.append(f"all CPUs {100 * waiting:.0f} % waiting for I/O")
    parts.append(str(measured.conservation))
    if measured.switch:
        parts.append(switch_counts.described(measured.switch))
    return "; ".join([", ".join(parts), *(f"before it {each}" for each in measured.disturbed)])


def figure_text(found: ToolResult) -> str:
    """The figure of a run, with its unit."""
    if found.throughput_bps is not None:
        return f"{found.throughput_bps / 1e6:.1f} Mbit/s"
    return f"{found.transactions_per_s:.0f} transactions/s"
