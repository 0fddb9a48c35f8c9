"""The side that a flap is charged to, where a port has counted changes of carrier and nobody touched a link."""

from __future__ import annotations

from niclab.bench.records import Bench, Port, Role, Wiring
from niclab.core.verdict import Blamed


def side(bench: Bench, port: Port, theirs: int | None) -> tuple[Blamed | None, str]:
    """Return the side that is charged, None where it cannot be seen, and why.

    Args:
        bench: The bench.
        port: The port that has counted changes.
        theirs: The changes that the other port of its path has counted meanwhile; None where nobody knows.
    """
    partner = bench.partner(port)
    if port.role is Role.DUT and bench.path_of(port).through is Wiring.SWITCH:
        return None, "the port of the switch, the cable or the card"
    if theirs is None:
        return None, f"nobody knows what {partner.name} counted meanwhile"
    if theirs:
        return None, f"{partner.name} counted {theirs}: the cable or either port"
    return (Blamed.CARD if port.role is Role.DUT else Blamed.BENCH), f"{partner.name} counted none"
