"""PCI express links as numbers: speeds, widths, whether a link is degraded; and the link attributes of sysfs."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.records import PciDevice

_SYSFS = "sysfs link attribute"

# PCIe link speeds in GT/s and link widths in lanes: PCI Express Base Specification 6.0, sections 7.5.3.6 and 7.5.3.8.
SPEEDS_GTS = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0)
WIDTHS = (1, 2, 4, 8, 12, 16, 32)
# No link trained (0), all ones in the 6-bit field (63), and all ones as the kernel prints them (255).
_UNKNOWN_WIDTHS = (0, 63, 255)


def read_sysfs_speed_gts(text: str) -> float | None:
    """Read ``current_link_speed`` or ``max_link_speed``: ``8.0 GT/s PCIe``, ``5 GT/s``; None when unknown or empty."""
    value = text.strip()
    if value in ("", "Unknown", "Unknown speed"):
        return None
    match = re.fullmatch(r"([0-9.]{1,4}) GT/s(?: PCIe)?", value)
    speed = speed_gts(match[1]) if match else None
    if speed is None:
        raise unreadable(_SYSFS, "speed", value, f"one of {SPEEDS_GTS} GT/s, or Unknown")
    return speed


def read_sysfs_width(text: str) -> int | None:
    """Read ``current_link_width`` or ``max_link_width``; None when 0, 63, 255 (no link, all ones) or empty."""
    value = text.strip()
    if not value:
        return None
    if not re.fullmatch(r"[0-9]{1,3}", value):
        raise unreadable(_SYSFS, "width", value, "a number of lanes")
    return link_width(_SYSFS, "width", value)


def is_degraded(device: PciDevice) -> bool | None:
    """Whether the link runs slower or narrower than the device can.

    True as soon as speed or width shows it; False only when both are known and full; None when they cannot tell. The
    speed of a link without lanes (an empty slot: x0) says nothing.
    """
    if device.lnksta_width is None:
        return None
    pairs = ((device.lnksta_gts, device.lnkcap_gts), (device.lnksta_width, device.lnkcap_width))
    if any(now is not None and can is not None and now < can for now, can in pairs):
        return True
    return None if any(now is None or can is None for now, can in pairs) else False


def with_domain(slot: str) -> str:
    """``01:00.0`` -> ``0000:01:00.0``: lspci leaves domain 0 out when there is no other."""
    return slot if slot.count(":") == 2 else f"0000:{slot}"


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
