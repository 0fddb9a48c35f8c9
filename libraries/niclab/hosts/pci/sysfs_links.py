"""Readers of sysfs' attributes of a PCI express link."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.pci.pcie_speeds import SPEEDS_GTS, link_width, speed_gts

_SYSFS = "sysfs link attribute"


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
