"""Boots in lines of a console."""

from __future__ import annotations

import re
from collections.abc import Sequence

from niclab.hosts.records import KernelLine

_ONE_BANNER_LINES = 3
"""A kernel may say twice who it is: by its early console as well, or as ``---<<BOOT>>---`` and copyright."""


def first_lines(lines: Sequence[KernelLine], banner: re.Pattern[str]) -> tuple[int, ...]:
    """Find where kernels begin to speak.

    Args:
        lines: Of a console.
        banner: What a kernel says first.

    Returns:
        Indexes of lines, one for each boot that the console shows; a quiet console shows none.
    """
    found = list[int]()
    last = -_ONE_BANNER_LINES - 1
    for index, line in enumerate(lines):
        if banner.match(line.text):
            if index - last > _ONE_BANNER_LINES:
                found.append(index)
            last = index
    return tuple(found)
