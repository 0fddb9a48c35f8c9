"""Runs of several cards as one: the merged Allure report, and a page that sums them up."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from niclab.core.exit_status import ExitStatus
from niclab.report import now, read_json_object, write_json
from niclab.report.allure import allure
from niclab.report.allure.allure_results import SUMMARY_NAME
from niclab.report.allure.allure_tools import Tools
from niclab.report.evidence.runfolder import ALLURE_RESULTS_FOLDER, CERTIFICATE_FILE, DEMONSTRATION
from niclab.report.pages.blocks import Cell, Content, Part, Row, Table
from niclab.report.pages.page import page_of
from niclab.report.verdicts import Verdict

_OWN = {"uuid", "source", "historyId", "testCaseId"}
"""Fields of Allure's results by which files and histories are found: two cards must not share any."""
_LOOKS = {ExitStatus.CERTIFIED: "pass", ExitStatus.WAIVED: "pass", ExitStatus.CARD_FAILURE: "card-failure"}


@dataclass(frozen=True)
class CardRun:
    """The run of one card. ``folder``: of its run, None where there is none."""

    card: str
    bench: str
    status: ExitStatus
    seconds: float
    folder: Path | None


def merge_allure(runs: Sequence[CardRun], folder: Path, tools: Tools) -> Path:
    """Make one Allure report of the results of several cards; return its page.

    Args:
        runs: The runs.
        folder: Folder of the merged results and of the report.
        tools: What makes the report.

    Raises:
        BenchFault: No run has results, or the report cannot be made.
    """
    results = folder / ALLURE_RESULTS_FOLDER
    results.mkdir()
    subjects = set()
    for run in runs:
        if run.folder is None:
            continue
        subjects.add(_certificate(run).get("subject"))
        for file in sorted((run.folder / ALLURE_RESULTS_FOLDER).iterdir()):
            _copy(file, results, run.card)
    about = {
        "card": ", ".join(run.card for run in runs),
        "bench": ", ".join(sorted({run.bench for run in runs})),
        "subject": DEMONSTRATION if DEMONSTRATION in subjects else next(iter(subjects), None),
        "started": now(),
    }
    return allure.generate(results, folder / allure.REPORT_FOLDER, about, tools)


def summary_page(runs: Sequence[CardRun], seconds: float, *, report: bool) -> str:
    """Return the page that sums up several runs.

    Args:
        runs: The runs.
        seconds: How long all of them took together.
        report: There is a merged Allure report next to the page.
    """
    certified = sum(run.status in (ExitStatus.CERTIFIED, ExitStatus.WAIVED) for run in runs)
    alone = sum(run.seconds for run in runs)
    columns = ("Card", "Verdict", "Tests", "Minutes", "Run")
    table = Table(columns, (2.4, 2, 2.6, 1, 3), tuple(map(_row, runs)))
    demonstration = any(_certificate(run).get("subject") == DEMONSTRATION for run in runs)
    where = f"Allure report of all cards: {allure.REPORT_FOLDER}/{allure.REPORT_NAME}."
    return page_of(
        Content(
            title="Qualification of several cards",
            subtitle=f"{len(runs)} cards on {len({run.bench for run in runs})} benches",
            window_title="Qualification of several cards",
            banner=DEMONSTRATION if demonstration else "",
            headline=f"{certified} of {len(runs)} cards certified",
            look="good" if certified == len(runs) else "bad",
            reasons=(),
            summary=(
                f"{seconds / 60:.1f} minutes; one after the other: {alone / 60:.1f} minutes.",
                *((where,) if report else ()),
            ),
            parts=(Part("Cards", (table,)),),
            issued=now(),
        )
    )


def _row(run: CardRun) -> Row:
    certificate = _certificate(run)
    counts = certificate.get("counts") or {}
    said = ", ".join(f"{counts[each.value]} {each.title.lower()}" for each in Verdict if counts.get(each.value))
    where = str(run.folder.relative_to(run.folder.parents[1])) if run.folder else "no run folder"
    reasons = certificate.get("reasons") or ()
    words = run.status.name.lower().replace("_", " ")
    return Row(
        (
            Cell(run.card, run.bench),
            Cell(words, str(reasons[0]) if reasons else "", _LOOKS.get(run.status, "bench-fault")),
            Cell(said or "none"),
            Cell(f"{run.seconds / 60:.1f}"),
            Cell(where),
        )
    )


def _certificate(run: CardRun) -> dict[str, Any]:
    file = run.folder / CERTIFICATE_FILE if run.folder else None
    return read_json_object(file) if file is not None and file.is_file() else {}


def _copy(file: Path, results: Path, card: str) -> None:
    if file.name == SUMMARY_NAME:
        return
    if not file.name.endswith(("-result.json", "-container.json")):
        shutil.copyfile(file, results / f"{card}-{file.name}")
        return
    content = _of_card(read_json_object(file), card)
    if "titlePath" in content:
        content["titlePath"] = [card, *content["titlePath"][1:]]
    for label in content.get("labels") or ():
        if label["name"] == "parentSuite":
            label["value"] = card
    write_json(results / f"{card}-{file.name}", content)


def _of_card(value: Any, card: str) -> Any:
    """The same with names of the card's own."""
    if isinstance(value, list):
        return [_of_card(each, card) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {name: _of_card(each, card) for name, each in value.items()}
    for name in _OWN & changed.keys():
        changed[name] = f"{card}-{changed[name]}"
    if "children" in changed:
        changed["children"] = [f"{card}-{each}" for each in changed["children"]]
    return changed
