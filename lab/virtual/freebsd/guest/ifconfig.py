"""ifconfig: shows interfaces; :mod:`ifset` changes them."""

from __future__ import annotations

import features
import links
from below import Refusal, fact_of, remembered
from links import InternetAddress

_FLAGS = {
    0x1: "UP",
    0x2: "BROADCAST",
    0x8: "LOOPBACK",
    0x40: "RUNNING",
    0x100: "PROMISC",
    0x200: "ALLMULTI",
    0x800: "SIMPLEX",
    0x8000: "MULTICAST",
}
_PROMISC_BELOW, _ALLMULTI_BELOW = 0x100, 0x200


def ifconfig(arguments: list[str]) -> int:
    letters = []
    while arguments and arguments[0].startswith("-") and len(arguments[0]) > 1:
        letters += list(arguments[0][1:])
        arguments = arguments[1:]
    if any(letter not in "aCdklLmnuv" for letter in letters):
        raise Refusal("usage: ifconfig [-f type:format] interface address_family [address [dest_address]]\n")
    if "l" in letters:
        print(" ".join(_chosen(letters)))
        return 0
    if "C" in letters:
        print("lagg lo vlan")
        return 0
    if not arguments or "a" in letters:
        for iface in _chosen(letters):
            show(iface, media="m" in letters)
        return 0
    import ifset

    iface, *words = arguments
    if words and words[0] == "create":
        return ifset.create(iface, words[1:])
    if not links.exists(iface):
        if (said := ifset.created_by_name(iface, words)) is not None:
            return said
        raise Refusal(f"ifconfig: interface {iface} does not exist")
    if words:
        return ifset.change(iface, words)
    show(iface, media="m" in letters)
    return 0


def _chosen(letters: list[str]) -> list[str]:
    found = links.names()
    if "u" in letters:
        return [name for name in found if links.is_up(name)]
    return [name for name in found if not links.is_up(name)] if "d" in letters else found


def show(iface: str, *, media: bool) -> None:
    """Print an interface; ``media``: with its capabilities and the media it takes."""
    print(f"{iface}: flags={_flags(iface)} metric 0 mtu {links.mtu(iface)}")
    able, on = _options(iface)
    if on:
        print(f"\toptions={features.named(on)}")
    if able and media:
        print(f"\tcapabilities={features.named(able)}")
    if iface != links.LOOPBACK:
        print(f"\tether {links.value(iface, 'address')}")
    found = links.addresses(iface)
    for entry in found:
        print(f"\t{_address(entry, iface)}")
    has_six = any(entry.family == "inet6" for entry in found)
    print(
        "\tnd6 options=" + ("21<PERFORMNUD,AUTO_LINKLOCAL>" if has_six else "29<PERFORMNUD,IFDISABLED,AUTO_LINKLOCAL>")
    )
    if iface != links.LOOPBACK:
        _show_link(iface, media=media)


def _show_link(iface: str, *, media: bool) -> None:
    active = links.is_up(iface) and links.has_carrier(iface)
    print(f"\tmedia: {_media(iface, active)}")
    print(f"\tstatus: {'active' if active else 'no carrier'}")
    if links.is_vlan(iface):
        print(f"\tvlan: {links.vlan_id(iface)} parent interface: {links.parent(iface)}")
    if links.is_lagg(iface):
        _show_lagg(iface)
    if media:
        print("\tsupported media:\n\t\tmedia autoselect")


def _show_lagg(iface: str) -> None:
    protocol = links.lagg_protocol(iface)
    layers = remembered("lagghash").get(iface, links.ALL_LAYERS)
    print(f"\tlaggproto {protocol} lagghash {layers}")
    active = links.value(iface, "bonding/active_slave")
    for number, member in enumerate(links.members(iface)):
        names = ["MASTER"] if protocol == "failover" and number == 0 else []
        if protocol != "failover":
            names += ["ACTIVE"] if links.has_carrier(member) else []
        elif member == active:
            names.append("ACTIVE")
        value = ("MASTER" in names) + 4 * ("ACTIVE" in names)
        if protocol == "lacp" and "ACTIVE" in names:
            value, names = 0x1C, ["ACTIVE", "COLLECTING", "DISTRIBUTING"]
        print(f"\tlaggport: {member} flags={value:x}<{','.join(names)}>")


def _flags(iface: str) -> str:
    below = int(links.value(iface, "flags") or "0", 16)
    bits = 0x8000
    bits |= 0x8 if iface == links.LOOPBACK else 0x2
    bits |= below & (_PROMISC_BELOW | _ALLMULTI_BELOW)
    fact = fact_of(iface)
    if links.is_up(iface):
        bits |= 0x41
    if iface != links.LOOPBACK and (links.is_up(iface) or fact is None or fact["simplex_when_down"]):
        bits |= 0x800
    return f"{bits:x}<{','.join(name for bit, name in _FLAGS.items() if bits & bit)}>"


def _options(iface: str) -> tuple[int, int]:
    """Return the options of an interface: of a lagg the ones all ports have, of a VLAN its parent's behind a tag."""
    if links.is_lagg(iface):
        pairs = [features.options(member) for member in links.members(iface)] or [(0, 0)]
        able, on = pairs[0]
        for other_able, other_on in pairs[1:]:
            able, on = able & other_able, on & other_on
        return able, on
    if links.is_vlan(iface):
        able, on = _options(links.parent(iface))
        mask = 0x3 * (on >> 7 & 1) | 0x100 * (on >> 18 & 1)
        return able & mask, on & mask
    return features.options(iface)


def _address(entry: InternetAddress, iface: str) -> str:
    if entry.family == "inet":
        mask = (0xFFFFFFFF << (32 - entry.length)) & 0xFFFFFFFF
        broadcast = f" broadcast {entry.broadcast or _broadcast(entry.address, mask)}" if entry.length < 31 else ""
        return f"inet {entry.address} netmask 0x{mask:08x}{broadcast if iface != links.LOOPBACK else ''}"
    zone = f"%{iface}" if entry.scope == "link" else ""
    flags = "".join(f" {flag}" for flag in ("tentative", "deprecated") if flag in entry.flags)
    scope = f" scopeid 0x{links.index(iface):x}" if entry.scope == "link" else ""
    return f"inet6 {entry.address}{zone} prefixlen {entry.length}{flags}{scope} "


def _broadcast(address: str, mask: int) -> str:
    parts = [int(part) for part in address.split(".")]
    value = int.from_bytes(bytes(parts), "big") | (~mask & 0xFFFFFFFF)
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


_MEDIA = {
    100: "100baseTX",
    1000: "1000baseT",
    10000: "10Gbase-T",
    40000: "40Gbase-SR4",
}


def _media(iface: str, active: bool) -> str:
    if links.is_lagg(iface):
        return "Ethernet autoselect"
    port = links.parent(iface) if links.is_vlan(iface) else iface
    if links.is_lagg(port):
        return "Ethernet autoselect"
    speed, duplex = links.value(port, "speed"), links.value(port, "duplex")
    fact = fact_of(port)
    word = _MEDIA.get(int(speed)) if speed.isdecimal() else None
    if fact is not None and fact["media"] and speed == str(fact["speed_mbps"]):
        word = str(fact["media"])
    if not active or word is None:
        return "Ethernet autoselect"
    return f"Ethernet autoselect ({word} <{duplex}-duplex>)"
