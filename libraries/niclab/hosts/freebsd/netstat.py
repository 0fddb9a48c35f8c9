"""Reader of FreeBSD's ``netstat -i`` (with -b, -d, -n, -a, -W, -I) and of its interval form ``netstat -w 1``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import ends_early, whole_number
from niclab.hosts.transcript import refuse_error, transcript

_KIND = "netstat -i"
_TOOLS = ("netstat",)

_COLUMNS = {
    "Ipkts": "rx_packets",
    "Ierrs": "rx_errors",
    "Idrop": "rx_dropped",
    "Ibytes": "rx_bytes",
    "Opkts": "tx_packets",
    "Oerrs": "tx_errors",
    "Obytes": "tx_bytes",
    "Coll": "collisions",
    "Drop": "tx_dropped",
}
_LINK = re.compile(r"<Link(?:#([0-9]{1,5}))?>")  # without a number: old releases, and DragonFly
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,15}\*?")
# Digits with a sign, or behind a slash something that is no length; names of networks and hosts stand there, too.
_NO_PLACE = re.compile(r"-.+|.*/(?![0-9]{0,3}$).*|[0-9.]*[0-9]{4,}\..*|.*\.[0-9]{4,}")
_INTERVAL_TOP = re.compile(r"\s*input\s+\(?([A-Za-z0-9_.:-]{1,20})\)?\s+output\s*")
_INTERRUPTED = "^C"  # this form ends in no other way
_INPUT = {"packets": "rx_packets", "errs": "rx_errors", "idrops": "rx_dropped", "bytes": "rx_bytes"}
_OUTPUT = {
    **{"packets": "tx_packets", "errs": "tx_errors", "bytes": "tx_bytes", "colls": "collisions"},
    **{"drops": "tx_dropped"},
}


@dataclass(frozen=True)
class BsdCounters:
    """Counters of an interface or of one of its addresses. "-" and columns that are not there are None."""

    rx_packets: int | None = None
    rx_errors: int | None = None
    rx_dropped: int | None = None
    rx_bytes: int | None = None
    tx_packets: int | None = None
    tx_errors: int | None = None
    tx_bytes: int | None = None
    collisions: int | None = None
    tx_dropped: int | None = None


@dataclass(frozen=True)
class NetstatRow:
    """One row. ``link_index`` only on the row of the interface itself; the rows of its addresses count what went to
    them. ``down``: a star stood behind the name. ``network`` and ``address`` may be cut short by the tool.
    ``groups`` are multicast addresses (-a)."""

    name: str
    down: bool
    mtu: int | None
    link_index: int | None
    network: str
    address: str | None
    counters: BsdCounters
    groups: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        values: dict[str, object] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        counters = values.pop("counters")
        assert isinstance(counters, BsdCounters)
        return {**values, **{name: getattr(counters, name) for name in counters.__dataclass_fields__}}


@dataclass(frozen=True)
class NetstatTable:
    """``rows`` of ``netstat -i``; ``samples`` of the interval form, of the interface ``interface`` ("Total": all)."""

    rows: tuple[NetstatRow, ...] = ()
    interface: str | None = None
    samples: tuple[BsdCounters, ...] = ()


def read_netstat(text: str) -> NetstatTable:
    """Read ``netstat -i`` or ``netstat -w``. ``-h`` rounds its figures and is refused, like every other form."""
    found = transcript(text, *_TOOLS, alone=_KIND, whole=False)
    lines = found.filled
    if lines and _INTERVAL_TOP.fullmatch(lines[0][1]):
        return _interval(lines)
    if not lines or lines[0][1].split()[:2] != ["Name", "Mtu"]:
        raise refuse_error(_KIND, lines, _TOOLS, "'Name Mtu Network Address Ipkts Ierrs ...'")
    columns = _columns(*lines[0])
    rows: list[NetstatRow] = []
    for number, line in lines[1:]:
        if line.split() == lines[0][1].split():
            raise unreadable(_KIND, f"line {number}", line, "one table")
        if rows and line.startswith(" " * 8) and _is_group(line):
            rows[-1] = replace(rows[-1], groups=(*rows[-1].groups, line.split()[0]))
        else:
            rows.append(_row(number, line, columns))
    if not rows:
        raise refuse_error(_KIND, lines, _TOOLS, "at least one row")
    if not rows[-1].groups and ends_early(lines, headed=True):
        raise unreadable(_KIND, f"line {number}", line, "a count that ends in the column of the others; it was cut")
    indexes = [row.link_index for row in rows if row.link_index is not None]
    for index in set(indexes):
        if indexes.count(index) > 1:
            raise unreadable(_KIND, "table", f"<Link#{index}>", "the row of each interface once")
    return NetstatTable(rows=tuple(rows))


def _columns(number: int, heading: str) -> list[str]:
    names = heading.split()[4:]
    unknown = [name for name in names if name not in _COLUMNS]
    if heading.split()[:4] != ["Name", "Mtu", "Network", "Address"] or unknown or not {"Ipkts", "Opkts"} <= set(names):
        raise unreadable(
            _KIND, f"line {number}", heading, f"Name Mtu Network Address and some of {', '.join(_COLUMNS)}"
        )
    return [_COLUMNS[name] for name in names]


def _is_group(line: str) -> bool:
    """A multicast address on a line of its own, perhaps with two counts."""
    words = line.split()
    return len(words) <= 3 and (":" in words[0] or "." in words[0])


def _row(number: int, line: str, columns: list[str]) -> NetstatRow:
    where = f"line {number}"
    words = line.split()
    front, counts = words[: -len(columns)], words[-len(columns) :]
    if len(front) not in (3, 4) or not _NAME.fullmatch(front[0]):
        raise unreadable(_KIND, where, line, f"'NAME MTU NETWORK ADDRESS' and {len(columns)} counts")
    link = _LINK.fullmatch(front[2])
    if link is None and front[2].startswith("<L"):
        raise unreadable(_KIND, where, line, "'<Link#1>', or a network")
    for place in (front[2], front[3] if len(front) == 4 else ""):
        if link is None and _NO_PLACE.fullmatch(place):
            raise unreadable(_KIND, where, place, "a network and an address")
    return NetstatRow(
        name=front[0].removesuffix("*"),
        down=front[0].endswith("*"),
        mtu=None if front[1] == "-" else whole_number(_KIND, where, front[1], "mtu"),
        link_index=int(link[1]) if link and link[1] else None,
        network=front[2],
        address=front[3] if len(front) == 4 else None,
        counters=_counters(where, columns, counts),
    )


def _counters(where: str, columns: list[str], counts: list[str]) -> BsdCounters:
    return BsdCounters(
        **{
            column: None if count == "-" else whole_number(_KIND, where, count, column)
            for column, count in zip(columns, counts, strict=True)
        }
    )


def _interval(lines: tuple[tuple[int, str], ...]) -> NetstatTable:
    """The headings stand again after every 21 samples."""
    interface: str | None = None
    columns: list[str] | None = None
    samples: list[BsdCounters] = []
    for number, line in lines[:-1] if lines[-1][1].strip() == _INTERRUPTED else lines:
        where = f"line {number}"
        top = _INTERVAL_TOP.fullmatch(line)
        if top is not None:
            if interface not in (None, top[1]):
                raise unreadable(_KIND, where, line, f"one interface, {interface}")
            interface, columns = top[1], None
        elif columns is None:
            columns = _interval_columns(where, line)
        else:
            counts = line.split()
            if len(counts) != len(columns):
                raise unreadable(_KIND, where, line, f"{len(columns)} counts")
            samples.append(_counters(where, columns, counts))
    if not samples:
        raise refuse_error(_KIND, lines, _TOOLS, "at least one sample")
    return NetstatTable(interface=interface, samples=tuple(samples))


def _interval_columns(where: str, line: str) -> list[str]:
    words = line.split()
    half = words.index("packets", 1) if words.count("packets") == 2 else 0
    names = [_INPUT.get(word, "") for word in words[:half]] + [_OUTPUT.get(word, "") for word in words[half:]]
    if not half or "" in names:
        raise unreadable(_KIND, where, line, "'packets errs idrops bytes packets errs bytes colls'")
    return names
