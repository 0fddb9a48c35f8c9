"""Reader of ``/proc/net/softnet_stat``: what each CPU has done with received packets (Linux 2.6.35 to 6.x)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import filled

_KIND = "/proc/net/softnet_stat"
_WORD = re.compile(r"[0-9a-f]{8,16}")
_RECEIVED_RPS, _CPU = 9, 12
"""Columns from 0 (net/core/net-procfs.c, softnet_seq_show()); that of the CPU is there since Linux 5.10."""


def read_taken_over(text: str, cpus: Sequence[int]) -> dict[int, int]:
    """Read how often each CPU was woken by another one to take over received packets (``received_rps``).

    Args:
        text: The file.
        cpus: The CPUs that are online, which older kernels do not name.

    Returns:
        CPU -> its count, of 32 bits.

    Raises:
        ReadError: A line has too few columns, or the lines are not those of the CPUs.
    """
    found = dict[int, int]()
    lines = filled(text)
    if len(lines) != len(cpus):
        raise unreadable(_KIND, "text", text, f"a line for each of {len(cpus)} CPUs")
    for cpu, (number, line) in zip(sorted(cpus), lines, strict=True):
        words = line.split()
        if len(words) <= _RECEIVED_RPS or not all(_WORD.fullmatch(word) for word in words):
            raise unreadable(_KIND, f"line {number}", line, f"more than {_RECEIVED_RPS} hexadecimal numbers")
        found[int(words[_CPU], 16) if len(words) > _CPU else cpu] = int(words[_RECEIVED_RPS], 16)
    if found.keys() != set(cpus):
        raise unreadable(_KIND, "CPUs", text, f"CPUs {', '.join(map(str, sorted(cpus)))}, once each")
    return found
