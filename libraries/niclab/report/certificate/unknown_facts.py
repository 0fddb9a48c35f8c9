"""Facts that a card's sheet calls unknown, and the parts of requirements that are verified in part because of them.

A test that finds the one fact it needs unknown is not applicable and says so. The facts below are some of many that a
test judges, which passes over those that nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from niclab.bench.records import OperatingSystem
from niclab.card import Card, unknown_facts

_PARTS = {
    r"link\..+": ("CARD-04/link",),
    r"rings\..+\.(default|max)": ("DEL-01/rings",),
    r"coalescing\.(adaptive_.+|.+\.default)": ("DEL-01/coalescing", "NFS-06/defaults"),
    r"coalescing\..+\.settable": ("SUS-08/coalescing",),
    r"pause\.(autoneg|rx|tx)": ("DEL-01/pause",),
    r"channels\..+\.(default|max)": ("DEL-01/queues",),
    r"mtu\.min": ("SUS-08/mtu",),
    r"offloads\.table\..+\.(default|change)": ("DEL-01/offloads", "EMX-06/defaults"),
    r"(drivers\.linux\.)?tunables\..+\.actual_default": ("DEL-01/tunables", "EMX-05"),
    r"limits\.jumbo_tcp_fraction_of_line_rate": ("EMX-07/tcp-stream", "EMX-07/tcp-sendfile", "EMX-07/directions"),
    r"limits\.udp_fraction_of_line_rate": ("EMX-07/udp-stream", "EMX-07/directions"),
}
"""A fact by its name on the sheet -> the parts whose tests pass over it."""
_OF_FREEBSD = "drivers.freebsd."
_OF_DRIVER = re.compile(r"(rings|coalescing|channels)\.")
"""Sections that a sheet gives for each driver; outside the drivers they are those of Linux."""
_OF_SYSTEM = re.compile(rf"\.({'|'.join(each.value for each in OperatingSystem)})\.")


def passed_over(card: Card, system: OperatingSystem) -> Iterator[tuple[str, str]]:
    """Yield each part that is not wholly decided because of an unknown fact, and which fact that is.

    Args:
        card: The card's sheet.
        system: Operating system of the dut, whose driver's facts are meant.
    """
    freebsd = system is OperatingSystem.FREEBSD
    for field, fact in unknown_facts(card):
        named = _OF_SYSTEM.search(field)
        if named is not None and named[1] != system.value:
            continue
        own = field.removeprefix(_OF_FREEBSD)
        if _OF_DRIVER.match(own) and freebsd is not field.startswith(_OF_FREEBSD):
            continue
        for pattern, parts in _PARTS.items():
            if re.fullmatch(pattern, own):
                yield from ((part, f"sheet {card.name} does not know {field}: {fact.unknown}") for part in parts)
