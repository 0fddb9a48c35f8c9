"""Reader of ``ethtool -S IFACE``: the driver's own counters, which ethtool prints as text only."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import Counters
from niclab.hosts.reading import filled, whole_number

KIND = "ethtool -S"
_HEADING = "NIC statistics:"
_ROW = re.compile(r" {5}(.*\S) *: ([0-9]+)")


def read_counters(text: str) -> Counters:
    """Read the counters. The value follows the last colon: names may hold colons and blanks, and end with blanks.

    Raises:
        ReadError: The heading is missing, there is no counter, or a row is no name and number.
    """
    lines = filled(text)
    if not lines or lines[0][1] != _HEADING or len(lines) == 1:
        raise unreadable(KIND, "text", text, f"'{_HEADING}' and at least one counter")
    entries: list[tuple[str, int]] = []
    for number, line in lines[1:]:
        match = _ROW.fullmatch(line)
        if match is None:
            raise unreadable(KIND, f"line {number}", line, "'NAME: WHOLE NUMBER'")
        entries.append((match[1], whole_number(KIND, f"line {number}", match[2], f"counter {match[1]}")))
    return Counters(tuple(entries))
