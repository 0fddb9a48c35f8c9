"""The lagg lines of FreeBSD's ifconfig (``iflagg.c``, releases 8 to 14)."""

from __future__ import annotations

import re
from dataclasses import replace

from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd.bits import Bits, read_bits
from niclab.hosts.freebsd.fields import with_fields
from niclab.hosts.freebsd.ifconfig_records import Lagg, LaggPort
from niclab.hosts.reading import whole_number

_PROTOCOL = re.compile(r"laggproto (\S+)(?: lagghash (\S+))?(?: laggdev (\S+))?")
_PROTOCOLS = ("failover", "fec", "lacp", "loadbalance", "roundrobin", "broadcast", "none", "default")
_PORT = re.compile(r"laggport: (\S+) flags=(\S*)(?: state=(\S+))?(?: (\[\(.*))?")
_PEER = re.compile(r"[0-9A-F]{1,4},([0-9A-F]{2}(?:-[0-9A-F]{2}){5}),[0-9A-F]{1,4},[0-9A-F]{1,4},[0-9A-F]{1,4}")
_PEER_LINE = re.compile(r"\[?\([0-9A-F,-]{20,60}\)(?:,|\])?(?:\s*\([0-9A-F,-]{20,60}\)\])?")
_MORE = re.compile(
    r"lag id: .*|lagg options:|lagg statistics:|flags=\S+|(?:flowid_shift|rr_limit|rr_stride): [0-9]{1,9}"
)


def read_lagg_line(kind: str, where: str, line: str, known: Lagg | None) -> Lagg | None:
    """``known`` with what this line adds; None when the line is not about a lagg."""
    if line.startswith("laggproto "):
        match = _PROTOCOL.fullmatch(line)
        if match is None or known is not None or match[1] not in _PROTOCOLS:
            raise unreadable(kind, where, line, f"'laggproto NAME' once, NAME of {', '.join(_PROTOCOLS)}")
        return Lagg(protocol=match[1], hash=tuple(match[2].split(",")) if match[2] else None, device=match[3])
    if known is None:
        return None
    if line.startswith("laggport:"):
        return replace(known, ports=(*known.ports, _port(kind, where, line)))
    for name, attribute in (("active ports: ", "active_ports"), ("flapping: ", "flapping")):
        if line.startswith(name):
            count = whole_number(kind, where, line.removeprefix(name), name.removesuffix(": "))
            return with_fields(known, {attribute: count})
    if _PEER_LINE.fullmatch(line):
        return replace(known, ports=_with_peers(known.ports, line))
    return known if _MORE.fullmatch(line) else None


def _port(kind: str, where: str, line: str) -> LaggPort:
    match = _PORT.fullmatch(line)
    if match is None:
        raise unreadable(kind, where, line, "'laggport: NAME flags=1c<ACTIVE,COLLECTING,DISTRIBUTING>'")
    port = LaggPort(match[1], read_bits(kind, where, match[2]), _state(kind, where, match[3]))
    return _with_peers((port,), match[4])[0] if match[4] else port


def _state(kind: str, where: str, text: str | None) -> Bits | None:
    """Capital digits and no names until release 11."""
    if text is None:
        return None
    digits, bracket, names = text.partition("<")
    return read_bits(kind, where, digits.lower() + bracket + names)


def _with_peers(ports: tuple[LaggPort, ...], line: str) -> tuple[LaggPort, ...]:
    """The last port with the addresses of this line: the actor first, then the partner, on one line or two."""
    if not ports:
        return ports
    port = ports[-1]
    for mac in _PEER.findall(line):
        address = mac.replace("-", ":").lower()
        port = with_fields(port, {"actor_mac" if port.actor_mac is None else "partner_mac": address})
    return (*ports[:-1], port)
