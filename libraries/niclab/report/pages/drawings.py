"""Drawings of a certificate: the bench, and measured intervals with their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from niclab.core.decision import Decision
from niclab.report.pages import chart_parts as parts
from niclab.report.pages.chart_parts import Scale

_WIDTH, _BOX, _ROW = 760.0, 210.0, 46.0
_TITLES = {
    "throughput": "Throughput",
    "failover": "Outage of traffic by cause",
    "carrier": "Carrier seen by the servers",
}
_MOST_ROWS = 24


def topology(card: str, bench: Mapping[str, Any]) -> str:
    """Draw both servers, their ports, and the paths between them.

    Args:
        card: Name of the card.
        bench: ``equipment`` of a certificate.
    """
    paths, switch = bench["paths"], bench["switch"]
    through = bool(switch) and any(path["through"] == "switch" for path in paths)
    height = 70 + _ROW * max(1, len(paths)) + 14
    left, right = 20.0, _WIDTH - 20 - _BOX
    body = []
    for x, role in ((left, "dut"), (right, "peer")):
        server = bench["servers"][role]
        body.append(_box(x, 16, _BOX, height - 32))
        body.append(parts.text(x + 12, 36, f"{role} ({server['os']})", "strong"))
        body.append(parts.text(x + 12, 52, card if role == "dut" else "the known-good end", "soft"))
    for number, path in enumerate(paths):
        y = 84 + number * _ROW
        by_role = {name.split(".")[0]: name for name in path["ends"]}
        for x, role, anchor in ((left + _BOX, "dut", "end"), (right, "peer", "start")):
            port = next(each for each in bench["servers"][role]["ports"] if each["name"] == by_role[role])
            at = x - 12 if anchor == "end" else x + 12
            body.append(parts.text(at, y - 2, port["name"], "strong", anchor))
            body.append(parts.text(at, y + 13, port["pci"], "soft", anchor))
        body.append(parts.line(left + _BOX, y, right, y, "line0"))
        middle = (left + _BOX + right) / 2
        if path["through"] != "switch":
            body.append(parts.text(middle, y - 6, f"path {path['name']}", "soft", "middle"))
    if through:
        body.append(_box((left + _BOX + right) / 2 - 50, 62, 100, height - 84))
        body.append(parts.text((left + _BOX + right) / 2, 80, f"switch {switch}", "strong", "middle"))
    elif switch:
        note = f"switch {switch}, cabled in when a test asks for it"
        body.append(parts.text((left + _BOX + right) / 2, 36, note, "soft", "middle"))
    return parts.document(_WIDTH, height, "The bench", f"{card}: two servers and {len(paths)} paths", body)


def ranges(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """Draw the figures that have numbers and limits, one drawing for each kind.

    Args:
        figures: Figures of a certificate, as :func:`~niclab.report.pages.condensed.condensed` returns them.
    """
    drawn = []
    for kind, title in _TITLES.items():
        units = dict.fromkeys(each["unit"] for each in figures if each["kind"] == kind)
        for unit in units:
            rows = [
                each for each in figures if (each["kind"], each["unit"]) == (kind, unit) and _limit(each) is not None
            ]
            rows = [each for each in rows if each["high"] is not None]
            if rows:
                drawn.append(_ranges(title, unit, rows[:_MOST_ROWS]))
    return drawn


def _ranges(title: str, unit: str, rows: Sequence[Mapping[str, Any]]) -> str:
    names = 340.0
    height = 74 + 26 * len(rows)
    values = [value for row in rows for value in (row["low"], row["high"], _limit(row)) if value is not None]
    # throughput is far from zero: what matters is the spread and the distance from the limit
    from_zero = any(row["at_most"] is not None for row in rows)
    ticks = parts.round_ticks(min([*values, 0.0] if from_zero else values), max(values), 5)
    x = Scale(ticks[0], ticks[-1], names, _WIDTH - 24)
    bottom = height - 34
    body = [parts.text(20, 28, f"{title}, {unit}", "title")]
    body.append(parts.text(_WIDTH - 24, 28, "interval; dashed: limit", "soft", "end"))
    for tick, words in zip(ticks, parts.tick_texts(ticks), strict=True):
        body += [
            parts.line(x(tick), 42, x(tick), bottom, "grid"),
            parts.text(x(tick), bottom + 16, words, "soft", "middle"),
        ]
    for number, row in enumerate(rows):
        y, limit = 56 + 26 * number, _limit(row)
        look = 0 if row["outcome"] == Decision.MET else 1
        name = parts.wrapped(row["subject"], names - 24)[:2]
        top_line = y + 4 - 6 * (len(name) - 1)
        body += [parts.text(names - 12, top_line + 12 * k, line, "", "end") for k, line in enumerate(name)]
        if row["low"] is None:
            body.append(parts.line(x(ticks[0]), y, x(row["high"]), y, f"whisker{look}"))
        else:
            body.append(parts.whisker(x(row["low"]), y, x(row["high"]), y, f"whisker{look}"))
        body.append(parts.marker(x(row["value"] if row["value"] is not None else row["high"]), y, 0, f"dot{look}"))
        if limit is not None:
            body.append(parts.line(x(limit), y - 11, x(limit), y + 11, "limit"))
    return parts.document(_WIDTH, height, title, f"{len(rows)} figures in {unit}", body)


def _limit(figure: Mapping[str, Any]) -> float | None:
    limit: float | None = figure["at_least"] if figure["at_least"] is not None else figure["at_most"]
    return limit


def _box(x: float, y: float, width: float, height: float) -> str:
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    return parts.path(corners, "band0", closed=True)
