"""The lines in which Linux drivers report that a link came or went."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from niclab.hosts.kernel.kernel_log import KernelLine

_NEWS = r"(?:^|\s){iface}: (?:.*\s)?link(?: is)? (up|down)\b"
"""``netdev_info()`` of the drivers, such as "NIC Link is Up", "Link is Down", "link up at", "Optical link DOWN". A bond
names its links in parentheses."""


@dataclass(frozen=True)
class LinkNews:
    """A driver's word of a link: when, in s since boot, and whether it is up."""

    at_s: float
    up: bool


def link_news(lines: Sequence[KernelLine], iface: str) -> tuple[LinkNews, ...]:
    """Return what a driver said of the link of an interface, the first one first; lines without a stamp are left out.

    Args:
        lines: Of the kernel log.
        iface: Name of the interface.
    """
    news = re.compile(_NEWS.format(iface=re.escape(iface)), re.IGNORECASE)
    return tuple(
        LinkNews(line.seconds, match[1].lower() == "up")
        for line in lines
        if line.seconds is not None and (match := news.search(line.text)) is not None
    )
