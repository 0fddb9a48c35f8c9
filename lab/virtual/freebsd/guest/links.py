"""Interfaces as the kernel below has them: names, kinds, members, addresses."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass

from below import ROOT, read, remembered, run

LOOPBACK = "lo0"
_UP = 0x1


def below_name(iface: str) -> str:
    """The kernel below calls the loopback interface ``lo``."""
    return "lo" if iface == LOOPBACK else iface


def names() -> list[str]:
    """Every interface, in the order in which they were made."""
    folder = f"{ROOT}/sys/class/net"
    found = [name for name in os.listdir(folder) if os.path.isdir(f"{folder}/{name}")]
    found.sort(key=index)
    return [name for name in found if name != "lo"] + ([LOOPBACK] if "lo" in found else [])


def exists(iface: str) -> bool:
    return "/" not in iface and os.path.isdir(f"{ROOT}/sys/class/net/{below_name(iface)}")


def value(iface: str, file: str) -> str:
    """One file of an interface in sysfs; empty when it cannot be read."""
    return (read(f"/sys/class/net/{below_name(iface)}/{file}") or "").strip()


def mtu(iface: str) -> str:
    """The MTU as this system's driver has it: where that of the kernel below takes less, it was given its largest."""
    now = value(iface, "mtu")
    return remembered(f"mtu-{iface}").get(now, now)


def index(iface: str) -> int:
    return int(value(iface, "ifindex") or 0)


def is_up(iface: str) -> bool:
    return bool(int(value(iface, "flags") or "0", 16) & _UP)


def has_carrier(iface: str) -> bool:
    return value(iface, "carrier") == "1"


def is_lagg(iface: str) -> bool:
    return os.path.isdir(f"{ROOT}/sys/class/net/{below_name(iface)}/bonding")


def is_vlan(iface: str) -> bool:
    return "DEVTYPE=vlan" in value(iface, "uevent").split("\n")


LAGG_MODES = {"failover": "active-backup", "lacp": "802.3ad", "loadbalance": "balance-xor", "roundrobin": "balance-rr"}
"""Protocol of a lagg -> mode of the bond below."""
LAGG_HASHES = {"l2": "layer2", "l2,l3": "layer2+3", "l3,l4": "layer3+4", "l2,l3,l4": "layer3+4"}
"""Layers that a lagg hashes -> policy of the bond below; it has none for all three."""
ALL_LAYERS = "l2,l3,l4"


def lagg_protocol(lagg: str) -> str:
    mode = value(lagg, "bonding/mode").partition(" ")[0]
    return next((protocol for protocol, below in LAGG_MODES.items() if below == mode), "none")


def members(lagg: str) -> list[str]:
    return value(lagg, "bonding/slaves").split()


def parent(vlan: str) -> str:
    """The interface below a VLAN."""
    folder = f"{ROOT}/sys/class/net/{vlan}"
    return next((name.removeprefix("lower_") for name in os.listdir(folder) if name.startswith("lower_")), "")


def vlan_id(vlan: str) -> str:
    for line in (read(f"/proc/net/vlan/{vlan}") or "").splitlines():
        words = line.split()
        if "VID:" in words:
            return words[words.index("VID:") + 1]
    return "0"


@dataclass(frozen=True)
class InternetAddress:
    """``family``: inet or inet6; ``scope`` and ``flags`` in the words of ip."""

    family: str
    address: str
    length: int
    broadcast: str | None
    scope: str
    flags: tuple[str, ...]


def addresses(iface: str) -> list[InternetAddress]:
    """Addresses of an interface, those of IPv4 first.

    By the ip of busybox: it is one static file, which starts in a quarter of the time.
    """
    return _addresses("dev", below_name(iface)).get(iface, [])


def all_addresses() -> dict[str, list[InternetAddress]]:
    """Interface -> its addresses, those of IPv4 first, of every interface that has any."""
    return _addresses()


def _addresses(*chosen: str) -> dict[str, list[InternetAddress]]:
    found: dict[str, list[InternetAddress]] = {}
    for line in run("busybox", "ip", "-o", "address", "show", *chosen)[1].splitlines():
        words = line.replace("\\", " ").split()
        family = next((word for word in words if word in ("inet", "inet6")), None)
        if family is None:
            continue
        rest = words[words.index(family) + 1 :]
        address, _, length = rest[0].partition("/")
        pairs = dict(itertools.pairwise(rest))
        flags = tuple(word for word in rest if word in ("tentative", "dadfailed", "deprecated", "secondary"))
        one = InternetAddress(family, address, int(length or 32), pairs.get("brd"), pairs.get("scope", "global"), flags)
        found.setdefault(LOOPBACK if words[1] == "lo" else words[1], []).append(one)
    return {iface: sorted(own, key=lambda one: one.family) for iface, own in found.items()}
