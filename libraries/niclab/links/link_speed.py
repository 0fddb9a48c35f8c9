"""The party at fault for a link that does not run at the sheet's speed: the card, the bench, or nobody knows.

Both ends of a link run at one speed. Where it is a lower one, an end was set so or has offered no more, or a PHY has
given up the higher one for a bad pair of the cable (a "downshift": Linux, igb, e1000_phy.c, igb_check_downshift).
"""

from __future__ import annotations

from collections.abc import Mapping

from niclab.bench.records import Port, Role, Wiring
from niclab.core.verdict import Blamed
from niclab.hosts.host_records import LinkSettings
from niclab.hosts.link_modes import in_mbps, speeds_of
from niclab.run.run import Run


def party(run: Run, port: Port, found: Mapping[Port, LinkSettings], wanted_mbps: int) -> tuple[Blamed | None, str]:
    """Blame an end of a link that does not run at the speed of the sheet.

    Args:
        run: The current run.
        port: The port that shows another speed.
        found: The settings of both ends of its path.
        wanted_mbps: What the sheet says, in Mbit/s.

    Returns:
        The side, None where it cannot be seen, and the reason in words, empty where the port itself is at fault.
    """
    own = Blamed.CARD if port.role is Role.DUT else Blamed.BENCH
    shown, other = found[port], found[run.bench.partner(port)]
    is_direct = run.bench.path_of(port).through is Wiring.DIRECT
    if not shown.speed_mbps or shown.speed_mbps > wanted_mbps or _lacks(shown.supported, wanted_mbps):
        return own, ""
    if port.role is Role.DUT:
        for modes, does in ((shown.partner, "advertises"), (other.supported if is_direct else None, "offers")):
            if _lacks(modes, wanted_mbps):
                return Blamed.BENCH, f"the other end of its link {does} {in_mbps(speeds_of(modes))}"
    if other.speed_mbps == shown.speed_mbps if is_direct else port.role is Role.DUT:
        return None, "its cable, or either end of it, may be why"
    return own, ""


def _lacks(modes: tuple[str, ...] | None, wanted_mbps: int) -> bool:
    """Say whether modes are shown, and none is of that speed."""
    speeds = speeds_of(modes)
    return bool(speeds) and wanted_mbps not in speeds
