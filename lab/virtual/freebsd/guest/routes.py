"""netstat -r: the routes of the kernel below, in the words and columns of usr.bin/netstat/route.c.

Releases before 10 show ``Refs`` and ``Use`` (``pr_rthdr`` and ``p_rtentry``); later ones show neither, and ``Use`` with
-W. An own address has a host route over the loopback interface, which counts as static: flags ``UHS``
(``ifa_add_loopback_route`` of sys/net/if.c). How often a route was used is not known below: 0.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

import links
from below import Refusal, read, release

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_FAMILIES = {"inet": "Internet", "inet6": "Internet6"}
_UP, _GATEWAY, _REJECT = 0x1, 0x2, 0x200
"""Flags of both kernels (sys/net/route.h, include/uapi/linux/route.h), the last of the one below."""


@dataclass(frozen=True)
class Route:
    """``iface``: where it leads; ``seen_at``: whose address it is, where it is the one of an own address."""

    network: Network
    gateway: str
    flags: str
    iface: str
    seen_at: str = ""


def show(family: str | None, *, wide: bool) -> None:
    """Print the routes of one family, or of both.

    Raises:
        Refusal: For another family.
    """
    if family is not None and family not in _FAMILIES:
        raise Refusal(f"netstat: {family}: unknown address family")
    print("Routing tables")
    for name in [family] if family else _FAMILIES:
        print(f"\n{_FAMILIES[name]}:")
        found = _inet() if name == "inet" else _inet6()
        _print(name, sorted(found, key=lambda route: (int(route.network[0]), route.network.prefixlen)), wide=wide)


def _inet() -> list[Route]:
    """Read /proc/net/route: interface, network, gateway, flags, counts, metric, mask, as the kernel keeps them."""
    found = []
    for line in (read("/proc/net/route") or "").splitlines()[1:]:
        words = line.split()
        network, gateway, mask = (ipaddress.IPv4Address(bytes.fromhex(words[at])[::-1]) for at in (1, 2, 7))
        flags, iface = int(words[3], 16), _here(words[0])
        leads = f"{gateway}" if flags & _GATEWAY else f"link#{links.index(iface)}"
        wanted = "GS" if flags & _GATEWAY else ""
        found.append(Route(ipaddress.IPv4Network(f"{network}/{mask}"), leads, f"U{wanted}", iface))
    return found + list(_own("inet"))


def _inet6() -> list[Route]:
    """Read /proc/net/ipv6_route: network, length, source, length, gateway, metric, counts, flags, interface."""
    found = []
    for line in (read("/proc/net/ipv6_route") or "").splitlines():
        words = line.split()
        network = ipaddress.IPv6Network((bytes.fromhex(words[0]), int(words[1], 16)))
        flags, iface = int(words[8], 16), _here(words[9])
        if network.is_multicast or flags & _REJECT or not flags & _UP or network.prefixlen == network.max_prefixlen:
            continue  # those of own addresses follow from the addresses
        gateway = ipaddress.IPv6Address(bytes.fromhex(words[4]))
        zone = f"%{iface}" if gateway.is_link_local else ""
        leads = f"{gateway}{zone}" if flags & _GATEWAY else f"link#{links.index(iface)}"
        found.append(Route(network, leads, "UGS" if flags & _GATEWAY else "U", iface))
    return found + list(_own("inet6"))


def _own(family: str) -> Iterator[Route]:
    for iface, entries in links.all_addresses().items():
        for entry in entries:
            if entry.family == family and links.is_up(iface):
                flags = "UH" if iface == links.LOOPBACK else "UHS"
                index = links.index(iface)
                network = ipaddress.ip_network(entry.address)
                yield Route(network, f"link#{index}", flags, links.LOOPBACK, seen_at=iface)


def _here(name: str) -> str:
    return links.LOOPBACK if name == "lo" else name


def _destination(route: Route) -> str:
    network = route.network
    zone = f"%{route.seen_at or route.iface}" if network.version == 6 and network.is_link_local else ""
    if "H" in route.flags:
        return f"{network.network_address}{zone}"
    if not network.prefixlen:
        return "default"
    return f"{network.network_address}{zone}/{network.prefixlen}"


def _print(family: str, routes: list[Route], *, wide: bool) -> None:
    old, six = release() < (10, 0), family == "inet6"
    counted = {"Refs": 6, "Use": 8} if old and (wide or not six) else {"Use": 8} if wide else {}
    widths = {"Destination": 33 if six else 18, "Gateway": 29 if six else 18, "Flags": 6, **counted}
    widths |= {"Mtu": 6} if wide else {}
    widths |= {"Netif": (8 if old else 10) if wide else 8 if six or not old else 6}
    rows = [
        {
            **{"Destination": _destination(route), "Gateway": route.gateway, "Flags": route.flags},
            **dict.fromkeys(counted, "0"),
            **{"Mtu": links.mtu(route.iface), "Netif": route.iface},
        }
        for route in routes
    ]
    if wide:
        widths = {name: max([width, *(len(row[name]) for row in rows)]) for name, width in widths.items()}
    left = ("Destination", "Gateway", "Flags")
    for row in [{name: name for name in widths}, *rows]:
        cells = [f"{row[name]:{'<' if name in left else '>'}{width}}" for name, width in widths.items()]
        print(" ".join([*cells, *(["Expire"] if row["Flags"] == "Flags" else [])]))
