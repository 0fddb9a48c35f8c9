"""PCI express links as numbers: speeds, widths, and whether a link is degraded."""

from __future__ import annotations

from niclab.hosts.errors import unreadable

# PCIe link speeds in GT/s and link widths in lanes: PCI Express Base Specification 6.0, sections 7.5.3.6 and 7.5.3.8.
SPEEDS_GTS = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0)
WIDTHS = (1, 2, 4, 8, 12, 16, 32)
# No link trained (0), all ones in the 6-bit field (63), and all ones as the kernel prints them (255).
_UNKNOWN_WIDTHS = (0, 63, 255)


def speed_gts(text: str) -> float | None:
    """One of SPEEDS_GTS from ``8``, ``8.0`` or ``2.5``; None for anything else."""
    return next((speed for speed in SPEEDS_GTS if text in (f"{speed:g}", f"{speed:.1f}")), None)


def link_width(kind: str, where: str, text: str) -> int | None:
    """One of WIDTHS from its digits; None when they say that there is no link."""
    width = int(text)
    if width in _UNKNOWN_WIDTHS:
        return None
    if width not in WIDTHS:
        raise unreadable(kind, where, text, f"a width of {WIDTHS} lanes")
    return width
