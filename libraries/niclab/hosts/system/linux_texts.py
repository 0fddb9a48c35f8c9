"""Readers of the small texts by which a Linux host says what it is: clock, boot id, release."""

from __future__ import annotations

import re
import shlex

from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import OsRelease
from niclab.hosts.reading import numbered

_CLOCK = re.compile(r"([0-9]{1,12}\.[0-9]{1,9})\s*")
_BOOT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OS_RELEASE_LINE = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)")
_MEMORY = re.compile(r"^MemAvailable: +([0-9]+) kB$", re.MULTILINE)


def read_clock_s(text: str) -> float:
    """Read ``date +%s.%N``: seconds since 1970 (BusyBox date knows no %N, which is an error, not a zero)."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise unreadable("date +%s.%N", "text", text, "seconds and nanoseconds such as 1795258980.123456789")
    return float(match[1])


def read_available_bytes(text: str) -> int:
    """Read ``/proc/meminfo``: what programs may have without swapping.

    Raises:
        ReadError: There is no line MemAvailable.
    """
    match = _MEMORY.search(text)
    if match is None:
        raise unreadable("/proc/meminfo", "text", text, "a line 'MemAvailable: N kB'")
    return int(match[1]) * 1024


def read_boot_id(text: str) -> str:
    """Read ``/proc/sys/kernel/random/boot_id``: a random UUID of this boot."""
    if not _BOOT_ID.fullmatch(text.strip()):
        raise unreadable("boot_id", "text", text, "a UUID")
    return text.strip()


def read_os_release(text: str) -> OsRelease:
    """Read ``/etc/os-release`` (os-release(5): shell-quoted assignments)."""
    found: dict[str, str] = {}
    for number, line in numbered(text):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _OS_RELEASE_LINE.fullmatch(line.strip())
        if match is None:
            raise unreadable("/etc/os-release", f"line {number}", line, "NAME=value")
        try:
            words = shlex.split(match[2])
        except ValueError as error:
            raise unreadable("/etc/os-release", f"line {number}", line, f"a quoted value ({error})") from error
        found[match[1]] = " ".join(words)
    if not found.get("ID"):
        raise unreadable("/etc/os-release", "text", text, "a line ID=name")
    like = tuple(found.get("ID_LIKE", "").split())
    return OsRelease(found["ID"], found.get("VERSION_ID") or None, found.get("PRETTY_NAME") or None, like)
