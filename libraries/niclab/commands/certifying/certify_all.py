"""Many cards over several benches at once: a run for each card, one merged report, one page that sums them up."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from niclab.bench.bench_file import load_bench
from niclab.card import load_card
from niclab.card.card_file import CARDS
from niclab.commands.results.report import look_for_tools
from niclab.core.abort import on_ending
from niclab.core.exit_status import GRAVEST_FIRST, ExitStatus
from niclab.core.undo import Journal
from niclab.core.verdict import BenchFault
from niclab.files.repository import RESULTS
from niclab.report import warn, write_atomically
from niclab.report.evidence.runfolder import LATEST
from niclab.report.pages.several import CardRun, merge_allure, summary_page
from niclab.traffic.runs.turns import LOCK

PAGE = "summary.html"
NICLAB = (sys.executable, "-m", "niclab.commands.cli")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command.

    Args:
        commands: Where to.
    """
    every = commands.add_parser("certify-all", help="qualify many cards over several benches at once")
    every.add_argument("bench", nargs="+", type=Path, help="bench files; each runs one card at a time")
    every.add_argument("--cards", default="", metavar="'NAME NAME'", help="names of card sheets; by default all")
    every.add_argument("--profile", default="quick", choices=["quick", "full"], help="its own plan")
    every.add_argument("--suite", action="append", default=[], metavar="NAME", help="run this suite only: partial runs")
    every.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    every.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> ExitStatus:
    words = ["--profile", options.profile, *(word for suite in options.suite for word in ("--suite", suite))]
    cards = options.cards.split() or sorted(file.stem for file in CARDS.glob("*.yaml"))
    return run(cards, options.bench, words, options.results)


def run(cards: Sequence[str], benches: Sequence[Path], words: Sequence[str], results: Path) -> ExitStatus:
    """Qualify cards, as many at a time as there are benches; return the worst status of all.

    Args:
        cards: Names of the card sheets.
        benches: Bench files.
        words: Options of ``niclab certify``.
        results: Folder of the results; this gets a folder of its own in it.

    Raises:
        BenchFault: A sheet or a bench file is wrong, a name is there twice, or there is no room for the results.
    """
    names = [load_bench(bench).name for bench in benches]
    for card in cards:
        load_card(card)
    for what, given in (("bench", names), ("card", cards)):
        if len(set(given)) != len(given):
            raise BenchFault(f"certify-all: {what}: {', '.join(given)}; expected each once")
    tools = look_for_tools()
    folder = results / f"all-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    folder.mkdir(parents=True)
    begun = time.monotonic()
    runs = _Benches(folder, words).qualify(cards, dict(zip(names, benches, strict=True)))
    seconds = time.monotonic() - begun
    report = False
    try:
        if tools is not None and any(each.folder for each in runs):
            merge_allure(runs, folder, tools)
            report = True
    except BenchFault as fault:
        warn(f"no merged Allure report: {fault}")
    page = folder / PAGE
    write_atomically(page, summary_page(runs, seconds, report=report))
    print(page)
    found = {each.status for each in runs}
    order = (*GRAVEST_FIRST, ExitStatus.WAIVED)
    return next((each for each in order if each in found), ExitStatus.CERTIFIED)


class _Benches:
    """Benches, each of which takes the next card when it has done one."""

    def __init__(self, folder: Path, words: Sequence[str]) -> None:
        self._folder, self._words = folder, list(words)
        self._lock, self._ended = threading.Lock(), False
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._queue: deque[str] = deque()
        self._done: dict[str, CardRun] = {}

    def qualify(self, cards: Sequence[str], benches: dict[str, Path]) -> list[CardRun]:
        """Run every card; a request to end reaches each run, and no further one begins."""
        self._queue.extend(cards)
        threads = [threading.Thread(target=self._work, args=each) for each in benches.items()]
        with on_ending(self._end):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        nothing = (CardRun(card, "none", ExitStatus.BENCH_FAULT, 0.0, None) for card in cards)
        return [self._done.get(each.card, each) for each in nothing]

    def _end(self, number: int, _: object) -> None:
        self._ended = True
        for process in tuple(self._processes):
            process.send_signal(number)

    def _work(self, bench: str, file: Path) -> None:
        while not self._ended:
            try:
                card = self._queue.popleft()
            except IndexError:
                return
            try:
                done = self._certify(card, bench, file)
            except OSError as error:  # a full disk: the other cards have their turn all the same
                print(f"niclab: {card} on {bench}: {error}", file=sys.stderr, flush=True)
                done = CardRun(card, bench, ExitStatus.BENCH_FAULT, 0.0, None)
            self._done[card] = done
            print(f"{card} on {bench}: {done.status.name}, {done.seconds / 60:.1f} min", flush=True)
            if done.folder is None and (left := _left_changed(bench)):
                self._queue.appendleft(card)  # nothing was run: another bench may qualify it
                print(f"{bench}: takes no further card: {left}", flush=True)
                return

    def _certify(self, card: str, bench: str, file: Path) -> CardRun:
        own, begun = self._folder / card, time.monotonic()
        own.mkdir(exist_ok=True)  # another bench may have had it
        command = [*NICLAB, "certify", str(file), "--card", card, *self._words]
        environment = os.environ | {LOCK: str(self._folder / "measuring.lock")}
        with (own / "output.txt").open("ab") as said:
            process = subprocess.Popen(
                [*command, "--results", str(own)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            self._processes.add(process)
            if self._ended:  # a request to end came while it was being started
                process.terminate()
            status = process.wait()
            self._processes.discard(process)
        usual = set(ExitStatus) - {ExitStatus.WRONG_USAGE}
        known = ExitStatus(status) if status in usual else ExitStatus.BENCH_FAULT
        latest = own / LATEST
        return CardRun(card, bench, known, time.monotonic() - begun, latest.resolve() if latest.exists() else None)


def _left_changed(bench: str) -> str:
    """Say what could not be undone on a bench; empty where nothing has failed to be."""
    try:
        failed = [entry for entry in Journal.for_bench(bench).pending() if entry.errors or entry.is_elsewhere]
    except BenchFault as error:
        return str(error)
    return "" if not failed else f"{len(failed)} changes could not be undone, such as {failed[0]}"
