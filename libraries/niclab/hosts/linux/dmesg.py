"""Reader of ``dmesg``: the kernel log that the ring buffer holds."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.kernel_records import KernelEventKind, KernelLog
from niclab.hosts.linux.kernel_drivers import driver_event
from niclab.hosts.linux.kernel_events import kernel_event
from niclab.hosts.reading import filled
from niclab.hosts.records import KernelLine

_KIND = "dmesg"
# printk.time, and the thread or CPU that wrote the line (CONFIG_PRINTK_CALLER).
_STAMP = re.compile(r"\[ {0,8}([0-9]{1,10}\.[0-9]{6})\](?:\[ {0,8}[TC][0-9]{1,10}\])? ?")


def read_dmesg(text: str) -> tuple[KernelLine, ...]:
    """Read every line of the kernel log, empty ones left out.

    A log may be empty, and lines without a stamp are the further lines of one message: any text is a kernel log.
    """
    return tuple(_line(line) for _, line in filled(text))


def read_kernel_log(text: str) -> KernelLog:
    """Read the notable lines of a kernel log, with what drivers say of themselves when they load.

    Raises:
        ReadError: No line has the kernel's stamp (printk.time may be off), and none is notable.
    """
    lines = read_dmesg(text)
    events = tuple(event for line in lines for event in (kernel_event(line), driver_event(line)) if event is not None)
    telling = any(event.kind is not KernelEventKind.CARD_FOUND for event in events)  # names of cards are in any text
    if not telling and all(line.seconds is None for line in lines):
        raise unreadable(_KIND, "text", text, "lines of a kernel log, such as '[    4.711000] ...'")
    return KernelLog(lines=len(lines), events=events)


def _line(line: str) -> KernelLine:
    stamp = _STAMP.match(line)
    return KernelLine(float(stamp[1]), line[stamp.end() :]) if stamp else KernelLine(None, line)
