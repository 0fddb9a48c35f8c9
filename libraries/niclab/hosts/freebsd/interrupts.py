"""Reader of FreeBSD's ``vmstat -i`` (and ``-ai``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import ends_early, whole_number
from niclab.hosts.transcript import refuse_error, transcript

_KIND = "vmstat -i"
_TOOLS = ("vmstat",)

_HEADING = re.compile(r"\s*interrupt\s+total\s+rate")
_ROW = re.compile(r"\s*(\S.{0,100}?)\s+(\S+)\s+(\S+)")
_OLD_SOURCE = re.compile(r"(?!stray )(\S{1,40}) (irq[0-9]{1,4})")  # FreeBSD 4: "ata0 irq14"
# Sources that can be told without the heading (after grep).
_EXPECTED = "'interrupt total rate', then 'irq16: NAME COUNT RATE'"
_SOURCE = re.compile(r"Total|(?:stray )?(?:irq[0-9]+|cpu[0-9]+|lapic[0-9]+|gic[0-9]*[,.].*|its[0-9]*[,.].*)(?::.*)?")


@dataclass(frozen=True)
class InterruptCount:
    """One source. ``device`` is what follows the first colon (``ix0:que 0``, ``uhci0 ehci0+``), None without one.
    ``rate`` in interrupts/s since boot."""

    source: str
    device: str | None
    total: int
    rate: int


@dataclass(frozen=True)
class InterruptCounts:
    """``total`` and ``rate`` of the last line, None when it was not there (after grep)."""

    interrupts: tuple[InterruptCount, ...]
    total: int | None
    rate: int | None


def read_vmstat_interrupts(text: str) -> InterruptCounts:
    """Read ``vmstat -i``. Names may hold blanks and colons: the last two columns are the numbers."""
    found = transcript(text, *_TOOLS, alone=_KIND)
    headed = False
    rows: list[InterruptCount] = []
    sums: InterruptCount | None = None
    for number, line in found.filled:
        if _HEADING.fullmatch(line) and not headed and not rows:
            headed = True
            continue
        match = _ROW.fullmatch(line)
        if match is None or sums is not None or not (headed or _SOURCE.fullmatch(match[1])):
            raise refuse_error(_KIND, found.filled if not rows else ((number, line),), _TOOLS, _EXPECTED)
        row = _row(f"line {number}", match)
        if row.source == "Total" and row.device is None:
            sums = row
        else:
            rows.append(row)
    if not rows:
        raise refuse_error(_KIND, found.filled, _TOOLS, _EXPECTED)
    if ends_early(found.filled, headed=headed):
        raise unreadable(_KIND, f"line {number}", line, "a rate that ends in the column of the others; it was cut")
    _refuse_contradictions(rows, sums)
    return InterruptCounts(tuple(rows), sums.total if sums else None, sums.rate if sums else None)


def _refuse_contradictions(rows: list[InterruptCount], sums: InterruptCount | None) -> None:
    """A source that stands there twice, or more interrupts than their total."""
    sources: set[tuple[str, str | None]] = set()
    for row in rows:
        if (row.source, row.device) in sources:
            raise unreadable(_KIND, "source", f"{row.source}: {row.device}", "each source once")
        sources.add((row.source, row.device))
    together = sum(row.total for row in rows)
    if sums is not None and together > sums.total:
        raise unreadable(_KIND, "Total", sums.total, f"at least {together}, the sum of the rows")


def _row(where: str, match: re.Match[str]) -> InterruptCount:
    old = _OLD_SOURCE.fullmatch(match[1])
    source, colon, device = (old[2], ":", old[1]) if old else match[1].partition(":")
    return InterruptCount(
        source=source.strip(),
        device=device.strip() or None if colon else None,
        total=whole_number(_KIND, where, match[2], "the total"),
        rate=whole_number(_KIND, where, match[3], "the rate"),
    )
