"""Reader of ``dmesg`` and ``dmesg -rS``: the kernel log that the ring buffer holds."""

from __future__ import annotations

import re

from niclab.hosts.kernel.kernel_log import KernelLine
from niclab.hosts.reading import filled

# printk.time, and the thread or CPU that wrote the line (CONFIG_PRINTK_CALLER).
_PRIORITY = re.compile(r"<([0-9]{1,3})>")
_OF_PROGRAMS = 8
"""``dmesg -r`` shows facility * 8 + level, with ``-S`` alone (util-linux 2.38 leaves the facility out otherwise); the
kernel's own facility is 0."""
_STAMP = re.compile(r"\[ {0,8}([0-9]{1,10}\.[0-9]{6})\](?:\[ {0,8}[TC][0-9]{1,10}\])? ?")


def read_dmesg(text: str) -> tuple[KernelLine, ...]:
    """Read every line of the kernel log, empty ones left out.

    A log may be empty, and lines without a stamp are the further lines of one message: any text is a kernel log.
    """
    return tuple(_line(line) for _, line in filled(text))


def _line(line: str) -> KernelLine:
    priority = _PRIORITY.match(line)
    number = int(priority[1]) if priority else None
    level = number if number is not None and number < _OF_PROGRAMS else None
    line = line[priority.end() :] if priority else line
    stamp = _STAMP.match(line)
    return KernelLine(float(stamp[1]), line[stamp.end() :], level) if stamp else KernelLine(None, line, level)
