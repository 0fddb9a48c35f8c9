"""A drawing of intervals as rows: each has a name on the left, its interval on one axis for all, and its limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from niclab.report.pages import chart_parts as parts
from niclab.report.pages.chart_parts import Scale

_WIDTH, _NAMES, _PAD, _ROW = 760.0, 340.0, 20.0, 26.0


@dataclass(frozen=True)
class IntervalRow:
    """One figure. ``low`` None: nothing is known but the high end. ``colour``: number of a colour of the charts."""

    name: str
    low: float | None
    value: float
    high: float
    limit: float | None
    colour: int = 0


def interval_rows(
    title: str, note: str, unit: str, rows: Sequence[IntervalRow], *, from_zero: bool, most_lines: int = 2
) -> str:
    """Draw the rows; return the SVG file.

    Args:
        title: Above the drawing.
        note: Below the title, empty for none.
        unit: Below the axis.
        rows: From top to bottom.
        from_zero: The axis begins at 0, also where no figure is near it.
        most_lines: Lines of a name that are drawn.
    """
    values = [value for row in rows for value in (row.low, row.high, row.limit) if value is not None]
    ticks = parts.round_ticks(min([*values, 0.0] if from_zero else values), max(values), 5)
    names = min(_NAMES, _PAD + 12 + max(parts.width_px(row.name) for row in rows))
    x = Scale(ticks[0], ticks[-1], names, _WIDTH - 24)
    said = parts.wrapped(note, _WIDTH - 2 * _PAD)
    top = 42 + 16 * len(said)
    bottom = top + 6 + _ROW * len(rows)
    body = [parts.text(_PAD, 28, title, "title"), parts.text(_WIDTH - 24, 28, "interval; dashed: limit", "soft", "end")]
    body += [parts.text(_PAD, 48 + 16 * i, words, "soft") for i, words in enumerate(said)]
    for tick, words in zip(ticks, parts.tick_texts(ticks), strict=True):
        body.append(parts.line(x(tick), top, x(tick), bottom, "grid"))
        body.append(parts.text(x(tick), bottom + 16, words, "soft", "middle"))
    body.append(parts.text((names + _WIDTH - 24) / 2, bottom + 34, unit, "soft", "middle"))
    for number, row in enumerate(rows):
        body += _row(row, top + 14 + _ROW * number, names, x, most_lines)
    return parts.document(_WIDTH, bottom + 46, title, f"{len(rows)} figures in {unit}", body)


def _row(row: IntervalRow, y: float, names: float, x: Scale, most_lines: int) -> list[str]:
    lines = parts.wrapped(row.name, names - _PAD - 4)[:most_lines]
    first = y + 4 - 6 * (len(lines) - 1)
    body = [parts.text(names - 12, first + 12 * k, words, "", "end") for k, words in enumerate(lines)]
    if row.low is None:
        body.append(parts.line(x(x.low), y, x(row.high), y, f"whisker{row.colour}"))
    else:
        body.append(parts.whisker(x(row.low), y, x(row.high), y, f"whisker{row.colour}"))
    body.append(parts.marker(x(row.value), y, 0, f"dot{row.colour}"))
    if row.limit is not None:
        body.append(parts.line(x(row.limit), y - 11, x(row.limit), y + 11, "limit"))
    return body
