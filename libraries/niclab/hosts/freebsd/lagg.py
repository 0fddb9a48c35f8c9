"""The lagg lines of FreeBSD's ifconfig (``iflagg.c``, releases 8 to 14)."""

from __future__ import annotations

import re
from dataclasses import replace

from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd.bits import LACP_STATE, LAGG_PORT_FLAGS, Bits, read_bits
from niclab.hosts.freebsd.fields import with_fields
from niclab.hosts.freebsd.ifconfig_records import Lagg, LaggPort
from niclab.hosts.reading import whole_number

_PROTOCOL = re.compile(r"laggproto (\S+)(?: lagghash (\S+))?(?: laggdev (\S+))?")
_MEMBER = re.compile(r"lagg: laggdev (\S+)")  # of a physical member, releases 7 and 8
_PROTOCOLS = ("failover", "fec", "lacp", "loadbalance", "roundrobin", "broadcast", "none", "default")
_PORT = re.compile(r"laggport: (\S+) flags=(\S*)(?: state=(\S+))?(?: (\[\(.*))?")
# Priority, MAC address, key, priority and number of the port. The actor opens the bracket, the partner closes it.
_PEER = r"\([0-9A-F]{1,4},([0-9A-F]{2}(?:-[0-9A-F]{2}){5}),[0-9A-F]{1,4},[0-9A-F]{1,4},[0-9A-F]{1,4}\)"
_ACTOR, _PARTNER = rf"\[{_PEER},", rf"{_PEER}\]"
_PEERS = re.compile(rf"(?:{_ACTOR})?\s*(?:{_PARTNER})?")
_LAG_ID = re.compile(rf"lag id: {_ACTOR}(?:\s*{_PARTNER})?")
_EXAMPLE = "(8000,00-00-C9-E6-67-A8,014B,8000,0002)"
_MORE = re.compile(r"lagg options:|lagg statistics:|flags=\S+|(?:flowid_shift|rr_limit|rr_stride): [0-9]{1,9}")


def read_lagg_line(kind: str, where: str, line: str, known: Lagg | None) -> Lagg | None:
    """``known`` with what this line adds; None when the line is not about a lagg."""
    if line.startswith("laggproto "):
        match = _PROTOCOL.fullmatch(line)
        if match is None or known is not None or match[1] not in _PROTOCOLS:
            raise unreadable(kind, where, line, f"'laggproto NAME' once, NAME of {', '.join(_PROTOCOLS)}")
        return Lagg(protocol=match[1], hash=tuple(match[2].split(",")) if match[2] else None, device=match[3])
    member = _MEMBER.fullmatch(line)
    if member is not None and known is None:
        return Lagg(protocol=None, device=member[1])
    if known is None:
        return None
    if line.startswith("laggport:"):
        port = _port(kind, where, line)
        if any(port.name == other.name for other in known.ports):
            raise unreadable(kind, where, line, f"{port.name} once")
        return replace(known, ports=(*known.ports, port))
    for name, attribute in (("active ports: ", "active_ports"), ("flapping: ", "flapping")):
        if line.startswith(name):
            count = whole_number(kind, where, line.removeprefix(name), name.removesuffix(": "))
            return with_fields(known, {attribute: count})
    if line.startswith(("[(", "(")):
        return replace(known, ports=_with_peers(kind, where, known.ports, line))
    if line.startswith("lag id: ") and not _LAG_ID.fullmatch(line):
        raise unreadable(kind, where, line, f"'lag id: [{_EXAMPLE},'")
    return known if line.startswith("lag id: ") or _MORE.fullmatch(line) else None


def _port(kind: str, where: str, line: str) -> LaggPort:
    match = _PORT.fullmatch(line)
    if match is None:
        raise unreadable(kind, where, line, "'laggport: NAME flags=1c<ACTIVE,COLLECTING,DISTRIBUTING>'")
    flags = read_bits(kind, where, match[2], LAGG_PORT_FLAGS)
    port = LaggPort(match[1], flags, _state(kind, where, match[3]))
    return _with_peers(kind, where, (port,), match[4])[0] if match[4] else port


def _state(kind: str, where: str, text: str | None) -> Bits | None:
    """Capital digits and no names until release 11."""
    if text is None:
        return None
    digits, bracket, names = text.partition("<")
    return read_bits(kind, where, digits.lower() + bracket + names, LACP_STATE)


def _with_peers(kind: str, where: str, ports: tuple[LaggPort, ...], line: str) -> tuple[LaggPort, ...]:
    """The last port with the addresses of this line: the actor first, then the partner, on one line or two. Those of
    the whole lagg, behind ``lag id:``, belong to no port."""
    found = _PEERS.fullmatch(line)
    if found is None:
        raise unreadable(kind, where, line, f"the actor '[{_EXAMPLE},', the partner '{_EXAMPLE}]', or both")
    if not ports:
        return ports
    port = ports[-1]
    for attribute, mac in (("actor_mac", found[1]), ("partner_mac", found[2])):
        if mac is not None and getattr(port, attribute) is not None:
            raise unreadable(kind, where, line, f"one actor and one partner of {port.name}")
        if mac is not None:
            port = with_fields(port, {attribute: mac.replace("-", ":").lower()})
    return (*ports[:-1], port)
