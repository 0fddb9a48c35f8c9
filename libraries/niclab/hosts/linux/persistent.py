"""Settings of a Linux port that outlast a restart: a ``.link`` file of udev (systemd.link(5)), and one of sysctl.d.

udev sets a new interface up by the first file that fits it, so this one repeats the name policy of the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SYSCTL_FILE = "/etc/sysctl.d/90-niclab.conf"
_NAMES = "NamePolicy=keep kernel database onboard slot path"
_COALESCING = {"rx-usecs": "RxCoalesceSec", "tx-usecs": "TxCoalesceSec"}


@dataclass(frozen=True)
class Persistent:
    """What a port is to come up with; None is left alone. ``coalescing``: microseconds by ethtool's words."""

    mtu: int | None = None
    rx_ring: int | None = None
    tx_ring: int | None = None
    pause_autoneg: bool | None = None
    pause_rx: bool | None = None
    pause_tx: bool | None = None
    coalescing: Mapping[str, int] = field(default_factory=dict)
    adaptive_rx: bool | None = None


def link_file_name(mac: str) -> str:
    return f"/etc/systemd/network/10-niclab-{mac.replace(':', '')}.link"


def link_file(mac: str, wish: Persistent) -> str:
    """The content of the file for the port with ``mac``.

    :raises ValueError: for a coalescing parameter that udev does not set.
    """
    unknown = [name for name in wish.coalescing if name not in _COALESCING]
    if unknown:
        raise ValueError(f"coalescing {', '.join(unknown)}; wanted: {', '.join(_COALESCING)}")
    values: dict[str, object] = {
        "MTUBytes": wish.mtu,
        "RxBufferSize": wish.rx_ring,
        "TxBufferSize": wish.tx_ring,
        "AutoNegotiationFlowControl": wish.pause_autoneg,
        "RxFlowControl": wish.pause_rx,
        "TxFlowControl": wish.pause_tx,
        "UseAdaptiveRxCoalesce": wish.adaptive_rx,
    }
    lines = [f"{name}={_shown(value)}" for name, value in values.items() if value is not None]
    lines += [f"{_COALESCING[name]}={value}us" for name, value in wish.coalescing.items()]
    return "\n".join(["[Match]", f"MACAddress={mac}", "", "[Link]", _NAMES, *lines, ""])


def _shown(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
