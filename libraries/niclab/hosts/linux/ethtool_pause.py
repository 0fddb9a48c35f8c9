"""Reader of ``ethtool --json -a IFACE`` (ethtool 5.10 and later)."""

from __future__ import annotations

from niclab.hosts.ethtool_records import Pause
from niclab.hosts.linux.output import json_bool, json_interface

KIND = "ethtool --json -a"
_NAMES = {"ifname", "autonegotiate", "rx", "tx", "negotiated"}


def read_pause(text: str) -> Pause:
    """Read the pause frames of one interface; ``negotiated`` is there while autonegotiation is on.

    Raises:
        ReadError: The text is no such document, or lacks one of the three switches.
    """
    node = json_interface(KIND, text)
    assert isinstance(node.value, dict)
    if not set(node.value) <= _NAMES:
        raise node.wrong(f"the names {', '.join(sorted(_NAMES))}")
    negotiated = node.optional("negotiated")
    return Pause(
        iface=node.child("ifname").text(),
        autoneg=json_bool(node.child("autonegotiate")),
        rx=json_bool(node.child("rx")),
        tx=json_bool(node.child("tx")),
        rx_negotiated=json_bool(negotiated.child("rx")) if negotiated else None,
        tx_negotiated=json_bool(negotiated.child("tx")) if negotiated else None,
    )
