"""The drawing parts of every chart: scales, round ticks, texts that fit, and the SVG around it.

A chart is one file that loads nothing. It brings its own paper, so that it can be read on any page, and follows the
reader's light or dark scheme as a whole.
"""

from __future__ import annotations

import hashlib
import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

FONT_PX = 12.0
_CHARACTER = 0.6  # mean width of a character over the font's size, for the wide DejaVu Sans too
_FAMILY = '"Helvetica Neue", Arial, "Liberation Sans", "DejaVu Sans", sans-serif'
_LIGHT = {
    "paper": "#ffffff", "edge": "#d9dfe5", "ink": "#1c2733", "soft": "#5b6875", "grid": "#e6eaee", "limit": "#b3261e",
    "good": "#1d7a4a", "open": "#8a5a00", "s0": "#14609c", "s1": "#b8480f", "s2": "#2c7f5b", "s3": "#7a4ea3",
    "s4": "#6d6400", "s5": "#a23368",
}  # fmt: skip
_DARK = {
    "paper": "#171c22", "edge": "#333d47", "ink": "#e8edf2", "soft": "#a3b0bc", "grid": "#29323b", "limit": "#ff8a80",
    "good": "#6fce9c", "open": "#e6b450", "s0": "#6fb3ea", "s1": "#f0986b", "s2": "#6fce9c", "s3": "#c4a0e8",
    "s4": "#d6cb5a", "s5": "#f08ab8",
}  # fmt: skip
COLOURS = 6
_PRINTED_FAMILY = "Libertinus Serif"
_DARK_RULE = re.compile(r"@media \(prefers-color-scheme:dark\)\{[^{}]*\{[^{}]*\}\}")
_VARIABLE = re.compile(r"var\(--(\w+)\)")


@dataclass(frozen=True)
class Scale:
    """From values ``low``..``high`` to pixels ``start``..``end``."""

    low: float
    high: float
    start: float
    end: float
    log2: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (math.log2(v) if self.log2 else v for v in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)


def round_ticks(low: float, high: float, about: int) -> list[float]:
    """About ``about`` multiples of 1, 2 or 5 times a power of ten, from at or below ``low`` to at or above ``high``."""
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"axis {low!r} to {high!r}; expected finite numbers that rise")
    if low == high:
        low, high = (low - abs(low) * 0.05, high + abs(high) * 0.05) if low else (-1.0, 1.0)
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def tick_texts(ticks: Sequence[float]) -> list[str]:
    """The ticks with the digits their distance needs, thousands apart, a true minus sign."""
    step = min((b - a for a, b in pairwise(ticks)), default=1.0)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [number(tick, decimals) for tick in ticks]


def number(value: float, decimals: int, *, signed: bool = False) -> str:
    """``9 412``, ``−3.2``: thin spaces between thousands (narrow no-break), a true minus sign."""
    text = f"{round(value, decimals) + 0.0:{'+' if signed else ''},.{decimals}f}"
    return text.replace(",", "\u202f").replace("-", "\u2212")


def bytes_text(value: float) -> str:
    """``64``, ``1 K``, ``256 K``: binary multiples of bytes where they are whole."""
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if value >= size and value % size == 0:
            return f"{value / size:g}\u202f{unit}"
    return f"{value:g}"


def width_px(text: str, size: float = FONT_PX) -> float:
    """About how wide ``text`` is drawn."""
    return len(text) * size * _CHARACTER


