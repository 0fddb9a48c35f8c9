"""The ``inet`` and ``inet6`` lines of FreeBSD's ifconfig (``in_status`` and ``in6_status`` of its source)."""

from __future__ import annotations

import ipaddress
import re

from niclab.hosts.errors import unreadable
from niclab.hosts.links.ifconfig_records import Inet6Address, InetAddress
from niclab.hosts.reading import whole_number

_INET = re.compile(
    r"inet (\S+) (?:--> \S+ )?netmask 0x([0-9a-f]{8})(?: broadcast (\S+))?(?: (?:vhid|pcp) [0-9]{1,3}){0,2}"
)
_INET6 = re.compile(
    r"inet6 ([0-9a-f:.]+)(?:%([A-Za-z0-9._-]{1,20}))? (?:--> \S+ )?prefixlen ([0-9]{1,3})((?: [a-z_]+)*)"
    r"(?: scopeid 0x[0-9a-f]{1,8})?(?: (?:pltime|vltime|vhid|pcp) \S+){0,4}"
)
_FLAGS = (
    *("anycast", "tentative", "duplicated", "detached", "deprecated"),
    *("autoconf", "temporary", "prefer_source", "no_dad"),
)
_ALL_ONES = 0xFFFFFFFF


def read_inet(kind: str, where: str, line: str) -> InetAddress:
    """``inet 10.1.1.1 netmask 0xffffff00 broadcast 10.1.1.255``."""
    match = _INET.fullmatch(line)
    if match is None or not all(_is_inet(text) for text in (match[1], match[3] or match[1])):
        raise unreadable(kind, where, line, "'inet 10.1.1.1 netmask 0xffffff00 broadcast 10.1.1.255'")
    mask = int(match[2], 16)
    length = mask.bit_count()
    if mask != (_ALL_ONES << (32 - length)) & _ALL_ONES:
        raise unreadable(kind, where, match[2], "a net mask without gaps")
    return InetAddress(match[1], length)


def read_inet6(kind: str, where: str, line: str) -> Inet6Address:
    """``inet6 fe80::1%oce0 prefixlen 64 tentative scopeid 0x1``."""
    match = _INET6.fullmatch(line)
    flags = tuple(match[4].split()) if match else ()
    if match is None or not _is_inet6(match[1]) or not set(flags) <= set(_FLAGS):
        raise unreadable(kind, where, line, "'inet6 fe80::1%oce0 prefixlen 64 scopeid 0x1'")
    length = whole_number(kind, where, match[3], "prefix length")
    if length > 128:
        raise unreadable(kind, where, line, "a prefix length up to 128")
    return Inet6Address(match[1], match[2], length, flags)


def _is_inet(address: str) -> bool:
    try:
        ipaddress.IPv4Address(address)
    except ValueError:
        return False
    return True


def _is_inet6(address: str) -> bool:
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True
