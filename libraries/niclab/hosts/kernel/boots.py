"""Boots in lines of a kernel log or a console."""

from __future__ import annotations

import re
from collections.abc import Sequence

from niclab.hosts.kernel.kernel_log import KernelLine

# A warm restart of FreeBSD leaves its message buffer as it was.
_BANNER = re.compile(r"Linux version [0-9]|---<<BOOT>>---|Copyright \(c\) 1992-[0-9]{4} The FreeBSD Project\.")
_ONE_BANNER_LINES = 3
"""A kernel may say twice who it is: by its early console as well, or as ``---<<BOOT>>---`` and copyright."""


def first_lines(lines: Sequence[KernelLine]) -> tuple[int, ...]:
    """Find where kernels begin to speak.

    Args:
        lines: Of a log or a console.

    Returns:
        Indexes of lines, one for each boot that is shown; a quiet console shows none.
    """
    found = list[int]()
    last = -_ONE_BANNER_LINES - 1
    for index, line in enumerate(lines):
        if _BANNER.match(line.text):
            if index - last > _ONE_BANNER_LINES:
                found.append(index)
            last = index
    return tuple(found)


def lines_of_last_boot(lines: Sequence[KernelLine]) -> Sequence[KernelLine]:
    """The lines of the last boot; all of them where its beginning is lost."""
    boots = first_lines(lines)
    return lines[boots[-1] :] if boots else lines
