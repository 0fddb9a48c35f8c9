"""Reader of FreeBSD's ``pciconf -r -h``: registers that ``pciconf -c`` does not show (``pciconf.c``, readit())."""

from __future__ import annotations

import re
from collections.abc import Sequence

from niclab.hosts.errors import unreadable
from niclab.hosts.pci.pcie_speeds import SPEEDS_GTS
from niclab.hosts.reading import filled

_KIND = "pciconf -r"
_LINE = re.compile(r"(\S+) ([0-9a-f]{4}) *")
_TARGET = 0xF
"""Bits of Link Control 2 with the number of the target link speed (PCI Express Base Specification 6.0, 7.5.3.19)."""


def selector(slot: str) -> str:
    """``pci0:4:0:0`` of ``0000:04:00.0``."""
    domain, bus, rest = slot.split(":")
    device, function = rest.split(".")
    return "pci" + ":".join(str(int(part, 16)) for part in (domain, bus, device, function))


def read_targets(text: str, places: Sequence[str]) -> list[float | None]:
    """Read the speeds that links are set to at most.

    Args:
        text: A line ``PLACE VALUE`` for each place, the value of Link Control 2 in four digits.
        places: The places that were asked for, in their order.

    Returns:
        GT/s of each; None where the register names no speed.

    Raises:
        ReadError: The lines are others.
    """
    found = list[float | None]()
    lines = [line for _, line in filled(text)]
    for number, place in enumerate(places):
        match = _LINE.fullmatch(lines[number].rstrip("\n")) if number < len(lines) else None
        if match is None or match[1] != place or len(lines) != len(places):
            raise unreadable(_KIND, place, text, "a line 'PLACE 0042' for each register that was asked for")
        code = int(match[2], 16) & _TARGET
        found.append(SPEEDS_GTS[code - 1] if 0 < code <= len(SPEEDS_GTS) else None)
    return found
