"""The line rate that the ends of a path have negotiated, against the sheet's."""

from __future__ import annotations

from functools import partial

from niclab.bench.records import BenchPath, Port, Role
from niclab.card import Unknown
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, Charge, blame_charged
from niclab.hosts.host_records import LinkSettings
from niclab.links import link_speed
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
        BenchFault: A port reports no speed, or one of the peer or the other end of a link offers less than the sheet's.
        Undecided: Both ends negotiated a lower speed that they can exceed.
    """
    wanted, sheet = run.card.link.speed_mbps, f"expected {run.card.link.speed_mbps} Mbit/s (sheet {run.card.name})"
    if isinstance(wanted, Unknown):
        return _speed_mbps(_negotiated(run, (ends.sender, ends.from_port)), ends.from_port) / path.rate_scale
    sides = ((ends.sender, ends.from_port), (ends.receiver, ends.to_port))
    found = dict(zip((ends.from_port, ends.to_port), side_by_side(partial(_negotiated, run), sides), strict=True))
    slow = list[Charge]()
    for port, settings in found.items():
        mbps = _speed_mbps(settings, port)
        if mbps < wanted or (mbps > wanted and port.role is Role.DUT):
            side, reason = link_speed.party(run, port, found, wanted)
            text = f"{port.place}: link at {mbps} Mbit/s; {sheet}"
            slow.append(Charge(text, side, reason))
    blame_charged(slow)
    return wanted / path.rate_scale


def _negotiated(run: Run, end: tuple[Server, Port]) -> LinkSettings:
    server, port = end
    return server.host.links.link_settings(run.interface(port))


def _speed_mbps(settings: LinkSettings, port: Port) -> int:
    if not settings.speed_mbps:
        raise BenchFault(f"{port.name}: link speed is unknown, so there is no line rate to compare with")
    return settings.speed_mbps
