"""Reader of ``dmesg``: the kernel log that the ring buffer holds."""

from __future__ import annotations

import re

from niclab.hosts.reading import filled
from niclab.hosts.records import KernelLine

# printk.time, and the thread or CPU that wrote the line (CONFIG_PRINTK_CALLER).
_STAMP = re.compile(r"\[ {0,8}([0-9]{1,10}\.[0-9]{6})\](?:\[ {0,8}[TC][0-9]{1,10}\])? ?")


def read_dmesg(text: str) -> tuple[KernelLine, ...]:
    """Read every line of the kernel log, empty ones left out.

    A log may be empty, and lines without a stamp are the further lines of one message: any text is a kernel log.
    """
    return tuple(_line(line) for _, line in filled(text))


def _line(line: str) -> KernelLine:
    stamp = _STAMP.match(line)
    return KernelLine(float(stamp[1]), line[stamp.end() :]) if stamp else KernelLine(None, line)
