"""Reader of FreeBSD's ``netstat -I IFACE -bdnW``, releases 9 to 14."""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import Statistics
from niclab.hosts.reading import filled, whole_number

_KIND = "netstat -bdnW"
_COLLISIONS = "collisions"
_COLUMNS = {
    "Ipkts": "rx_packets",
    "Ierrs": "rx_errors",
    "Idrop": "rx_dropped",
    "Ibytes": "rx_bytes",
    "Opkts": "tx_packets",
    "Oerrs": "tx_errors",
    "Obytes": "tx_bytes",
    "Coll": _COLLISIONS,
    "Drop": "tx_dropped",
}
_HEADING = ["Name", "Mtu", "Network", "Address", *_COLUMNS]
_LINK = re.compile(r"<Link#([0-9]{1,5})>")
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9_.-]{0,14})\*?")  # a star behind it: it is down


@dataclass(frozen=True)
class NetstatRow:
    """The row of an interface itself; those of its addresses count what went to them."""

    name: str
    index: int
    statistics: Statistics


@dataclass(frozen=True)
class NetstatTable:
    rows: tuple[NetstatRow, ...]


def read_netstat(text: str) -> NetstatTable:
    """Read the counters of each interface.

    Raises:
        ReadError: for another heading, a row with more or fewer columns, and when there is no row of an interface.
    """
    (number, heading), *lines = filled(text) or [(1, "")]
    if heading.split() != _HEADING:
        raise unreadable(_KIND, f"line {number}", heading, " ".join(_HEADING))
    rows = tuple(row for number, line in lines if (row := _row(f"line {number}", line)) is not None)
    if not rows or len({row.index for row in rows}) < len(rows):
        raise unreadable(_KIND, "rows", text, "the row of each interface, with its <Link#1>, once")
    return NetstatTable(rows)


def _row(where: str, line: str) -> NetstatRow | None:
    """None of an address. "-" is what netstat does not count of one."""
    words = line.split()
    front, counts = words[: -len(_COLUMNS)], words[-len(_COLUMNS) :]
    name = _NAME.fullmatch(front[0]) if len(front) in (3, 4) else None
    if name is None or not all(count == "-" or count.isdecimal() for count in counts):
        raise unreadable(_KIND, where, line, f"'NAME MTU NETWORK ADDRESS' and {len(_COLUMNS)} counts")
    link = _LINK.fullmatch(front[2])
    if link is None and front[2].startswith("<"):
        raise unreadable(_KIND, where, line, "'<Link#1>', or a network")
    if link is None:
        return None
    named = zip(_COLUMNS.values(), counts, strict=True)
    values = {column: whole_number(_KIND, where, count, column) for column, count in named}
    del values[_COLLISIONS]
    return NetstatRow(name[1], int(link[1]), Statistics(**values))
