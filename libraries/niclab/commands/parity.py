"""The page that says which question each operating system answers, and how."""

from __future__ import annotations

from niclab.hosts.features import FREEBSD, LINUX
from niclab.hosts.freebsd.host import FreeBsdHost
from niclab.hosts.linux.host import LinuxHost
from niclab.hosts.parity import table

HOSTS: dict[str, type] = {"Linux": LinuxHost, "FreeBSD": FreeBsdHost}

_HEAD = """# What each operating system answers

Written by `make docs` from the code; do not edit. A question is a method of `niclab.hosts.host.Host`.

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
        linux, freebsd = LINUX.get(name), FREEBSD.get(name)
        word = f"{linux.shown}, {linux.set}" if linux else "-"
        label = f"{freebsd.label}, {freebsd.bit}" if freebsd else "-"
        rows.append(f"| {name.value} | {word} | {label} | {(freebsd and freebsd.word) or '-'} |\n")
    return _HEAD + table(HOSTS) + _OFFLOADS + "".join(rows)
