"""The speeds of link modes, as drivers name them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from niclab.card import Unknown

_MODE = re.compile(r"(\d+)(G?)base", re.IGNORECASE)
"""A link mode: ``10000baseSR/Full`` on Linux, ``10Gbase-SR`` on FreeBSD."""


def speeds_of(modes: Iterable[str] | None) -> set[int]:
    """Return the speeds of link modes in Mbit/s; none of modes that nobody shows.

    Args:
        modes: Their names, as of :class:`~niclab.hosts.host_records.LinkSettings`.
    """
    return {int(match[1]) * (1000 if match[2] else 1) for match in map(_MODE.match, modes or ()) if match is not None}


def in_mbps(speeds: Set[int | Unknown]) -> str:
    """Return speeds in words.

    Args:
        speeds: In Mbit/s; one that nobody knows is left out.
    """
    shown = ", ".join(map(str, sorted(speed for speed in speeds if isinstance(speed, int))))
    return f"{shown} Mbit/s" if shown else "no speed"
