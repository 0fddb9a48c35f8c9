"""Reports of ifconfig and netstat on an interface, in the records that every operating system fills."""

from __future__ import annotations

from niclab.hosts.host_records import Address, Interface, LinkSettings, Operstate, Statistics
from niclab.hosts.links.ifconfig_records import BsdInterface

_AUTOSELECT = "autoselect"


def interface_of(shown: BsdInterface, index: int, statistics: Statistics) -> Interface:
    """Return the interface that ifconfig shows, with its number and counters."""
    carrier = shown.link is True and shown.up
    return Interface(
        name=shown.name,
        index=index,
        mac=shown.ether,
        mtu=shown.mtu,
        admin_up=shown.up,
        operstate=_state(shown),
        kind=_kind(shown),
        master=None,
        addresses=_addresses(shown),
        statistics=statistics,
        carrier=carrier,
    )


def link_of(shown: BsdInterface) -> LinkSettings:
    """Link settings; modes are named as FreeBSD names them, with the duplex where it is said: ``1000baseT/Full``."""
    media = shown.media
    modes = shown.supported_media
    named = None if modes is None else tuple(_mode(mode) for mode in modes if not mode.startswith(_AUTOSELECT))
    return LinkSettings(
        iface=shown.name,
        speed_mbps=shown.speed_mbps,
        duplex=shown.duplex,
        autoneg=media.selected.subtype == _AUTOSELECT if media is not None else None,
        link=shown.link,
        port=None,
        supported=named,
        partner=None,
    )


def _state(shown: BsdInterface) -> Operstate:
    if not shown.up:
        return Operstate.DOWN
    return {True: Operstate.UP, False: Operstate.DOWN, None: Operstate.UNKNOWN}[shown.link]


def _kind(shown: BsdInterface) -> str | None:
    if shown.lagg is not None:
        return "lagg"
    return "vlan" if shown.vlan is not None else None


def _addresses(shown: BsdInterface) -> tuple[Address, ...]:
    found = [Address("inet", one.address, one.prefix_length, "global", False) for one in shown.inet]
    for six in shown.inet6:
        scope = "link" if six.address.startswith("fe80:") else "global"
        found.append(Address("inet6", six.address, six.prefix_length, scope, "tentative" in six.flags))
    return tuple(found)


def _mode(text: str) -> str:
    """``1000baseT mediaopt full-duplex`` -> ``1000baseT/Full``."""
    name = text.split()[0]
    if "full-duplex" in text:
        return f"{name}/Full"
    return f"{name}/Half" if "half-duplex" in text else name
