"""The ``inet`` and ``inet6`` lines of FreeBSD's ifconfig (``in_status`` and ``in6_status`` of its source)."""

from __future__ import annotations

import ipaddress
import re

from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd.ifconfig_records import Inet6Address, InetAddress
from niclab.hosts.reading import whole_number

# Digits that somebody blotted out ("x", "*") before publishing are kept as they are.
_INET4 = re.compile(r"(?:[0-9]{1,3}|[xX*]{1,3})(?:\.(?:[0-9]{1,3}|[xX*]{1,3})){3}")
_INET6 = re.compile(r"([0-9a-fA-FxX*:.]{2,45})(?:%([A-Za-z0-9._:-]{1,20}))?")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F:.]+")
_FLAGS = (
    *("anycast", "tentative", "duplicated", "detached", "deprecated"),
    *("autoconf", "temporary", "prefer_source", "no_dad", "permanent", "secondary"),
)
_ABBREVIATED_MASK = re.compile(r"0x[0-9a-f]{8}")


def read_inet(kind: str, where: str, line: str) -> InetAddress:
    """``inet 10.1.1.1 netmask 0xffffff00 broadcast 10.1.1.255``; the mask may be hexadecimal, dotted or ``/24``."""
    words = line.split()[1:]
    address, _, prefix = words[0].partition("/") if words else ("", "", "")
    values = _pairs(kind, where, line, words[1:], ("-->", "netmask", "broadcast", "vhid", "pcp"))
    mask = values.get("netmask")
    if mask is None and not prefix:
        raise unreadable(kind, where, line, "'netmask 0xffffff00' or '/24' behind the address")
    for text in (address, values.get("-->"), values.get("broadcast")):
        if text is not None:
            _check_inet4(kind, where, line, text)
    length = _length(kind, where, prefix, 32) if prefix else _mask_length(kind, where, mask or "")
    broadcast = values.get("broadcast")
    whole = _broadcast(address, length)
    if broadcast is not None and whole is not None and broadcast != whole and whole.startswith(broadcast):
        raise unreadable(kind, where, broadcast, f"{whole}, the broadcast address of {address}/{length}; it was cut")
    return InetAddress(
        address=address,
        prefix_length=length,
        broadcast=broadcast,
        destination=values.get("-->"),
        vhid=_number(kind, where, values, "vhid"),
    )


def read_inet6(kind: str, where: str, line: str) -> Inet6Address:
    """``inet6 fe80::1%oce0 prefixlen 64 scopeid 0x1 tentative``."""
    words = line.split()[1:]
    address, _, prefix = words[0].partition("/") if words else ("", "", "")
    match = _INET6.fullmatch(address)
    if match is None or ":" not in match[1] or not _is_inet6(match[1]):
        raise unreadable(kind, where, line, "'inet6 ADDRESS prefixlen N'")
    flags = tuple(word for word in words[1:] if word in _FLAGS)
    rest = [word for word in words[1:] if word not in _FLAGS]
    known = ("-->", "prefixlen", "scopeid", "pltime", "vltime", "vhid", "pcp")
    values = _pairs(kind, where, line, rest, known)
    scope = values.get("scopeid")
    if scope is not None and not re.fullmatch(r"0x[0-9a-f]{1,8}", scope):
        raise unreadable(kind, where, scope, "a scope id such as 0x2")
    prefix = values.get("prefixlen", prefix)
    if not prefix:
        raise unreadable(kind, where, line, "'prefixlen 64' or '/64' behind the address")
    return Inet6Address(
        address=match[1],
        zone=match[2],
        prefix_length=_length(kind, where, prefix, 128),
        scope_id=int(scope, 16) if scope else None,
        destination=values.get("-->"),
        flags=flags,
        vhid=_number(kind, where, values, "vhid"),
    )


def _is_inet6(address: str) -> bool:
    if not _HEXADECIMAL.fullmatch(address):
        return True  # blotted out
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True


def _length(kind: str, where: str, text: str, most: int) -> int:
    length = whole_number(kind, where, text, "prefix length")
    if length > most:
        raise unreadable(kind, where, text, f"a prefix length up to {most}")
    return length


def _broadcast(address: str, length: int) -> str | None:
    """The last address of the network; None of an address with digits blotted out."""
    try:
        return str(ipaddress.IPv4Interface(f"{address}/{length}").network.broadcast_address)
    except ValueError:
        return None


def _pairs(kind: str, where: str, line: str, words: list[str], known: tuple[str, ...]) -> dict[str, str]:
    if len(words) % 2:
        raise unreadable(kind, where, line, f"pairs of {', '.join(known)} and a value")
    values = dict(zip(words[::2], words[1::2], strict=True))
    unknown = [name for name in values if name not in known]
    if unknown or len(values) * 2 != len(words):
        raise unreadable(kind, where, line, f"each of {', '.join(known)} at most once, and nothing else")
    return values


def _number(kind: str, where: str, values: dict[str, str], name: str) -> int | None:
    return whole_number(kind, where, values[name], name) if name in values else None


def _check_inet4(kind: str, where: str, line: str, text: str) -> None:
    if not _INET4.fullmatch(text) or any(part.isdigit() and int(part) > 255 for part in text.split(".")):
        raise unreadable(kind, where, line, "an IPv4 address such as 10.1.1.1")


def _mask_length(kind: str, where: str, mask: str) -> int:
    if _ABBREVIATED_MASK.fullmatch(mask):
        bits = int(mask, 16)
    else:
        _check_inet4(kind, where, mask, mask)
        if not mask.replace(".", "").isdigit():
            raise unreadable(kind, where, mask, "a net mask such as 0xffffff00")
        bits = int.from_bytes(bytes(int(part) for part in mask.split(".")), "big")
    length = bits.bit_count()
    if bits != (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF:
        raise unreadable(kind, where, mask, "a net mask without gaps")
    return length
