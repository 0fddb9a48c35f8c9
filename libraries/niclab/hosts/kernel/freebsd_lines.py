"""The lines of FreeBSD's message buffer, ``sysctl -n kern.msgbuf``: the kernel's own, and a mark among them.

The buffer holds what programs write to the console as well, behind ``<118>`` (facility "console"); the kernel's own
lines have no such number, or one below 8 (``subr_prf.c``: ``log()`` and ``log_console()``).
"""

from __future__ import annotations

import re

from niclab.hosts.kernel.boots import first_lines, lines_of_last_boot
from niclab.hosts.kernel.kernel_log import KernelLine
from niclab.hosts.reading import numbered

_PRIORITY = re.compile(r"<([0-9]{1,3})>")
_UPTIME = re.compile(r"\[([0-9]{1,10}(?:\.[0-9]{1,9})?)\] ?")
_FACILITY = 8
_LINK = r": link state changed to (UP|DOWN)"


def kernel_lines(text: str) -> tuple[KernelLine, ...]:
    """The kernel's own lines, empty ones left out."""
    return tuple(line for own, line in _lines(text) if own)


def lines_after(text: str, token: str) -> tuple[KernelLine, ...] | None:
    """The kernel's own lines behind the line ``token``; None when there is no such line."""
    lines = _lines(text)
    for index, (_, line) in enumerate(lines):
        if line.text.strip() == token:
            return tuple(line for own, line in lines[index + 1 :] if own)
    return None


def lines_of_boot(text: str) -> tuple[KernelLine, ...]:
    """The kernel's own lines of the last boot; of all that are left where its beginning is lost."""
    return tuple(lines_of_last_boot(kernel_lines(text)))


def link_changes(text: str, iface: str) -> tuple[int, int] | None:
    """Count how often the link of ``iface`` came and went since boot; None when the beginning of this boot is lost.

    While the boot's first line is in the buffer, nothing behind it has been overwritten.
    """
    lines = kernel_lines(text)
    if not first_lines(lines):
        return None
    change = re.compile(re.escape(iface) + _LINK)
    words = [
        match[1] for line in lines_of_last_boot(lines) if (match := change.fullmatch(line.text.strip())) is not None
    ]
    return words.count("UP"), words.count("DOWN")


def _lines(text: str) -> list[tuple[bool, KernelLine]]:
    """Each line, and whether it is the kernel's own."""
    found: list[tuple[bool, KernelLine]] = []
    for _, raw in numbered(text):
        line = raw.replace("\x00", "")
        priority = _PRIORITY.match(line)
        line = line[priority.end() :] if priority else line
        uptime = _UPTIME.match(line)
        line = line[uptime.end() :] if uptime else line
        if line.strip():
            number = int(priority[1]) if priority else None
            own = number is None or number < _FACILITY
            found.append((own, KernelLine(float(uptime[1]) if uptime else None, line, number if own else None)))
    return found
