"""Import rate, history of one card and page of a results store of many runs; argument: runs, and a URL or a file."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "libraries"))

from niclab.commands.results.history import page_of_card
from niclab.report.store.results_store import ResultsStore, StoredFigure, StoredRun

RUNS, FIGURES, CARDS = 100_000, 125, 200


def stored(number: int) -> tuple[StoredRun, Sequence[StoredFigure]]:
    started = f"2026-01-01T00:00:{number:06}+00:00"
    card, software = f"card-{number % CARDS}", (f"firmware {number // 40_000}", "driver 1", "Debian")
    run = StoredRun(
        "lab", f"run-{number}", card, started, "CERTIFIED", *software, "quick", "b", "physical card", f"S{number}"
    )
    samples = [tuple(random.gauss(940, 3) for _ in range(3)) for _ in range(FIGURES)]
    return run, [StoredFigure(f"figure {place}", "Mbit/s", each) for place, each in enumerate(samples)]


def main(count: int, url: str | Path) -> None:
    with closing(ResultsStore(url)) as store:
        begun = time.perf_counter()
        for number in range(count):
            store.put(*stored(number))
        spent = time.perf_counter() - begun
        print(f"import: {count} runs of {FIGURES} figures in {spent:.1f} s, {count / spent:.0f} runs/s")
        begun = time.perf_counter()
        runs = store.runs_of("card-7")
        print(f"history of one card: {len(runs)} runs in {time.perf_counter() - begun:.3f} s; expected at most 1 s")
        begun = time.perf_counter()
        page = page_of_card(store, "card-7", runs)
        print(f"page: {len(page)} characters in {time.perf_counter() - begun:.2f} s; expected at most 3 s")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(
            int(sys.argv[1]) if len(sys.argv) > 1 else RUNS,
            sys.argv[2] if len(sys.argv) > 2 else Path(folder, "store.sqlite"),
        )
