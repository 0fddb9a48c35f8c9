"""The lagg lines of FreeBSD's ifconfig (``iflagg.c``, releases 9 to 14)."""

from __future__ import annotations

import re
from dataclasses import replace

from niclab.hosts.errors import unreadable
from niclab.hosts.links.bits import LAGG_PORT_FLAGS, read_bits
from niclab.hosts.links.ifconfig_records import Lagg, LaggPort

_PROTOCOLS = ("failover", "lacp", "loadbalance", "roundrobin", "broadcast", "none")
_PROTOCOL = re.compile(rf"laggproto ({'|'.join(_PROTOCOLS)})(?: lagghash (l[234](?:,l[234]){{0,2}}))?")
_PORT = re.compile(r"laggport: (\S+) flags=(\S+)")


def with_protocol(kind: str, where: str, line: str, known: Lagg | None) -> Lagg:
    """``laggproto lacp lagghash l2,l3,l4``."""
    match = _PROTOCOL.fullmatch(line)
    if match is None or known is not None:
        raise unreadable(kind, where, line, f"'laggproto NAME' once, NAME of {', '.join(_PROTOCOLS)}")
    return Lagg(match[1], tuple(match[2].split(",")) if match[2] else None)


def with_port(kind: str, where: str, line: str, known: Lagg | None) -> Lagg:
    """``laggport: em0 flags=1c<ACTIVE,COLLECTING,DISTRIBUTING>``."""
    match = _PORT.fullmatch(line)
    if match is None or known is None or any(match[1] == other.name for other in known.ports):
        raise unreadable(kind, where, line, "'laggport: em0 flags=1c<ACTIVE,...>' below laggproto, each port once")
    flags = read_bits(kind, where, match[2], LAGG_PORT_FLAGS)
    return replace(known, ports=(*known.ports, LaggPort(match[1], flags)))
