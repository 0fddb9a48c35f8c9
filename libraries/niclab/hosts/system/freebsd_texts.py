"""Readers of the small texts by which a FreeBSD host says what it is: clock, boot id, release."""

from __future__ import annotations

import re

from niclab.hosts.counts.load_records import CpuTime, CpuTimes
from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import OsRelease

_BOOT_ID = re.compile(r"[0-9a-f]{32}")
_RELEASE = re.compile(r"([A-Za-z]+) (([0-9]{1,2}\.[0-9]{1,2})-[A-Z][A-Za-z0-9.-]*)")
_CPU_STATES = 5
_SECONDS = re.compile(r"[0-9]{1,12}")


def read_cpu_times(text: str) -> CpuTimes:
    """Read ``sysctl -n kern.cp_times``: of each CPU user, nice, system, interrupt and idle (sys/resource.h, CPUSTATES).

    Interrupt threads are counted as interrupt: what softirq is on Linux.
    """
    words = text.split()
    if not words or len(words) % _CPU_STATES or not all(re.fullmatch(r"[0-9]{1,19}", word) for word in words):
        raise unreadable("kern.cp_times", "text", text, f"{_CPU_STATES} whole numbers of each CPU")
    rows = [[int(word) for word in words[start : start + _CPU_STATES]] for start in range(0, len(words), _CPU_STATES)]
    return CpuTimes(
        {
            number: CpuTime(
                user=user, nice=nice, system=system, idle=idle, iowait=None, irq=0, softirq=interrupt, steal=None
            )
            for number, (user, nice, system, interrupt, idle) in enumerate(rows)
        }
    )


def read_clock_s(text: str) -> float:
    """Read ``date +%s``. FreeBSD's date knows no parts of a second before release 14."""
    if not _SECONDS.fullmatch(text.strip()):
        raise unreadable("date +%s", "text", text, "seconds since 1970")
    return float(text.strip())


def read_boot_id(text: str) -> str:
    """Read the name that this boot was given: 32 hexadecimal digits."""
    if not _BOOT_ID.fullmatch(text.strip()):
        raise unreadable("boot id", "text", text, "32 hexadecimal digits")
    return text.strip()


def read_release(text: str) -> OsRelease:
    """Read ``uname -sr``: ``FreeBSD 13.2-RELEASE-p4``. All releases have it; /etc/os-release came with 13."""
    match = _RELEASE.fullmatch(text.strip())
    if match is None or match[1] != "FreeBSD":
        raise unreadable("uname -sr", "text", text, "'FreeBSD 13.2-RELEASE'")
    return OsRelease("freebsd", match[3], text.strip())
