"""Reader of FreeBSD's ``ifconfig IFACE`` and ``ifconfig -m IFACE``, releases 9 to 14."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from niclab.hosts.bonds.lagg import with_port, with_protocol
from niclab.hosts.errors import unreadable
from niclab.hosts.links.addresses import read_inet, read_inet6
from niclab.hosts.links.bits import FLAGS, Bits, read_bits
from niclab.hosts.links.fields import with_fields
from niclab.hosts.links.ifconfig_records import BsdInterface, BsdInterfaces, BsdVlan
from niclab.hosts.links.media import check_supported, read_media
from niclab.hosts.reading import filled, whole_number
from niclab.hosts.settings import features

T = TypeVar("T")

_KIND = "ifconfig"
_EXAMPLE = "an interface such as 'oce0: flags=8843<UP,...> metric 0 mtu 1500'"
_HEADER = re.compile(
    r"([A-Za-z0-9_.-]{1,15}): flags=([0-9a-f]{1,16}<[A-Z0-9_,]*>) metric [0-9]{1,10} mtu ([0-9]{1,10})"
)
_CAPABILITIES = {capability.label: capability.bit for capability in features.CAPABILITIES}
_NAMES_ALONE = re.compile(r"[A-Z0-9_]+(?:,[A-Z0-9_]+)*")
_ETHER = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}")
_VLAN = re.compile(
    r"([0-9]{1,4})(?: vlanproto: (802\.1q|802\.1ad))?(?: vlanpcp: [0-7])? parent interface: ([A-Za-z0-9_.-]{1,15})"
)
# A driver that knows why there is no carrier says it behind: "no carrier (No issue was observed)".
_STATUS = re.compile(r"(active|no carrier)(?:(?<=carrier) \(.+\))?")
# Lines that nothing here asks for.
_OTHER = re.compile(r"(?:description:|hwaddr|groups:|nd6 options=|fib:|pcp|lagg: laggdev|drivername:) ?\S.*")
_SMALLEST_MTU = 68  # what every IPv4 packet needs (RFC 791); 0 of what carries no packets (usbus)
_MOST_VLAN = 4095


def read_ifconfig(text: str) -> BsdInterfaces:
    """Read one interface, or several one behind the other.

    Raises:
        ReadError: for any line that ifconfig does not print of a card, a lagg or a VLAN.
    """
    interfaces: list[BsdInterface] = []
    for number, line in filled(text):
        where = f"line {number}"
        if not line[:1].isspace():
            interfaces.append(_header(where, line))
            if interfaces[-1].name in [one.name for one in interfaces[:-1]]:
                raise unreadable(_KIND, where, line, f"{interfaces[-1].name} once")
        elif interfaces:
            interfaces[-1] = _with_line(interfaces[-1], where, line.strip())
        else:
            raise unreadable(_KIND, where, line, _EXAMPLE)
    if not interfaces:
        raise unreadable(_KIND, "text", text, _EXAMPLE)
    return BsdInterfaces(tuple(interfaces))


def _header(where: str, line: str) -> BsdInterface:
    match = _HEADER.fullmatch(line.rstrip())
    if match is None:
        raise unreadable(_KIND, where, line, _EXAMPLE)
    mtu = whole_number(_KIND, where, match[3], "mtu")
    if 0 < mtu < _SMALLEST_MTU:
        raise unreadable(_KIND, where, match[3], f"an mtu of at least {_SMALLEST_MTU}")
    return BsdInterface(match[1], read_bits(_KIND, where, match[2], FLAGS), mtu)


def _with_line(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    for begin, reader in _READERS.items():
        if line.startswith(begin):
            return reader(interface, where, line)
    if not _OTHER.fullmatch(line):
        raise unreadable(_KIND, where, line, f"a line that begins with one of {', '.join(map(str.strip, _READERS))}")
    return interface


def _once(interface: BsdInterface, attribute: str, where: str, line: str) -> None:
    if getattr(interface, attribute) is not None:
        raise unreadable(_KIND, where, line, f"{attribute} once per interface")


def _bits(attribute: str, known: Mapping[str, int]) -> Callable[[BsdInterface, str, str], BsdInterface]:
    """``options=507bb<RXCSUM,TXCSUM>``; drivers with named capabilities (release 14) have no number."""

    def read(interface: BsdInterface, where: str, line: str) -> BsdInterface:
        _once(interface, attribute, where, line)
        sign, value = line[len(attribute) :][:1], line[len(attribute) + 1 :]
        if sign == "=":
            bits = read_bits(_KIND, where, value, known)
        elif sign == " " and _NAMES_ALONE.fullmatch(value):
            bits = Bits(None, tuple(value.split(",")))
        else:
            raise unreadable(_KIND, where, line, f"'{attribute}=507bb<RXCSUM,TXCSUM>'")
        return with_fields(interface, {attribute: bits})

    return read


def _ether(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    _once(interface, "ether", where, line)
    address = line.removeprefix("ether ")
    if not _ETHER.fullmatch(address):
        raise unreadable(_KIND, where, line, "'ether 00:00:c9:e6:67:a8'")
    return replace(interface, ether=address)


def _inet(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    return replace(interface, inet=_added(interface.inet, read_inet(_KIND, where, line), where, line))


def _inet6(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    return replace(interface, inet6=_added(interface.inet6, read_inet6(_KIND, where, line), where, line))


def _added(known: tuple[T, ...], found: T, where: str, line: str) -> tuple[T, ...]:
    if found in known:
        raise unreadable(_KIND, where, line, "each address once")
    return (*known, found)


def _media(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    _once(interface, "media", where, line)
    return replace(interface, media=read_media(_KIND, where, line.removeprefix("media: ")))


def _supported_media(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    _once(interface, "supported_media", where, line)
    return replace(interface, supported_media=())


def _supported(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    if interface.supported_media is None:
        raise unreadable(_KIND, where, line, "'media: ...', or 'media NAME' below 'supported media:'")
    medium = line.removeprefix("media ")
    check_supported(_KIND, where, medium)
    return replace(interface, supported_media=(*interface.supported_media, medium))


def _status(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    _once(interface, "status", where, line)
    match = _STATUS.fullmatch(line.removeprefix("status: "))
    if match is None:
        raise unreadable(_KIND, where, line, "a status of active, no carrier")
    return replace(interface, status=match[1])


def _vlan(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    _once(interface, "vlan", where, line)
    match = _VLAN.fullmatch(line.removeprefix("vlan: "))
    if match is None or int(match[1]) > _MOST_VLAN:
        raise unreadable(_KIND, where, line, f"'vlan: 100 parent interface: oce0', up to {_MOST_VLAN}")
    return replace(interface, vlan=BsdVlan(int(match[1]), match[2], match[3]))


def _lagg(interface: BsdInterface, where: str, line: str) -> BsdInterface:
    read = with_port if line.startswith("laggport") else with_protocol
    return replace(interface, lagg=read(_KIND, where, line, interface.lagg))


# By how the line begins.
_READERS: dict[str, Callable[[BsdInterface, str, str], BsdInterface]] = {
    "options": _bits("options", _CAPABILITIES),
    "capabilities": _bits("capabilities", _CAPABILITIES),
    "ether ": _ether,
    "inet ": _inet,
    "inet6 ": _inet6,
    "media: ": _media,
    "media ": _supported,
    "supported media:": _supported_media,
    "status: ": _status,
    "vlan: ": _vlan,
    "laggproto ": _lagg,
    "laggport: ": _lagg,
}
