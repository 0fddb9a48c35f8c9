"""Reader of the kernel's counters of PCI Express errors, ``/sys/bus/pci/devices/*/aer_dev_*``.

Documented in Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats of Linux 4.19 and later.
"""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import numbered, whole_number
from niclab.hosts.settings.settings_records import AerCounters

CLASSES = ("correctable", "nonfatal", "fatal")

REPORTS = {1: "correctable", 2: "non-fatal", 4: "fatal"}
"""Bits of the Device Control register that let a device report (PCI Express Base Specification 6.0, 7.5.3.4)."""

_HEARD = re.compile(r"devctl=([0-9a-f]{4})\nowner=(os|)\n")
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,63}) ([0-9]{1,20})")


def read_aer(text: str) -> dict[str, int]:
    """One class of errors: count by name, the line of the total left out.

    Raises:
        ReadError: When a line is no name and count, a name is there twice, or the total is not their sum.
    """
    counts: dict[str, int] = {}
    total: int | None = None
    for number, line in numbered(text):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None or match[1] in counts or total is not None:
            raise unreadable("AER counters", f"line {number}", line, "names with counts, each once, a total last")
        count = whole_number("AER counters", f"line {number}", match[2], "a count")
        if match[1].startswith("TOTAL_ERR_"):
            total = count
        else:
            counts[match[1]] = count
    if total is None or not counts:
        raise unreadable("AER counters", "text", text, "names with counts, and a line TOTAL_ERR_...")
    return counts


def read_unheard(text: str) -> tuple[str | None, str]:
    """Return why no errors of a device are counted, and the rest of the text; no reason for no text at all.

    Args:
        text: Lines ``devctl=HEX`` and ``owner=os`` (``owner=`` where no AER driver has the root port), then counters.

    Raises:
        ReadError: When it begins with other lines.
    """
    if not text.strip():
        return None, text
    match = _HEARD.match(text)
    if match is None:
        raise unreadable("AER counters", "beginning", text[:80], "'devctl=' with four digits, 'owner=os' or 'owner='")
    silent = [name for bit, name in REPORTS.items() if not int(match[1], 16) & bit]
    if silent:
        return f"it does not report {', '.join(silent)} errors (DevCtl {match[1]})", text[match.end() :]
    if not match[2]:
        return "the kernel's AER driver has not its root port (firmware owns AER, or pci=noaer)", text[match.end() :]
    return None, text[match.end() :]


def read_aer_classes(text: str) -> AerCounters | None:
    """The three classes one after the other, each behind a line ``class=NAME``; None for no text at all.

    Raises:
        ReadError: When a class is missing, is there twice, or cannot be read.
    """
    if not text.strip():
        return None
    before, *parts = re.split(r"^class=", text, flags=re.MULTILINE)
    classes = {name: counts for name, _, counts in (part.partition("\n") for part in parts)}
    if before.strip() or list(classes) != list(CLASSES) or len(parts) != len(CLASSES):
        raise unreadable("AER counters", "classes", ", ".join(classes), f"{', '.join(CLASSES)}, each once")
    return AerCounters(*(read_aer(classes[name]) for name in CLASSES))
