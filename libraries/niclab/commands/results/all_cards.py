"""All cards of a lab on one page: what the newest run of each says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from niclab.commands.results.history import NOT_RECORDED, fill, open_store
from niclab.core.verdict import BenchFault
from niclab.report import now, write_atomically
from niclab.report.evidence.runfolder import DEMONSTRATION
from niclab.report.pages.blocks import Cell, Content, Part, Row, Table
from niclab.report.pages.content import is_certified
from niclab.report.pages.page import page_of
from niclab.report.store.results_store import StoredRun

PAGE = "all-cards.html"


def run(results: Path, page: Path | None = None) -> int:
    """Take all runs into the store, print the newest of each card, and write the page of all cards.

    Args:
        results: Folder of the run folders.
        page: The page; by default ``all-cards.html`` next to the runs.

    Raises:
        BenchFault: The store cannot be written, or there is no run.
    """
    with closing(open_store(results)) as store:
        fill(results, store)
        runs = store.runs()
    if not runs:
        raise BenchFault(f"{results}: holds no finished run; expected at least one")
    for each in _newest(runs):
        print(f"{each.card:<22}  {each.started[:16]}  {each.verdict:<14}  {each.system}, {each.software}")
    file = page or results / PAGE
    write_atomically(file, page_of(_content(runs)))
    print(file)
    return 0


def _newest(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The newest run of each card, by its serial number, on each system, plan and bench: by sheet, the newest first.

    A run that ended before it knew system or serial number is one until a later run of the sheet, plan and bench.
    """
    newest: dict[tuple[str, ...], StoredRun] = {}
    for each in runs:
        place = (each.card, each.plan, each.bench)
        for unknown in [key for key in newest if key[:3] == place and (NOT_RECORDED in key or not key[-1])]:
            del newest[unknown]
        newest[*place, each.system, each.serials] = each
    by_card: dict[str, list[StoredRun]] = defaultdict(list)
    for each in sorted(newest.values(), key=lambda each: each.started, reverse=True):
        by_card[each.card].append(each)
    return [each for card in sorted(by_card) for each in by_card[card]]


def _content(runs: Sequence[StoredRun]) -> Content:
    newest = _newest(runs)
    certified = sum(is_certified(each.verdict) for each in newest)
    cards = {each.card for each in newest}
    return Content(
        title="All cards",
        subtitle=f"{len(cards)} cards, {len(runs)} runs, {runs[0].started[:10]} to {runs[-1].started[:10]}",
        window_title="All cards",
        banner=DEMONSTRATION if any(each.subject == DEMONSTRATION for each in newest) else "",
        headline=f"{certified} of {len(newest)} certified",
        look="good" if certified == len(newest) else "bad",
        reasons=(),
        summary=("A row is the newest run of a card, by its serial number, on a system, plan and bench.",),
        parts=(
            Part(
                "Newest runs",
                (
                    Table(
                        ("Card", "Run", "System, firmware, driver", "Verdict"),
                        (2, 3.2, 3, 1.8),
                        tuple(_row(each, runs) for each in newest),
                    ),
                ),
            ),
        ),
        issued=now(),
    )


def _row(newest: StoredRun, runs: Sequence[StoredRun]) -> Row:
    own = (newest.card, newest.serials, newest.system)
    of_card = [each for each in runs if (each.card, each.serials, each.system) == own]
    certified = [each for each in of_card if is_certified(each.verdict)]
    last = f"last certified {certified[-1].started[:10]}" if certified else "never certified"
    look = "pass" if is_certified(newest.verdict) else "card-failure"
    return Row(
        (
            Cell(newest.card, newest.serials),
            Cell(newest.run, f"plan {newest.plan}, bench {newest.bench}"),
            Cell(newest.system, newest.software),
            Cell(newest.verdict, f"{len(certified)} of {len(of_card)} runs certified, {last}", look),
        )
    )
