"""The line rate that the ends of a path have negotiated, against the sheet's."""

from __future__ import annotations

from functools import partial

from niclab.bench.records import BenchPath, Port, Role
from niclab.card import Unknown
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, CardFailure
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.traffic.runs.endpoints import Ends


def line_mbps(run: Run, ends: Ends, path: BenchPath) -> float:
    """Return the line rate that a path must have: the sheet's link speed over the scale of the path.

    Where the sheet knows no speed it is what the sender's port negotiated.

    Args:
        run: The current run.
        ends: Who sends to whom, through which ports.
        path: The path.

    Returns:
        The rate in Mbit/s.

    Raises:
        CardFailure: A port of the dut negotiated another speed than the sheet's.
        BenchFault: A port reports no speed, or one of the peer negotiated less than the sheet's.
    """
    wanted, sheet = run.card.link.speed_mbps, f"expected {run.card.link.speed_mbps} Mbit/s (sheet {run.card.name})"
    if isinstance(wanted, Unknown):
        return _negotiated_mbps(run, (ends.sender, ends.from_port)) / path.rate_scale
    sides = ((ends.sender, ends.from_port), (ends.receiver, ends.to_port))
    found = dict(zip((ends.from_port, ends.to_port), side_by_side(partial(_negotiated_mbps, run), sides), strict=True))
    slow = [f"{port.place}: link at {mbps} Mbit/s; {sheet}" for port, mbps in found.items() if mbps != wanted]
    if any(mbps != wanted for port, mbps in found.items() if port.role is Role.DUT):
        raise CardFailure("\n".join(slow))
    if any(mbps < wanted for mbps in found.values()):
        raise BenchFault("\n".join(slow))
    return wanted / path.rate_scale


def _negotiated_mbps(run: Run, end: tuple[Server, Port]) -> int:
    server, port = end
    speed_mbps = server.host.links.link_settings(run.interface(port)).speed_mbps
    if not speed_mbps:
        raise BenchFault(f"{port.name}: link speed is unknown, so there is no line rate to compare with")
    return speed_mbps
