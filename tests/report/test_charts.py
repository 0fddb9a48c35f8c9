"""Charts: right places, complete, readable by machines and people, nothing loaded."""

from __future__ import annotations

import csv
import io
import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from niclab.report.pages.chart_parts import Scale, apart, bytes_text, number, round_ticks, tick_texts, width_px, wrapped
from niclab.report.pages.charts import (
    ChangeChart,
    ChangeRow,
    Chart,
    ChartLine,
    Limit,
    LineChart,
    Point,
    TrendChart,
    TrendPoint,
)

SVG = "{http://www.w3.org/2000/svg}"


def line(name: str, *ys: float) -> ChartLine:
    return ChartLine(name, tuple(Point(64.0 * 2**i, y, y - 10, y + 20) for i, y in enumerate(ys)))


def sweep(limit: Limit | None = None) -> LineChart:
    lines = (line("MTU 9000", 1000, 4000, 9500), line("MTU 1500", 900, 3000, 9480), line("MTU <576>", 500, 2000, 9470))
    return LineChart("Bandwidth & more", "A note.", "Block size (bytes)", "Mbit/s", lines, limit, x_bytes=True)


def changes() -> ChangeChart:
    rows = (
        ChangeRow("TSO off", -36.0, -37.0, -35.0, (-20.0,), "met"),
        ChangeRow("LRO off", 1.0, -1.0, 3.0, (), "undecided"),
    )
    return ChangeChart("One setting at a time", "", "Change (% of baseline)", rows)


def trend() -> TrendChart:
    points = tuple(TrendPoint(f"2026-11-{day:02d}", 9400 + day, 9390 + day, 9410 + day) for day in range(1, 29))
    return TrendChart("From run to run", "", "Mbit/s", points, (9300, math.inf), "allowed: at most 1 % worse")


def one_size() -> LineChart:
    lines = tuple(ChartLine(f"MTU {mtu}", (Point(8192, mtu, mtu - 10, mtu + 20),)) for mtu in (576, 1500, 9000))
    return LineChart("One size", "A note.", "message, bytes", "Mbit/s", lines, Limit(500, "limit at least 500"), True)


CHARTS = {
    "sweep": sweep(Limit(9000, "limit at least 9000 Mbit/s")),
    "changes": changes(),
    "trend": trend(),
    "one size": one_size(),
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_chart_is_one_accessible_file_that_loads_nothing(chart: Chart) -> None:
    text = chart.svg()
    root = ET.fromstring(text)
    assert root.get("role") == "img"
    named = {element.get("id"): element.tag for element in root}
    first, second = (root.get("aria-labelledby") or "").split()
    assert (named[first], named[second]) == (f"{SVG}title", f"{SVG}desc")
    assert all((root.findtext(f"{SVG}{part}") or "").strip() for part in ("title", "desc"))
    outside = re.findall(r"(?:href|src|@import|url\()[^>]*", text)
    assert outside == [] and "<script" not in text
    assert text == chart.svg()


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_all_that_is_drawn_lies_on_the_paper(chart: Chart) -> None:
    root = ET.fromstring(chart.svg())
    width, height = float(root.get("width", "nan")), float(root.get("height", "nan"))
    for element in root.iter():
        for name, most in (("x", width), ("x1", width), ("cx", width), ("y", height), ("y1", height), ("cy", height)):
            if (value := element.get(name)) is not None:
                assert 0 <= float(value) <= most, ET.tostring(element)


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_texts_do_not_cover_each_other(chart: Chart) -> None:
    boxes = []
    for element in ET.fromstring(chart.svg()).iter(f"{SVG}text"):
        words = element.text or ""
        size = 15 if element.get("class") == "title" else 12
        wide = width_px(words, size) * 0.85  # the estimate is for wide fonts
        left = (
            float(element.get("x", "nan"))
            - {"start": 0, "middle": wide / 2, "end": wide}[element.get("text-anchor", "")]
        )
        if words:
            boxes.append((left, left + wide, float(element.get("y", "nan")), words))
    assert len(boxes) > 8
    for i, (left, right, base, words) in enumerate(boxes):
        for other_left, other_right, other_base, other in boxes[i + 1 :]:
            apart_enough = right <= other_left or other_right <= left or abs(base - other_base) >= 11
            assert apart_enough, f"{words!r} covers {other!r}"


def test_a_chart_has_its_numbers() -> None:
    rows = list(csv.reader(io.StringIO(sweep().csv())))
    assert rows[0] == ["line", "Block size (bytes)", "Mbit/s", "interval low", "interval high"]
    assert rows[1] == ["MTU 9000", "64.0", "1000", "990", "1020"]
    assert len(rows) == 1 + 9
    assert changes().csv().splitlines()[1] == "TSO off,-36.0,-37.0,-35.0,-20,met"
    assert trend().csv().splitlines()[1] == "2026-11-01,9401,9391,9411"


def test_sizes_stand_on_doublings_and_higher_figures_higher() -> None:
    root = ET.fromstring(sweep().svg())
    dots = [(float(e.get("cx", "nan")), float(e.get("cy", "nan"))) for e in root.iter(f"{SVG}circle")]
    (x1, y1), (x2, y2), (x3, y3) = dots
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)
    assert y1 > y2 > y3
    assert (y1 - y2) / (y2 - y3) == pytest.approx(3000 / 5500, rel=0.01)


def test_limit_is_drawn_at_its_value_even_above_all_lines() -> None:
    text = sweep(Limit(20000, "limit at least 20000 Mbit/s")).svg()
    assert 'class="limit"' in text
    assert "limit at least 20000 Mbit/s" in text


