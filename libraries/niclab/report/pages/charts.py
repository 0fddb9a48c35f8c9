"""Charts of measurements as SVG, each with its numbers next to it as CSV.

* :class:`LineChart`: a figure against a number, one line a variant, with the band of its intervals and a limit:
  bandwidth against block size, receiver CPU against connections.
* :class:`ChangeChart`: what settings change, in percent of the baseline, with intervals and what is wanted of them.
* :class:`TrendChart`: a figure from run to run, with the zone its baseline allows.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from niclab.report.pages import chart_parts as parts
from niclab.report.pages.chart_parts import Scale
from niclab.report.pages.intervals import IntervalRow, interval_rows

_WIDTH = 760.0
_PAD = 20.0
_TITLE_Y = 30.0
_ROW_PX = 34.0
_LABEL_PX = 16.0


@dataclass(frozen=True)
class Point:
    """A figure with the interval around it, in the chart's unit. ``x``: a number on the axis."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class ChartLine:
    """One variant; its name is at the end of its line. Points rise in x."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Limit:
    """A dashed line across the chart, and its words: ``limit at least 9200 Mbit/s``."""

    value: float
    text: str


@dataclass(frozen=True)
class LineChart:
    """``x_bytes``: the x axis is a size in bytes, drawn on a scale of doublings.

    The y axis begins at 0 if figures are near 0, else at the figures: their spread and their distance from the limit
    are what is to be read. Where all figures have one x, each line is a row of its own.
    """

    title: str
    note: str
    x_label: str
    y_label: str
    lines: tuple[ChartLine, ...]
    limit: Limit | None = None
    x_bytes: bool = False

    def __post_init__(self) -> None:
        if not self.lines or len(self.lines) > parts.COLOURS:
            raise ValueError(f"chart {self.title!r}: {len(self.lines)} lines; expected 1 to {parts.COLOURS}")
        for each in self.lines:
            xs = [point.x for point in each.points]
            if not xs or any(a >= b for a, b in pairwise(xs)) or (self.x_bytes and xs[0] <= 0):
                raise ValueError(f"chart {self.title!r}: line {each.name!r}: x {xs}; expected rising numbers")
            for point in each.points:
                _want_interval(self.title, each.name, point.low, point.y, point.high)

    def svg(self) -> str:
        xs = sorted({point.x for each in self.lines for point in each.points})
        return self._drawn_against(xs) if len(xs) > 1 else self._drawn_as_rows(xs[0])

    def _drawn_against(self, xs: Sequence[float]) -> str:
        names = max(parts.width_px(each.name) for each in self.lines) * 1.08 + 14
        points = [point for each in self.lines for point in each.points]
        values = [v for p in points for v in (p.low, p.high)] + ([self.limit.value] if self.limit else [])
        ticks = parts.round_ticks(min([*values, 0.0] if self._from_zero() else values), max(values), 5)
        frame = _Frame.around(ticks, self.note, right=names, height=310)
        inset = 12.0
        x = Scale(xs[0], xs[-1], frame.left + inset, frame.right - inset, self.x_bytes)
        body = [*frame.heading(self.title, self.note), *frame.y_axis(ticks, self.y_label)]
        body += frame.x_axis(self._x_ticks(xs, x), self.x_label)
        for i, each in enumerate(self.lines):
            body += _drawn(each, i, x, frame.y)
        ends = [frame.y(each.points[-1].y) for each in self.lines]
        for i, (each, y) in enumerate(
            zip(self.lines, parts.apart(ends, _LABEL_PX, frame.top + 4, frame.bottom), strict=True)
        ):
            body.append(parts.text(frame.right + 6, y + 4, each.name, f"name{i}"))
        if self.limit:
            body += frame.limit(self.limit, [(x(p.x), frame.y(v)) for p in points for v in (p.low, p.y, p.high)])
        return parts.document(_WIDTH, frame.height, self.title, self._description(), body)

    def csv(self) -> str:
        rows = [[each.name, p.x, p.y, p.low, p.high] for each in self.lines for p in each.points]
        return _csv(["line", self.x_label, self.y_label, "interval low", "interval high"], rows)

    def _drawn_as_rows(self, at: float) -> str:
        limit = self.limit.value if self.limit else None
        rows = [
            IntervalRow(each.name, each.points[0].low, each.points[0].y, each.points[0].high, limit, number)
            for number, each in enumerate(self.lines)
        ]
        note = f"{self.note}; {self.limit.text}" if self.limit else self.note
        unit = f"{self.y_label} at {self.x_label}: {parts.bytes_text(at) if self.x_bytes else f'{at:g}'}"
        return interval_rows(self.title, note, unit, rows, from_zero=self._from_zero())

    def _from_zero(self) -> bool:
        """Is a figure nearer to 0 than to the largest?"""
        values = [abs(v) for each in self.lines for p in each.points for v in (p.low, p.high)]
        return min(values) < max(values) / 2

    def _x_ticks(self, xs: Sequence[float], x: Scale) -> list[tuple[float, str]]:
        """Return the ticks at the figures where there is room for all of their texts; else round ones."""
        text = parts.bytes_text if self.x_bytes else "{:g}".format
        own = [(x(v), text(v)) for v in xs]
        if all(b[0] - a[0] > (parts.width_px(a[1]) + parts.width_px(b[1])) / 2 + 4 for a, b in pairwise(own)):
            return own
        if self.x_bytes:
            first, last = math.ceil(math.log2(xs[0])), math.floor(math.log2(xs[-1]))
            return [(x(2.0**power), parts.bytes_text(2**power)) for power in range(first, last + 1)]
        ticks = [tick for tick in parts.round_ticks(xs[0], xs[-1], 8) if xs[0] <= tick <= xs[-1]]
        return [(x(tick), words) for tick, words in zip(ticks, parts.tick_texts(ticks), strict=True)]

    def _description(self) -> str:
        ranges = "; ".join(
            f"{each.name}: {each.points[0].y:.5g} at {each.points[0].x:g} to {each.points[-1].y:.5g} "
            f"at {each.points[-1].x:g}"
            for each in self.lines
        )
        return f"{self.y_label} against {self.x_label}. {ranges}." + (f" {self.limit.text}." if self.limit else "")


@dataclass(frozen=True)
class ChangeRow:
    """One setting. All in percent of the baseline; ``wanted``: thresholds to mark; ``decision``: met, missed, ..."""

    name: str
    percent: float
    low: float
    high: float
    wanted: tuple[float, ...] = ()
    decision: str = ""


@dataclass(frozen=True)
class ChangeChart:
    title: str
    note: str
    x_label: str
    rows: tuple[ChangeRow, ...]

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError(f"chart {self.title!r}: 0 rows; expected at least 1")
        for row in self.rows:
            _want_interval(self.title, row.name, row.low, row.percent, row.high)

    def svg(self) -> str:
        left = _PAD + min(250.0, max(parts.width_px(row.name) for row in self.rows)) + 12
        numbers = [f"{parts.number(row.percent, self._decimals(), signed=True)}\u202f%" for row in self.rows]
        value_px = max(map(parts.width_px, numbers)) + 6
        word_px = max(parts.width_px(row.decision) for row in self.rows) + 12
        right = _WIDTH - _PAD - value_px - word_px - 10
        values = [v for row in self.rows for v in (row.low, row.high, *row.wanted)] + [0.0]
        ticks = parts.round_ticks(min(values), max(values), 7)
        x = Scale(ticks[0], ticks[-1], left, right)
        heading, top = _heading(self.title, self.note)
        bottom = top + 8 + _ROW_PX * len(self.rows)
        body = [*heading]
        for tick, words in zip(ticks, parts.tick_texts(ticks), strict=True):
            body.append(parts.line(x(tick), top, x(tick), bottom, "axis" if tick == 0 else "grid"))
            body.append(parts.text(x(tick), bottom + 17, words, "soft", "middle"))
        body.append(parts.text((left + right) / 2, bottom + 38, self.x_label, "soft", "middle"))
        for i, (row, shown) in enumerate(zip(self.rows, numbers, strict=True)):
            y = top + 8 + _ROW_PX * (i + 0.5) - 4
            lines = parts.wrapped(row.name, 250.0)
            first = y + 4 - (len(lines) - 1) * 7
            body += [parts.text(left - 12, first + 14 * k, words, "", "end") for k, words in enumerate(lines)]
            zero, end = sorted((x(0), x(row.percent)))
            body.append(f'<rect x="{zero:.1f}" y="{y - 8:.1f}" width="{end - zero:.1f}" height="16" class="bar0"/>')
            body += [parts.line(x(at), y - 13, x(at), y + 13, "limit") for at in row.wanted]
            body.append(parts.whisker(x(row.low), y, x(row.high), y, "whisker0"))
            body.append(parts.marker(x(row.percent), y, 0, "dot0"))
            body.append(parts.text(right + 10 + value_px, y + 4, shown, "strong", "end"))
            body.append(parts.text(right + 10 + value_px + 10, y + 4, row.decision, row.decision))
        return parts.document(_WIDTH, bottom + 54, self.title, self._description(numbers), body)

    def csv(self) -> str:
        rows = [
            [row.name, row.percent, row.low, row.high, " ".join(f"{v:g}" for v in row.wanted), row.decision]
            for row in self.rows
        ]
        return _csv(["setting", self.x_label, "interval low", "interval high", "wanted", "decision"], rows)

    def _decimals(self) -> int:
        """Return the decimals of all rows, alike so that they align: two only when every interval is that narrow."""
        widest = max(row.high - row.low for row in self.rows)
        return 2 if widest < 0.2 else 1

    def _description(self, numbers: Sequence[str]) -> str:
        told = "; ".join(
            f"{row.name}: {shown}{f', {row.decision}' if row.decision else ''}"
            for row, shown in zip(self.rows, numbers, strict=True)
        )
        return f"{self.x_label}. {told}."


@dataclass(frozen=True)
class TrendPoint:
    """One run; ``when`` is the text below it."""

    when: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class TrendChart:
    """``zone``: what the baseline allows, low to high in the unit; an infinite end reaches the edge of the chart."""

    title: str
    note: str
    y_label: str
    points: tuple[TrendPoint, ...]
    zone: tuple[float, float] | None = None
    zone_text: str = ""

    def __post_init__(self) -> None:
        if not self.points:
            raise ValueError(f"chart {self.title!r}: 0 runs; expected at least 1")
        for point in self.points:
            _want_interval(self.title, point.when, point.low, point.value, point.high)

    def svg(self) -> str:
        values = [v for p in self.points for v in (p.low, p.high)] + [v for v in self.zone or () if math.isfinite(v)]
        ticks = parts.round_ticks(min(values), max(values), 6)
        last = _value_text(self.points[-1])
        frame = _Frame.around(ticks, self.note, right=parts.width_px(last) + 18, height=320)
        x = Scale(-0.5, len(self.points) - 0.5, frame.left, frame.right)
        body = frame.heading(self.title, self.note)
        if self.zone:
            edges = [min(max(frame.y(v) if math.isfinite(v) else (frame.top if v > 0 else frame.bottom), frame.top),
                         frame.bottom) for v in self.zone]  # fmt: skip
            body.append(
                f'<rect x="{frame.left:.1f}" y="{edges[1]:.1f}" width="{frame.right - frame.left:.1f}" '
                f'height="{edges[0] - edges[1]:.1f}" class="zone"/>'
            )
        body += frame.y_axis(ticks, self.y_label)
        every = math.ceil(
            len(self.points) * (max(parts.width_px(p.when) for p in self.points) + 10) / (x.end - x.start)
        )
        shown = range(len(self.points) - 1, -1, -every)
        body += frame.x_axis([(x(i), self.points[i].when) for i in reversed(shown)], "")
        body.append(parts.path(((x(i), frame.y(p.value)) for i, p in enumerate(self.points)), "line0"))
        for i, p in enumerate(self.points):
            body.append(parts.whisker(x(i), frame.y(p.low), x(i), frame.y(p.high), "whisker0"))
            body.append(parts.marker(x(i), frame.y(p.value), 0, "dot0"))
        body.append(parts.text(frame.right + 6, frame.y(self.points[-1].value) + 4, last, "name0"))
        if self.zone and self.zone_text:
            body.append(parts.text(frame.left + 8, edges[0] - 6, self.zone_text, "soft halo"))
        told = f"{self.y_label} in {len(self.points)} runs, the last {last} ({self.points[-1].when}). {self.zone_text}"
        return parts.document(_WIDTH, frame.height, self.title, told.strip(), body)

    def csv(self) -> str:
        rows = [[p.when, p.value, p.low, p.high] for p in self.points]
        return _csv(["run", self.y_label, "interval low", "interval high"], rows)


Chart = LineChart | ChangeChart | TrendChart


@dataclass(frozen=True)
class _Frame:
    """The place of the plot, and its y scale."""

    left: float
    right: float
    top: float
    bottom: float
    height: float
    y: Scale

    @classmethod
    def around(cls, ticks: Sequence[float], note: str, *, right: float, height: float) -> _Frame:
        left = _PAD + max(map(parts.width_px, parts.tick_texts(ticks))) + 10
        top = _heading("", note)[1] + 20
        bottom = height - 56
        y = Scale(ticks[0], ticks[-1], bottom, top)
        return cls(left, _WIDTH - _PAD - right, top, bottom, height, y)

    @staticmethod
    def heading(title: str, note: str) -> list[str]:
        return _heading(title, note)[0]

    def y_axis(self, ticks: Sequence[float], label: str) -> list[str]:
        body = [parts.text(_PAD, self.top - 12, label, "soft")]
        for tick, words in zip(ticks, parts.tick_texts(ticks), strict=True):
            y = self.y(tick)
            body.append(parts.line(self.left, y, self.right, y, "axis" if tick == ticks[0] else "grid"))
            body.append(parts.text(self.left - 8, y + 4, words, "soft", "end"))
        return body

    def x_axis(self, ticks: Sequence[tuple[float, str]], label: str) -> list[str]:
        body = [parts.line(x, self.bottom, x, self.bottom + 4, "axis") for x, _ in ticks]
        body += [parts.text(x, self.bottom + 18, words, "soft", "middle") for x, words in ticks]
        return [*body, parts.text((self.left + self.right) / 2, self.bottom + 40, label, "soft", "middle")]

    def limit(self, limit: Limit, taken: Sequence[tuple[float, float]]) -> list[str]:
        """The line, and its words at the end and the side of it where the fewest points are ``taken``."""
        y, width = self.y(limit.value), parts.width_px(limit.text)
        places = [(start, base) for base in (y - 6, y + 15) for start in (self.left + 8, self.right - 8 - width)]

        def hidden(place: tuple[float, float]) -> int:
            start, base = place
            return sum(start - 6 < px < start + width + 6 and base - 16 < py < base + 8 for px, py in taken)

        start, base = min((place for place in places if self.top < place[1] < self.bottom), key=hidden)
        at_end = start > self.left + 8
        words = parts.text(
            self.right - 8 if at_end else start, base, limit.text, "at-limit halo", "end" if at_end else "start"
        )
        return [parts.line(self.left, y, self.right, y, "limit"), words]


def _heading(title: str, note: str) -> tuple[list[str], float]:
    """Title and note, and where the plot may begin."""
    lines = parts.wrapped(note, _WIDTH - 2 * _PAD)
    body = [parts.text(_PAD, _TITLE_Y, title, "title")]
    body += [parts.text(_PAD, _TITLE_Y + 20 + 16 * i, words, "soft") for i, words in enumerate(lines)]
    return body, _TITLE_Y + 16 * len(lines) + 22


def _drawn(each: ChartLine, colour: int, x: Scale, y: Scale) -> list[str]:
    upper = [(x(p.x), y(p.high)) for p in each.points]
    lower = [(x(p.x), y(p.low)) for p in reversed(each.points)]
    body = [parts.path([*upper, *lower], f"band{colour}", closed=True)]
    body.append(parts.path(((x(p.x), y(p.y)) for p in each.points), f"line{colour}"))
    return body + [parts.marker(x(p.x), y(p.y), colour, f"dot{colour}") for p in each.points]


def _value_text(point: TrendPoint) -> str:
    """With two digits of the interval's half width; without an interval, six digits."""
    half = (point.high - point.low) / 2
    if half <= 0:
        return f"{point.value:.6g}".replace("-", "\u2212")
    return parts.number(point.value, min(6, max(0, 1 - math.floor(math.log10(half)))))


def _want_interval(title: str, name: str, low: float, value: float, high: float) -> None:
    if not (low <= value <= high and math.isfinite(low) and math.isfinite(high)):
        raise ValueError(
            f"chart {title!r}: {name}: {value!r} in {low!r} to {high!r}; expected finite numbers, low <= value <= high"
        )


def _csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
