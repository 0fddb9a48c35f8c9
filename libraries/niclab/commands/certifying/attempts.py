"""Earlier runs of the card of a run: whoever reads its certificate must know that it is the fifth attempt.

They are looked for in the run folders next to it, in those of pipelines and of ``certify-all``, which have a folder for
each run or bench, and in the results store when there is one: over days, benches and controllers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from niclab.commands.results.results_places import DEPTHS, URL, store_is_there
from niclab.core.verdict import BenchFault
from niclab.files.repository import REPOSITORY
from niclab.report import read_json_object, warn
from niclab.report.evidence.runfolder import CERTIFICATE_FILE, RUN_FILE, read_run, record_attempts


class _Attempt(NamedTuple):
    """A run; its first fields tell it from others, in the order of time."""

    started: str
    run: str
    bench: str
    card: str
    serials: frozenset[str]
    verdict: str
    subject: str


def note_attempts(run_dir: Path) -> None:
    """Note the earlier runs of the same card in the run's ``run.json``.

    The same card is one with one of its serial numbers; where it shows none, one of the same sheet on the same bench.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: The run folder cannot be read or written.
    """
    this, problem = _attempt(run_dir), ""
    assert this is not None
    found = {(each.started, each.run): each for folder in _folders(run_dir) for each in _of_folder(folder)}
    try:
        found |= {(each.started, each.run): each for each in _of_store(run_dir.parent, this.card)}
    except BenchFault as fault:
        problem = str(fault)
    earlier = [
        {"run": each.run, "bench": each.bench, "started": each.started, "verdict": each.verdict}
        for each in sorted(found.values())
        if (each.started, each.run) < (this.started, this.run) and _is_same_card(this, each)
    ]
    record_attempts(run_dir, earlier, problem)


def put_into_store(run_dir: Path) -> None:
    """Take a finished run into the store of the lab, where there is one by URL. One that fails is a warning.

    Args:
        run_dir: Folder of the run.
    """
    if not os.environ.get(URL):
        return
    try:
        from niclab.commands.results.history import open_store, take

        with closing(open_store(run_dir.parent)) as store:
            take(store, run_dir)
    except BenchFault as fault:
        warn(f"the run is not in the store of results: {fault}")


def _is_same_card(this: _Attempt, other: _Attempt) -> bool:
    if this.subject != other.subject or this.card != other.card:
        return False
    if this.serials and other.serials:
        return bool(this.serials & other.serials)
    return this.bench == other.bench


def _folders(run_dir: Path) -> list[Path]:
    """The folder of the run, and that of all results of the lab where the run is in it, however deep."""
    own, lab = run_dir.resolve().parent, (REPOSITORY / "results").resolve()
    return [lab] if lab in (own, *own.parents) else [own]


def _of_folder(folder: Path) -> Iterator[_Attempt]:
    for depth in DEPTHS:
        for file in folder.glob(f"{depth}/{RUN_FILE}"):
            if (found := _attempt(file.parent)) is not None:
                yield found


def _attempt(run_dir: Path) -> _Attempt | None:
    try:
        run: dict[str, Any] = read_run(run_dir)
        started, name, bench, card = (str(run[each]) for each in ("started", "run", "bench", "card"))
    except (BenchFault, KeyError):
        return None  # another file of that name: it is no run
    serials = frozenset(filter(None, str(run["facts"].get("serial_numbers") or "").split(", ")))
    return _Attempt(started, name, bench, card, serials, _verdict_of(run_dir), str(run.get("subject")))


def _of_store(results: Path, card: str) -> Iterator[_Attempt]:
    if not store_is_there(results):
        return
    from niclab.commands.results.history import (
        open_store,  # needs the packages of the results store, which are optional
    )

    with closing(open_store(results)) as store:
        for each in store.runs_of(card):
            serials = frozenset(filter(None, each.serials.split(", ")))
            yield _Attempt(each.started, each.run, each.bench, each.card, serials, each.verdict, each.subject)


def _verdict_of(run_dir: Path) -> str:
    try:
        return str(read_json_object(run_dir / CERTIFICATE_FILE)["verdict"])
    except (BenchFault, KeyError):
        return "no certificate"
