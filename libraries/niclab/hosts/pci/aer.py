"""Reader of the kernel's counters of PCI Express errors, ``/sys/bus/pci/devices/*/aer_dev_*``.

Documented in Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats of Linux 4.19 and later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import numbered, whole_number
from niclab.hosts.settings.settings_records import AerCounters

CLASSES = ("correctable", "nonfatal", "fatal")

REPORTS = {1: "correctable", 2: "non-fatal", 4: "fatal"}
"""Bits of the Device Control register that let a device report (PCI Express Base Specification 6.0, 7.5.3.4)."""

UNCORRECTABLE = {4: "DLP", 13: "FCP", 17: "RxOF", 18: "MalfTLP"}
"""Bits of the Uncorrectable Error Mask register of errors of a link alone, by the kernel's names (ibid., 7.8.4.3)."""
CORRECTABLE = {0: "RxErr", 6: "BadTLP", 7: "BadDLLP", 8: "Rollover", 12: "Timeout"}
"""The same of the Correctable Error Mask register (ibid., 7.8.4.6). A device does not report an error that it masks."""

_HEARD = re.compile(r"devctl=([0-9a-f]{4}) ([0-9a-f]{8}) ([0-9a-f]{8})\nowner=(os|)\n")
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


@dataclass(frozen=True)
class AerReach:
    """Errors of a device that do not reach its counters.

    Attributes:
        reason: Why it counts no errors of it; None where it does.
        masked: Errors of a link that the device masks.
        rest: The text behind.
    """

    reason: str | None
    masked: tuple[str, ...]
    rest: str


def read_reach(text: str) -> AerReach:
    """Read which errors of a device reach its counters; no text at all is no reason.

    Args:
        text: Lines ``devctl=HEX HEX HEX`` (Device Control, masks of uncorrectable and correctable errors) and
            ``owner=os`` (``owner=`` where no AER driver has the root port), then counters.

    Raises:
        ReadError: When it begins with other lines.
    """
    if not text.strip():
        return AerReach(None, (), text)
    match = _HEARD.match(text)
    if match is None:
        wanted = "'devctl=' with four, eight and eight digits, 'owner=os' or 'owner='"
        raise unreadable("AER counters", "beginning", text[:80], wanted)
    reason = None
    silent = [name for bit, name in REPORTS.items() if not int(match[1], 16) & bit]
    if silent:
        reason = f"it does not report {', '.join(silent)} errors (DevCtl {match[1]})"
    elif not match[4]:
        reason = "the kernel's AER driver has not its root port (firmware owns AER, or pci=noaer)"
    masks = (UNCORRECTABLE, int(match[2], 16)), (CORRECTABLE, int(match[3], 16))
    masked = tuple(name for names, mask in masks for bit, name in names.items() if mask >> bit & 1)
    return AerReach(reason, masked, text[match.end() :])


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
    correctable, nonfatal, fatal = (read_aer(classes[name]) for name in CLASSES)
    return AerCounters(correctable, nonfatal, fatal)
