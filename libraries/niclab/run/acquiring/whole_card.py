"""Does a bench test the whole card?"""

from __future__ import annotations

from niclab.bench.records import Bench, Role
from niclab.card import Card
from niclab.core.verdict import BenchFault


def require_whole_card(bench: Bench, card: Card) -> None:
    """Require that the bench file names every port of the card that the sheet counts, each on a path of its own.

    Args:
        bench: The bench, with the ports that it has with this card.
        card: The card under test.

    Raises:
        BenchFault: The bench file names fewer: a port that is not on the bench is never tested.
    """
    wanted = card.identity.network_ports
    ports = sum(port.role is Role.DUT for port in bench.ports)
    if ports < wanted or len(bench.paths) < wanted:
        found = f"{ports} port(s) of the dut on {len(bench.paths)} path(s)"
        raise BenchFault(
            f"{bench.file}: {found}; expected {wanted} on {wanted} paths (sheet {card.name}, identity.ports)"
        )
