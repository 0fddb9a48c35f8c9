"""The page that says which question each operating system answers, and how."""

from __future__ import annotations

from niclab.hosts import freebsd_host as freebsd
from niclab.hosts import linux_host as linux
from niclab.hosts.parity import table
from niclab.hosts.settings.features import FREEBSD, LINUX

SYSTEMS = {"Linux": linux.PARTS, "FreeBSD": freebsd.PARTS}

_HEAD = """# What each operating system answers

Written by `make docs` from the code; do not edit. A question is a method of a protocol in
`niclab.hosts.host`.

* native: by a tool or file of the system that is meant for it
* emulated: the same answer by other means, or with less in it
* some drivers: for the drivers named, else not applicable
* not available: not applicable, and why

"""
_OFFLOADS = """
# Offloads

| offload | Linux, shown and set by ethtool | FreeBSD, label and bit | set by ifconfig |
| --- | --- | --- | --- |
"""


def parity_page() -> str:
    """Markdown: the table of questions and the table of offloads."""
    rows = []
    for name in dict.fromkeys([*LINUX, *FREEBSD]):
        on_linux, on_freebsd = LINUX.get(name), FREEBSD.get(name)
        word = f"{on_linux.shown}, {on_linux.set}" if on_linux else "-"
        label = f"{on_freebsd.label}, {on_freebsd.bit}" if on_freebsd else "-"
        rows.append(f"| {name.value} | {word} | {label} | {(on_freebsd and on_freebsd.word) or '-'} |\n")
    return _HEAD + table(SYSTEMS) + _OFFLOADS + "".join(rows)