def test_names_are_escaped() -> None:
    assert "MTU &lt;576&gt;" in sweep().svg()
    assert "Bandwidth &amp; more" in sweep().svg()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: LineChart("t", "", "x", "y", ()), "0 lines; expected 1 to 6"),
        (lambda: LineChart("t", "", "x", "y", (ChartLine("a", ()),)), "expected rising numbers"),
        (
            lambda: LineChart("t", "", "x", "y", (ChartLine("a", (Point(2, 1, 1, 1), Point(1, 1, 1, 1))),)),
            "rising numbers",
        ),
        (lambda: LineChart("t", "", "x", "y", (ChartLine("a", (Point(0, 1, 1, 1),)),), x_bytes=True), "rising numbers"),
        (lambda: LineChart("t", "", "x", "y", (ChartLine("a", (Point(1, 5, 6, 7),)),)), "low <= value <= high"),
        (lambda: ChangeChart("t", "", "x", ()), "0 rows"),
        (lambda: ChangeChart("t", "", "x", (ChangeRow("a", math.nan, 0, 1),)), "a: nan"),
        (lambda: TrendChart("t", "", "y", ()), "0 runs"),
        (lambda: TrendChart("t", "", "y", (TrendPoint("now", 1, 0, math.inf),)), "now: 1 in 0 to inf"),
    ],
)
def test_charts_without_numbers_are_refused(make: object, problem: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=problem):
        make()


@pytest.mark.parametrize("value", [0.0, 9.41, -3.0, 1e9])
def test_a_single_point_can_be_drawn(value: float) -> None:
    for chart in (
        LineChart("t", "", "x", "y", (ChartLine("a", (Point(64, value, value, value),)),), x_bytes=True),
        TrendChart("t", "", "y", (TrendPoint("now", value, value, value),)),
        ChangeChart("t", "", "x", (ChangeRow("a", value, value, value),)),
    ):
        assert "nan" not in chart.svg().lower().replace("nance", "")


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.integers(3, 9))
def test_ticks_are_round_and_hold_the_values(low: float, span: float, about: int) -> None:
    assume(span > 1e-6 * abs(low))  # closer values are one value to a chart
    ticks = round_ticks(low, low + span, about)
    step = ticks[1] - ticks[0]
    assert ticks[0] <= low + step * 1e-6 and ticks[-1] >= low + span - step * 1e-6
    assert len(ticks) <= about + 3
    assert len(set(tick_texts(ticks))) == len(ticks)


@given(st.lists(st.floats(0, 300), min_size=1, max_size=6))
def test_labels_are_kept_apart_in_their_order(wanted: list[float]) -> None:
    places = apart(wanted, 16, 0, 300)
    assert all(b - a >= 16 - 1e-9 for a, b in pairwise(sorted(places)))
    assert all(-1e-9 <= place <= 300 + 1e-9 for place in places)
    assert sorted(range(len(wanted)), key=lambda i: (wanted[i], i)) == sorted(
        range(len(wanted)), key=lambda i: places[i]
    )


def test_small_helpers() -> None:
    assert [bytes_text(v) for v in (64, 1024, 262144, 65500, 1 << 20)] == [
        "64",
        "1\u202fK",
        "256\u202fK",
        "65500",
        "1\u202fM",
    ]
    assert number(-1234.5, 1) == "\u22121\u202f234.5"
    assert number(3, 1, signed=True) == "+3.0"
    assert wrapped("one two three", width_px("one two")) == ["one two", "three"]
    assert Scale(1, 4, 0, 100, log2=True)(2) == pytest.approx(50)


@pytest.mark.parametrize(
    ("lowest", "zero"), [(9300, False), (4000, True)], ids=["all far from zero", "one nearer to zero"]
)
def test_the_axis_begins_at_zero_only_if_a_figure_is_near_it(lowest: float, zero: bool) -> None:
    points = (ChartLine("a", (Point(1, lowest, lowest, lowest), Point(2, 9420, 9410, 9430))),)
    assert (">0</text>" in LineChart("t", "", "x", "y", points).svg()) is zero


def test_a_sweep_of_one_size_is_a_row_for_each_line_across_the_whole_drawing() -> None:
    lines = tuple(
        ChartLine(f"MTU {mtu}", (Point(65536, y, y - 0.5, y + 0.5),))
        for mtu, y in ((576, 22.0), (1500, 23.8), (9000, 24.6))
    )
    limit = Limit(21.25, "limit at least 21.25 Mbit/s at MTU 1500")
    text = LineChart("t", "n", "message, bytes", "Mbit/s", lines, limit, x_bytes=True).svg()
    root = ET.fromstring(text)
    dots = [(float(e.get("cx", "nan")), float(e.get("cy", "nan"))) for e in root.iter(f"{SVG}circle")]
    across = [x for x, _ in dots]
    assert across == sorted(across) and across[-1] - across[0] > 760 / 3
    assert len({y for _, y in dots}) == 3
    words = [each.text or "" for each in root.iter(f"{SVG}text")]
    assert "Mbit/s at message, bytes: 64\u202fK" in words and {"MTU 576", "MTU 1500", "MTU 9000"} <= set(words)
    assert any(limit.text in each for each in words) and text.count('class="limit"') == 3


def test_the_ticks_of_a_sweep_are_its_sizes() -> None:
    lines = (ChartLine("a", (Point(2048, 9, 8, 10), Point(65536, 9, 8, 10))),)
    words = [e.text for e in ET.fromstring(LineChart("t", "", "x", "y", lines, x_bytes=True).svg()).iter(f"{SVG}text")]
    assert "2\u202fK" in words and "64\u202fK" in words and "4\u202fK" not in words