def wrapped(text: str, most_px: float, size: float = FONT_PX) -> list[str]:
    """``text`` in lines not wider than ``most_px``; a longer word is alone."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_px(longer, size) <= most_px:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def apart(wanted: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Places near ``wanted``, in their order, at least ``distance`` apart; inside ``low``..``high`` if they fit."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = [wanted[i] for i in order]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + distance)
    if places and places[-1] > high:
        places[-1] = high
        for i in range(len(places) - 2, -1, -1):
            places[i] = min(places[i], places[i + 1] - distance)
    if places and places[0] < low:
        shift = low - places[0]
        places = [place + shift for place in places]
    found = [0.0] * len(wanted)
    for place, i in zip(places, order, strict=True):
        found[i] = place
    return found


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
    """A line of text with its base line at ``y``. ``kind``: CSS classes."""
    shown = html.escape(content, quote=False)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{shown}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def path(points: Iterable[tuple[float, float]], kind: str, *, closed: bool = False) -> str:
    steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{steps}{" Z" if closed else ""}" class="{kind}"/>'


def marker(x: float, y: float, shape: int, kind: str) -> str:
    """A small filled sign; four shapes, so that lines are distinguished without colour."""
    if shape % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" class="{kind}"/>'
    outline = (
        ((-2.9, -2.9), (2.9, -2.9), (2.9, 2.9), (-2.9, 2.9)),
        ((0, -3.9), (3.7, 2.8), (-3.7, 2.8)),
        ((0, -4.1), (4.1, 0), (0, 4.1), (-4.1, 0)),
    )[shape % 4 - 1]
    return path(((x + dx, y + dy) for dx, dy in outline), kind, closed=True)


def whisker(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """An interval with caps, along one axis."""
    cap = 3.5
    dx, dy = (0.0, cap) if y1 == y2 else (cap, 0.0)
    return (
        line(x1, y1, x2, y2, kind) + line(x1 - dx, y1 - dy, x1 + dx, y1 + dy, kind)
        + line(x2 - dx, y2 - dy, x2 + dx, y2 + dy, kind)
    )  # fmt: skip


def document(width: float, height: float, title: str, description: str, body: Sequence[str]) -> str:
    """The whole SVG file; title and description are there for those who cannot see it."""
    mark = "c" + hashlib.sha256(f"{title}\n{description}\n{''.join(body)}".encode()).hexdigest()[:8]
    inside = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-labelledby="{mark}-t {mark}-d" class="{mark}">\n'
        f'<title id="{mark}-t">{html.escape(title)}</title>\n<desc id="{mark}-d">{html.escape(description)}</desc>\n'
        f"<style>{_style(mark)}</style>\n"
        f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="6" class="paper"/>\n'
        f"{inside}\n</svg>\n"
    )


def printed(svg: str) -> str:
    """Return a chart for paper: colours in place of variables, no dark scheme, and a font that the paper has.

    Args:
        svg: A chart of :func:`document`.
    """
    plain = _DARK_RULE.sub("", svg)
    plain = _VARIABLE.sub(lambda found: _LIGHT.get(found[1], "#000000"), plain)
    return plain.replace(f"font:{FONT_PX:g}px {_FAMILY}", f"font-size:{FONT_PX:g}px;font-family:'{_PRINTED_FAMILY}'")


def _style(mark: str) -> str:
    here = f".{mark}"
    light = ";".join(f"--{name}:{value}" for name, value in _LIGHT.items())
    dark = ";".join(f"--{name}:{value}" for name, value in _DARK.items())
    rules = [
        f"{here}{{{light};font:{FONT_PX:g}px {_FAMILY};font-variant-numeric:tabular-nums}}",
        f"@media (prefers-color-scheme:dark){{{here}{{{dark}}}}}",
        f"{here} .paper{{fill:var(--paper);stroke:var(--edge)}}",
        f"{here} text{{fill:var(--ink)}} {here} .soft{{fill:var(--soft)}}",
        f"{here} .title{{font-size:15px;font-weight:600}}",
        f"{here} .strong{{font-weight:600}} {here} .halo{{paint-order:stroke;stroke:var(--paper);stroke-width:4px}}",
        f"{here} .grid{{stroke:var(--grid)}} {here} .axis{{stroke:var(--soft)}}",
        f"{here} .limit{{stroke:var(--limit);stroke-width:1.4;stroke-dasharray:5 4}}",
        f"{here} text.at-limit{{fill:var(--limit)}}",
        f"{here} .zone{{fill:var(--good);fill-opacity:.1}}",
        f"{here} text.met{{fill:var(--good)}} {here} text.missed{{fill:var(--limit)}}",
        f"{here} text.undecided{{fill:var(--open)}}",
    ]
    for i in range(COLOURS):
        colour = f"var(--s{i})"
        rules += [
            f"{here} .line{i}{{stroke:{colour};stroke-width:2;fill:none;stroke-linejoin:round}}",
            f"{here} .band{i}{{fill:{colour};fill-opacity:.16}} {here} .dot{i}{{fill:{colour};stroke:var(--paper)}}",
            f"{here} .bar{i}{{fill:{colour};fill-opacity:.32}} {here} .whisker{i}{{stroke:{colour};stroke-width:1.6}}",
            f"{here} text.name{i}{{fill:{colour};font-weight:600}}",
        ]
    return "".join(rules)
