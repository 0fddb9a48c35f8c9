"""Every run of a card: a store of results made from the run folders alone, and a page of trends."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from niclab.core.verdict import BenchFault
from niclab.report import now, read_json_object, write_atomically
from niclab.report.chart_parts import COLOURS
from niclab.report.charts import ChartLine, LineChart, Point
from niclab.report.content import Cell, Content, Part, Pictures, Row, Table, Words
from niclab.report.page import page_of
from niclab.report.runfolder import CERTIFICATE_FILE, DEMONSTRATION, RUN_FILE, read_run
from niclab.stats.interval import t_interval
from niclab.stats.measurements import FILE, Measurement, read

STORE = "history.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, card TEXT, bench TEXT, started TEXT, verdict TEXT,
    firmware TEXT, driver TEXT, system TEXT, plan TEXT, subject TEXT);
CREATE TABLE IF NOT EXISTS figures (run TEXT REFERENCES runs, name TEXT, unit TEXT, samples TEXT,
    PRIMARY KEY (run, name));
"""
_COLUMNS = ("run", "started", "verdict", "firmware", "driver", "system", "plan", "bench", "subject")


@dataclass(frozen=True)
class StoredRun:
    """One row of the store."""

    run: str
    started: str
    verdict: str
    firmware: str
    driver: str
    system: str
    plan: str
    bench: str
    subject: str

    @property
    def software(self) -> str:
        """What a trend must not mix."""
        return f"{self.firmware}, {self.driver}"


def fill(results: Path) -> int:
    """Take every run folder into the store; one that is in it is taken again, so that it may be repeated.

    Args:
        results: Folder of the run folders and of the store.

    Returns:
        How many runs were taken. A folder that is no finished run is left out.

    Raises:
        BenchFault: The store cannot be written.
    """
    taken = 0
    try:
        with closing(sqlite3.connect(results / STORE)) as store, store:
            store.executescript(_TABLES)
            for file in sorted(results.glob(f"2*/{RUN_FILE}")):
                taken += _take(store, file.parent)
    except sqlite3.Error as error:
        raise BenchFault(f"{results / STORE}: {error}") from error
    return taken


def runs_of(results: Path, card: str) -> list[StoredRun]:
    """Return the runs of a card, oldest first.

    Args:
        results: Folder of the store.
        card: Name of the card sheet.
    """
    with closing(sqlite3.connect(results / STORE)) as store:
        query = f"SELECT {', '.join(_COLUMNS)} FROM runs WHERE card = ? ORDER BY started, run"
        return [StoredRun(*row) for row in store.execute(query, (card,))]


def run(card: str, results: Path, page: Path | None = None) -> int:
    """Take all runs into the store, print those of a card, and write the page of their trends.

    Args:
        card: Name of the card sheet.
        results: Folder of the run folders.
        page: The page; by default ``history-CARD.html`` next to the runs.

    Raises:
        BenchFault: The store cannot be written, or there is no run of the card.
    """
    fill(results)
    runs = runs_of(results, card)
    if not runs:
        raise BenchFault(f"{results}: holds no finished run of card {card!r}; expected: at least one")
    for each in runs:
        print(f"{each.started}  {each.verdict:<14}  {each.software}  {each.run}")
    file = page or results / f"history-{card}.html"
    write_atomically(file, page_of(_content(card, runs, list(_trends(results, runs)))))
    print(file)
    return 0


def _take(store: sqlite3.Connection, run_dir: Path) -> bool:
    try:
        noted = read_run(run_dir)
        verdict = str(read_json_object(run_dir / CERTIFICATE_FILE)["verdict"])
        measured = read(run_dir) if (run_dir / FILE).exists() else ()
    except (BenchFault, KeyError):
        return False
    facts = {name: str(noted["facts"].get(name) or "not recorded") for name in ("firmware", "driver", "system")}
    began = (run_dir.name, noted["card"], noted["bench"], noted["started"], verdict)
    row = (*began, *facts.values(), noted.get("plan") or "not recorded", noted.get("subject"))
    store.execute("DELETE FROM figures WHERE run = ?", (run_dir.name,))
    store.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    figures = [(run_dir.name, _name(each), each.unit, json.dumps(each.samples)) for each in measured]
    store.executemany("INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?)", figures)
    return True


def _name(measurement: Measurement) -> str:
    """The figure with its parameters: what is the same figure in another run."""
    parameters = ", ".join(f"{name} {value}" for name, value in sorted(measurement.key.parameters.items()))
    return f"{measurement.test} ({parameters})" if parameters else measurement.test


def _trends(results: Path, runs: Sequence[StoredRun]) -> Iterator[LineChart]:
    """A chart of each figure: its mean with the 95 % interval from run to run, one line for each software."""
    number = {each.run: place for place, each in enumerate(runs, start=1)}
    software = {each.run: each.software for each in runs}
    series: dict[tuple[str, str], dict[str, list[Point]]] = {}
    with closing(sqlite3.connect(results / STORE)) as store:
        for name, unit, of_run, samples in store.execute("SELECT name, unit, run, samples FROM figures ORDER BY name"):
            if of_run in number:
                lines = series.setdefault((name, unit), {})
                lines.setdefault(software[of_run], []).append(_point(number[of_run], json.loads(samples)))
    for (name, unit), lines in series.items():
        newest = sorted(lines, key=lambda each: max(point.x for point in lines[each]))[-COLOURS:]
        drawn = tuple(ChartLine(each, tuple(sorted(lines[each], key=lambda point: point.x))) for each in newest)
        title, _, note = name.partition(" (")
        yield LineChart(title, note.removesuffix(")"), "run", unit, drawn, from_zero=False)


def _point(x: int, samples: Sequence[float]) -> Point:
    if len(samples) < 2:
        return Point(x, samples[0], samples[0], samples[0])
    interval = t_interval(samples)
    return Point(x, fmean(samples), interval.low, interval.high)


def _content(card: str, runs: Sequence[StoredRun], charts: Sequence[LineChart]) -> Content:
    certified = sum(each.verdict == "CERTIFIED" for each in runs)
    looks = {"CERTIFIED": "pass"}
    rows = tuple(
        Row(
            (
                Cell(str(number), each.started[:10]),
                Cell(each.run, f"plan {each.plan}, bench {each.bench}"),
                Cell(each.software, each.system),
                Cell(each.verdict, "", looks.get(each.verdict, "card-failure")),
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
        look="good" if runs[-1].verdict == "CERTIFIED" else "bad",
        reasons=(),
        summary=(f"Last run: {runs[-1].verdict}.",),
        parts=(
            Part("Trends", (pictures,) if charts else (Words("No run has measurements."),)),
            Part("Runs", (Table(("Run", "", "Firmware, driver, system", "Verdict"), (0.8, 3.4, 3, 1.8), rows),)),
        ),
        issued=now(),
    )
