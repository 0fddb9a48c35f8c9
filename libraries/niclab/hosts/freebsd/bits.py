"""Words of bits as FreeBSD prints them: ``flags=8843<UP,BROADCAST>``, ``options=507bb<RXCSUM,TXCSUM>``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from niclab.hosts.errors import unreadable

# Hexadecimal in all releases; "options RXCSUM,LRO" without a number is printed by drivers with named capabilities.
_BITS = re.compile(r"(?:0x)?([0-9a-f]{1,16})(?:<([A-Za-z0-9_., /+-]*)>)?")
# Numbers of bits that are the same in all releases (net/if.h, netinet6/nd6.h, net/if_lagg.h, net/ieee8023ad_lacp.h).
FLAGS = {
    **{"UP": 0, "BROADCAST": 1, "DEBUG": 2, "LOOPBACK": 3, "POINTOPOINT": 4, "RUNNING": 6, "NOARP": 7, "PROMISC": 8},
    **{"ALLMULTI": 9, "OACTIVE": 10, "SIMPLEX": 11, "LINK0": 12, "LINK1": 13, "LINK2": 14, "MULTICAST": 15},
}
ND6_OPTIONS = {"PERFORMNUD": 0, "ACCEPT_RTADV": 1, "IFDISABLED": 3, "AUTO_LINKLOCAL": 5, "NO_RADR": 6}
LAGG_PORT_FLAGS = {"MASTER": 0, "STACK": 1, "ACTIVE": 2, "COLLECTING": 3, "DISTRIBUTING": 4}
LACP_STATE = {
    **{"ACTIVITY": 0, "TIMEOUT": 1, "AGGREGATION": 2, "SYNC": 3, "COLLECTING": 4, "DISTRIBUTING": 5},
    **{"DEFAULTED": 6, "EXPIRED": 7},
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./+-]*")


@dataclass(frozen=True)
class Bits:
    """``hex`` as printed, without 0x; None when the tool printed names only. ``names`` in the order printed; None
    when bits are set and no names stand behind them (lost on a web page, which takes them for markup)."""

    hex: str | None
    names: tuple[str, ...] | None

    def has(self, name: str, bit: int) -> bool:
        """Whether the bit of this number and name is set."""
        return bool(int(self.hex, 16) >> bit & 1) if self.hex is not None else name in (self.names or ())


def read_bits(kind: str, where: str, text: str, known: Mapping[str, int] | None = None) -> Bits:
    """Read ``507bb<RXCSUM,TXCSUM>``. More names than bits, and a name whose bit is not set, are errors: one of both is
    not what was printed.

    :param known: numbers of bits by name.
    """
    match = _BITS.fullmatch(text.strip())
    if match is None:
        raise unreadable(kind, where, text, "bits such as '8843<UP,BROADCAST>'")
    names = tuple(name.strip() for name in (match[2] or "").split(",") if match[2])
    if not all(_NAME.fullmatch(name) for name in names):
        raise unreadable(kind, where, text, "names of bits between commas")
    if len(names) > int(match[1], 16).bit_count():
        raise unreadable(kind, where, text, f"no more names than 0x{match[1]} has bits")
    for name, bit in (known or {}).items():
        if name in names and not int(match[1], 16) >> bit & 1:
            raise unreadable(kind, where, text, f"bit {bit} set, which is {name}, in 0x{match[1]}")
    if match[2] == "" and any(int(match[1], 16) >> bit & 1 for bit in (known or {}).values()):
        raise unreadable(kind, where, text, "the names of the bits that are set")
    return Bits(match[1], names if match[2] is not None or int(match[1], 16) == 0 else None)
