"""The tables of netperf's classic output: heading and rows of stream, UDP and request/response tests.

Shapes are those of src/nettest_bsd.c of netperf 2.4.4 to 2.7.1 (``tput_title``, ``cpu_title`` and their formats): with
CPU (-c, -C) the unit is cut at eight characters and padded (``10^6bits/s``, ``MBytes  /s``), a CPU value that was not
measured is -1.00, and with ``-P 0`` there is no heading and a brand (-B) may end the row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.traffic.netperf_command import KIND
from niclab.traffic.netperf_records import TRANSACTIONS, unit_of

_UNIT = r"(?P<unit>10\^[0369]bits|[KMG]?Bytes|Trans)\s{0,9}/s(?:ec)?"
_STREAM = re.compile(rf"bytes\s+bytes\s+bytes\s+secs\.?\s+{_UNIT}(?P<cpu>\s+%.*)?")
_UDP = re.compile(rf"bytes\s+bytes\s+secs\.?\s+#\s+#\s+{_UNIT}(?P<cpu>\s*%.*)?")
_REQUEST = re.compile(rf"bytes\s+[Bb]ytes\s+bytes\s+bytes\s+secs\.?\s+(?:per sec|{_UNIT})(?P<cpu>\s+%.*)?")
_PER = re.compile(r"us/(KB|Tr)")
_WHOLE = re.compile(r"-?[0-9]{1,20}")
_DECIMAL = re.compile(r"-?(?:[0-9]{1,20}(?:\.[0-9]{0,6})?|nan|inf)")
_ROW = re.compile(r"\s*-?(?:[0-9]|nan|inf)")

STREAM, UDP, REQUEST = "stream", "UDP stream", "request/response"
_COLUMNS = {STREAM: 5, UDP: 6, REQUEST: 6}
_CPU_COLUMNS = {STREAM: 4, UDP: 2, REQUEST: 4}


@dataclass(frozen=True)
class Heading:
    """``shape`` of the rows below, their ``unit``, whether they have CPU columns, and the unit of service demand."""

    shape: str
    unit: str
    cpu: bool
    per: str | None


@dataclass(frozen=True)
class Row:
    """One line of numbers: ``words`` as printed."""

    number: int
    line: str
    words: tuple[str, ...]

    def size(self, place: int, what: str) -> int:
        """A size that the command sets, which is always known."""
        value = self.whole(place, what)
        if value is None:
            raise unreadable(KIND, f"line {self.number}", self.line, f"{what}, not negative, in column {place + 1}")
        return value

    def whole(self, place: int, what: str) -> int | None:
        """A size or count; None for -1, which netperf prints where the system did not tell."""
        value = int(self.words[place]) if _WHOLE.fullmatch(self.words[place]) else None
        if value is None or value < -1:
            raise unreadable(KIND, f"line {self.number}", self.line, f"{what}, a whole number, in column {place + 1}")
        return None if value < 0 else value

    def decimal(self, place: int, digits: int | None, what: str) -> float:
        """A number with ``digits`` behind the point: fewer are what is left of a text that was cut; None: any number of
        digits. NaN and infinity, which netperf prints after dividing by zero, are given as such."""
        word = self.words[place]
        behind = word.partition(".")[2]
        whole = digits in (None, len(behind)) or word.lstrip("-") in ("nan", "inf")
        if not _DECIMAL.fullmatch(word) or not whole:
            form = "a number" if digits is None else f"a number with {digits} digits behind the point"
            expected = f"{what}, {form}, in column {place + 1}"
            raise unreadable(KIND, f"line {self.number}", self.line, expected)
        return float(word)


def heading(line: str) -> Heading | None:
    """What stands below this line; None when it is not the last line of a heading."""
    text = line.strip()[:200]
    for shape, pattern in ((STREAM, _STREAM), (UDP, _UDP), (REQUEST, _REQUEST)):
        match = pattern.fullmatch(text)
        if match is not None:
            per = _PER.search(match["cpu"] or "")
            unit = unit_of(f"{match['unit']}/s") if match["unit"] else TRANSACTIONS
            return Heading(shape, unit or "", match["cpu"] is not None, f"us/{per[1]}" if per else None)
    return None


def row(number: int, line: str) -> Row | None:
    """The numbers of this line; None when it does not begin with one."""
    return Row(number, line.strip(), tuple(line.split())) if _ROW.match(line) else None


def is_second(shape: str, first: Row, second: Row) -> bool:
    """Whether ``second`` belongs to ``first``: what was received of UDP, or the remote socket of a request test."""
    return len(second.words) < len(first.words) and shape in (UDP, REQUEST)


def check_columns(shape: str, first: Row, *, cpu: bool | None) -> bool:
    """Whether the row has CPU columns. ``cpu``: what the heading says, None without one.

    :raises ReadError: when the number of columns is that of neither form, or not what the heading says.
    """
    plain = _COLUMNS[shape]
    full = plain + _CPU_COLUMNS[shape]
    wanted = (plain, full) if cpu is None else (full,) if cpu else (plain,)
    numbers = next((place for place, word in enumerate(first.words) if not _DECIMAL.fullmatch(word)), len(first.words))
    brand = first.words[numbers:]
    if numbers not in wanted or (brand and cpu is not None) or any(_DECIMAL.fullmatch(word) for word in brand):
        said = " or ".join(map(str, wanted))
        raise unreadable(KIND, f"line {first.number}", first.line, f"{said} numbers, the columns of a {shape} test")
    return numbers == full
