"""Words of bits as FreeBSD prints them: ``flags=8843<UP,BROADCAST>``, ``options=507bb<RXCSUM,TXCSUM>``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from niclab.hosts.errors import unreadable

_BITS = re.compile(r"([0-9a-f]{1,16})(?:<([A-Z0-9_]+(?:,[A-Z0-9_]+)*)?>)?")
# Numbers of bits that are the same in all releases (net/if.h, net/if_lagg.h).
FLAGS = {
    **{"UP": 0, "BROADCAST": 1, "DEBUG": 2, "LOOPBACK": 3, "POINTOPOINT": 4, "RUNNING": 6, "NOARP": 7, "PROMISC": 8},
    **{"ALLMULTI": 9, "OACTIVE": 10, "SIMPLEX": 11, "LINK0": 12, "LINK1": 13, "LINK2": 14, "MULTICAST": 15},
}
LAGG_PORT_FLAGS = {"MASTER": 0, "STACK": 1, "ACTIVE": 2, "COLLECTING": 3, "DISTRIBUTING": 4}


@dataclass(frozen=True)
class Bits:
    """``hex`` as printed.

    None when the tool printed names only (``options RXCSUM,LRO``). ``names`` in the order printed.
    """

    hex: str | None
    names: tuple[str, ...]

    def has(self, name: str, bit: int) -> bool:
        """Return True if the bit of this number and name is set."""
        return bool(int(self.hex, 16) >> bit & 1) if self.hex is not None else name in self.names


def read_bits(kind: str, where: str, text: str, known: Mapping[str, int]) -> Bits:
    """Read ``507bb<RXCSUM,TXCSUM>``; ``0`` alone has no names.

    Args:
        kind: of the text, for the error.
        where: its place, for the error.
        text: the bits.
        known: numbers of bits by name.

    Raises:
        ReadError: for another text, more names than bits, and a name whose bit is not set.
    """
    match = _BITS.fullmatch(text)
    if match is None:
        raise unreadable(kind, where, text, "bits such as '8843<UP,BROADCAST>'")
    value, names = int(match[1], 16), tuple((match[2] or "").split(",")) if match[2] else ()
    if len(names) > value.bit_count():
        raise unreadable(kind, where, text, f"no more names than 0x{match[1]} has bits")
    for name, bit in known.items():
        if name in names and not value >> bit & 1:
            raise unreadable(kind, where, text, f"bit {bit} set, which is {name}, in 0x{match[1]}")
    if not names and any(value >> bit & 1 for bit in known.values()):
        raise unreadable(kind, where, text, "the names of the bits that are set")
    return Bits(match[1], names)
