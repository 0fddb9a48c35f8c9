"""Drawings of a certificate: the bench, and measured intervals with their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from niclab.core.decision import Decision
from niclab.report.pages import chart_parts as parts
from niclab.report.pages.intervals import IntervalRow, interval_rows

_WIDTH, _BOX, _PATH = 760.0, 210.0, 46.0
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
    height = 70 + _PATH * max(1, len(paths)) + 14
    left, right = 20.0, _WIDTH - 20 - _BOX
    body = []
    for x, role in ((left, "dut"), (right, "peer")):
        server = bench["servers"][role]
        body.append(_box(x, 16, _BOX, height - 32))
        body.append(parts.text(x + 12, 36, f"{role} ({server['os']})", "strong"))
        body.append(parts.text(x + 12, 52, card if role == "dut" else "the known-good end", "soft"))
    for number, path in enumerate(paths):
        y = 84 + number * _PATH
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
                # throughput is far from zero: what matters is the spread and the distance from the limit
                from_zero = any(row["at_most"] is not None for row in rows)
                drawn.append(interval_rows(title, "", unit, list(map(_row, rows[:_MOST_ROWS])), from_zero=from_zero))
    return drawn


def _row(figure: Mapping[str, Any]) -> IntervalRow:
    value = figure["value"] if figure["value"] is not None else figure["high"]
    colour = 0 if figure["outcome"] == Decision.MET else 1
    return IntervalRow(figure["subject"], figure["low"], value, figure["high"], _limit(figure), colour)


def _limit(figure: Mapping[str, Any]) -> float | None:
    limit: float | None = figure["at_least"] if figure["at_least"] is not None else figure["at_most"]
    return limit


def _box(x: float, y: float, width: float, height: float) -> str:
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    return parts.path(corners, "band0", closed=True)
