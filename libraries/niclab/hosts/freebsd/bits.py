"""Words of bits as FreeBSD prints them: ``flags=8843<UP,BROADCAST>``, ``options=507bb<RXCSUM,TXCSUM>``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.hosts.errors import unreadable

# Hexadecimal in all releases; "options RXCSUM,LRO" without a number is printed by drivers with named capabilities.
_BITS = re.compile(r"(?:0x)?([0-9a-f]{1,16})(?:<([A-Za-z0-9_., /+-]*)>)?")
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


def read_bits(kind: str, where: str, text: str) -> Bits:
    """Read ``507bb<RXCSUM,TXCSUM>``. More names than bits are an error: one of both is not what was printed."""
    match = _BITS.fullmatch(text.strip())
    if match is None:
        raise unreadable(kind, where, text, "bits such as '8843<UP,BROADCAST>'")
    names = tuple(name.strip() for name in (match[2] or "").split(",") if match[2])
    if not all(_NAME.fullmatch(name) for name in names):
        raise unreadable(kind, where, text, "names of bits between commas")
    if len(names) > int(match[1], 16).bit_count():
        raise unreadable(kind, where, text, f"no more names than 0x{match[1]} has bits")
    return Bits(match[1], names if match[2] is not None or int(match[1], 16) == 0 else None)
