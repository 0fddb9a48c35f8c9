"""Every run of a card: a store of results made from the run folders alone, and a page of trends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean

from niclab.commands.results.results_places import DEPTHS, URL
from niclab.core.verdict import BenchFault
from niclab.report import now, read_json_object, write_atomically
from niclab.report.evidence.runfolder import CERTIFICATE_FILE, DEMONSTRATION, RUN_FILE, read_run
from niclab.report.pages.blocks import Cell, Content, Part, Pictures, Row, Table, Words
from niclab.report.pages.chart_parts import COLOURS
from niclab.report.pages.charts import ChartLine, LineChart, Point
from niclab.report.pages.content import is_certified
from niclab.report.pages.page import page_of
from niclab.report.store.results_store import FILE, NEWEST, ResultsStore, StoredFigure, StoredRun
from niclab.stats.interval import t_interval
from niclab.stats.measurements import FILE as MEASUREMENTS
from niclab.stats.measurements import Measurement, read

NOT_RECORDED = "not recorded"


def open_store(results: Path) -> ResultsStore:
    """Open the store of the lab, or the file next to the runs when there is none.

    Args:
        results: Folder of the run folders.

    Raises:
        BenchFault: The store cannot be opened.
    """
    return ResultsStore(os.environ.get(URL) or results / FILE)


def fill(results: Path, store: ResultsStore) -> int:
    """Take every run folder into the store, those of builds and benches too; one that is in it is taken again.

    Args:
        results: Folder of the run folders.
        store: The store.

    Returns:
        How many runs were taken. A folder that is no finished run is left out.

    Raises:
        BenchFault: The store cannot be written.
    """
    files = [file for depth in DEPTHS for file in sorted(results.glob(f"{depth}/{RUN_FILE}"))]
    return sum(take(store, file.parent) for file in files)


def run(card: str, results: Path, page: Path | None = None) -> int:
    """Take all runs into the store, print those of a card, and write the page of their trends.

    Args:
        card: Name of the card sheet.
        results: Folder of the run folders.
        page: The page; by default ``history-CARD.html`` next to the runs.

    Raises:
        BenchFault: The store cannot be written, or there is no run of the card.
    """
    with closing(open_store(results)) as store:
        fill(results, store)
        runs = store.runs_of(card)
        if not runs:
            raise BenchFault(f"{results}: holds no finished run of card {card!r}; expected at least one")
        text = page_of_card(store, card, runs)
    for each in runs:
        print(f"{each.started}  {each.verdict:<14}  {each.software}  {each.run}")
    file = page or results / f"history-{card}.html"
    write_atomically(file, text)
    print(file)
    return 0


def page_of_card(store: ResultsStore, card: str, runs: Sequence[StoredRun]) -> str:
    """Return the page of a card: its newest runs, and the trends of their figures.

    Args:
        store: The store.
        card: Name of the card sheet.
        runs: All runs of the card, oldest first; at least one.
    """
    newest = runs[-NEWEST:]
    return page_of(_content(card, newest, list(_trends(store, card, newest))))


def take(store: ResultsStore, run_dir: Path) -> bool:
    """Take one run folder into the store; return whether it is that of a finished run.

    Args:
        store: The store.
        run_dir: Folder of the run.

    Raises:
        BenchFault: The store cannot be written.
    """
    try:
        noted = read_run(run_dir)
        verdict = str(read_json_object(run_dir / CERTIFICATE_FILE)["verdict"])
        measured = read(run_dir) if (run_dir / MEASUREMENTS).exists() else ()
        facts = {name: str(noted["facts"].get(name) or NOT_RECORDED) for name in ("firmware", "driver", "system")}
        own = {name: str(noted[name]) for name in ("card", "bench", "started")}
    except (BenchFault, KeyError):
        return False
    taken = StoredRun(
        controller=str(noted["who"].get("controller", "")),
        run=run_dir.name,
        verdict=verdict,
        plan=str(noted.get("plan") or NOT_RECORDED),
        subject=str(noted.get("subject")),
        serials=str(noted["facts"].get("serial_numbers") or ""),
        **own,
        **facts,
    )
    figures = {_name(each): StoredFigure(_name(each), each.unit, each.samples) for each in measured}
    store.put(taken, list(figures.values()))
    return True


def _name(measurement: Measurement) -> str:
    """The figure with its parameters: what is the same figure in another run."""
    parameters = ", ".join(f"{name} {value}" for name, value in sorted(measurement.key.parameters.items()))
    return f"{measurement.test} ({parameters})" if parameters else measurement.test


def _trends(store: ResultsStore, card: str, runs: Sequence[StoredRun]) -> Iterator[LineChart]:
    """A chart of each figure: its mean with the 95 % interval from run to run, one line for each software."""
    number = {(each.controller, each.run): place for place, each in enumerate(runs, start=1)}
    software = {(each.controller, each.run): each.software for each in runs}
    series: dict[tuple[str, str], dict[str, list[Point]]] = {}
    for of_run, figure in store.figures_of(card):
        if of_run in number:
            lines = series.setdefault((figure.name, figure.unit), {})
            lines.setdefault(software[of_run], []).append(_point(number[of_run], figure.samples))
    for (name, unit), lines in series.items():
        newest = sorted(lines, key=lambda each: max(point.x for point in lines[each]))[-COLOURS:]
        drawn = tuple(ChartLine(each, tuple(sorted(lines[each], key=lambda point: point.x))) for each in newest)
        title, _, note = name.partition(" (")
        yield LineChart(title, note.removesuffix(")"), "run", unit, drawn)


def _point(x: int, samples: Sequence[float]) -> Point:
    if len(samples) < 2:
        return Point(x, samples[0], samples[0], samples[0])
    interval = t_interval(samples)
    return Point(x, fmean(samples), interval.low, interval.high)


def _content(card: str, runs: Sequence[StoredRun], charts: Sequence[LineChart]) -> Content:
    certified = sum(is_certified(each.verdict) for each in runs)
    rows = tuple(
        Row(
            (
                Cell(str(number), each.started[:10]),
                Cell(each.run, f"plan {each.plan}, bench {each.bench}"),
                Cell(each.software, each.system),
                Cell(each.verdict, "", "pass" if is_certified(each.verdict) else "card-failure"),
            )
        )
        for number, each in enumerate(runs, start=1)
    )
    pictures = Pictures(tuple(chart.svg() for chart in charts))
    return Content(
        title=f"History of {card}",
        subtitle=f"{len(runs)} runs, {runs[0].started[:10]} to {runs[-1].started[:10]}",
        window_title=f"History of {card}",
        banner=DEMONSTRATION if any(each.subject == DEMONSTRATION for each in runs) else "",
        headline=f"{certified} of {len(runs)} runs certified",
        look="good" if is_certified(runs[-1].verdict) else "bad",
        reasons=(),
        summary=(f"Last run: {runs[-1].verdict}.",),
        parts=(
            Part("Trends", (pictures,) if charts else (Words("No run has measurements."),)),
            Part("Runs", (Table(("Run", "", "Firmware, driver, system", "Verdict"), (0.8, 3.4, 3, 1.8), rows),)),
        ),
        issued=now(),
    )
