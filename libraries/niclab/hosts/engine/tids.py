"""Reader of cxgbe's ``dev.t5nex.N.misc.tids``: the connections that the card has, each by its TID.

Source: FreeBSD, sys/dev/cxgbe/t4_main.c, sysctl_tids().
"""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable

_IN_USE = re.compile(r"TID range: [0-9]+-[0-9]+(?:, [0-9]+-[0-9]+)?, in use: ([0-9]+)")


def read_tids(text: str) -> int:
    """Return the number of connections.

    Args:
        text: The lines, such as ``TID range: 0-18431, in use: 4``.

    Raises:
        ReadError: There is not one such line.
    """
    found = [match[1] for line in text.splitlines() if (match := _IN_USE.fullmatch(line.strip()))]
    if len(found) != 1:
        raise unreadable("sysctl -n", "misc.tids", text, "one line such as 'TID range: 0-18431, in use: 4'")
    return int(found[0])
