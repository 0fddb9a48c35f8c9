"""The Allure report of a run as one HTML file that needs nothing from outside.

The look of the report is in ``report/templates/allurerc.mjs``; :mod:`niclab.report.allure.allure_tools` installs what
makes it.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault
from niclab.report import LOOK, read_json_object, write_atomically, write_json
from niclab.report.allure.allure_tools import Tools, basic_environment
from niclab.report.allure.allure_tools import run as run_tool
from niclab.report.evidence.runfolder import CERTIFICATE_FILE, DEMONSTRATION, NEEDED_FACTS, RUN_FILE

REPORT_FOLDER = "allure-report"
REPORT_NAME = "index.html"
HISTORY_NAME = "history.json"
"""The file by which the report of a run adds to the history of later ones."""
HISTORY_RUNS = 20
NOT_RECORDED = "not recorded"
_GENERATE_WITHIN_S = 600
# Allure 3.18.0 writes this into every page and has no switch against it.
_BEACON = re.compile(
    r'\s*<script async src="https://www\.googletagmanager\.com/[^<]*</script>\s*<script>\s*window\.dataLayer.*?</script>',
    re.DOTALL,
)
_BEACON_HOST = "googletagmanager"


def generate(
    results_dir: Path,
    out_dir: Path,
    run: Mapping[str, Any],
    tools: Tools,
    *,
    look: Path = LOOK,
) -> Path:
    """Make the report of the Allure results in ``results_dir`` and return the path of its HTML file.

    Args:
        results_dir: Folder with the results.
        out_dir: Folder of the report. What an earlier report left there is removed first.
        run: The content of ``run.json``; card, bench and facts are shown in the report.
        tools: What makes the report.
        look: Folder with ``allurerc.mjs`` and ``logo.svg``.

    Raises:
        BenchFault: When there are no results, ``out_dir`` holds something else than a report, Allure fails (with the
            end of its output), or the analytics beacon cannot be removed.
    """
    if not any(results_dir.glob("*-result.json")):
        raise BenchFault(f"{results_dir}: holds no Allure results; expected at least one *-result.json")
    if results_dir.resolve().is_relative_to(out_dir.resolve()):
        raise BenchFault(f"{out_dir}: holds the results {results_dir}; expected another folder for the report")
    _clean(out_dir)
    with tempfile.TemporaryDirectory(prefix="niclab-allure-") as folder:
        work = Path(folder)
        for name in ("allurerc.mjs", "logo.svg"):
            shutil.copyfile(_existing(look / name), work / name)
        history = work / "history.jsonl"
        history.write_text("".join(f"{line}\n" for line in _history(results_dir.absolute().parent, run)))
        staged, waived = _staged(results_dir, work)
        settings = {
            "title": _title(run),
            "output": str(work / "report"),
            "variables": {**_variables(run), **waived},
            "history": str(history),
        }
        write_json(work / "settings.json", settings)
        private = {"HOME": str(work), "NICLAB_REPORT_SETTINGS": str(work / "settings.json")}
        run_tool(
            [str(tools.node), str(tools.allure), "generate", "--config", "allurerc.mjs", str(staged)],
            what="Allure report",
            within_s=_GENERATE_WITHIN_S,
            cwd=work,
            environment=basic_environment() | private,
        )
        if not (work / "report" / REPORT_NAME).is_file():
            raise BenchFault(f"Allure report: {REPORT_NAME} was not written although the generator ended well")
        strip_beacon(work / "report")
        _keep_history(history, work / "report" / HISTORY_NAME)
        shutil.copytree(work / "report", out_dir)
    return out_dir / REPORT_NAME


def _history(run_dir: Path, run: Mapping[str, Any]) -> list[str]:
    """The entries of earlier runs of the same card on the same bench, oldest first; never one of another card.

    Each report keeps its own entry, so that a report that is made again replaces it.
    """
    found = []
    for file in sorted(run_dir.parent.glob(f"2*/{REPORT_FOLDER}/{HISTORY_NAME}")):
        other = file.parents[1]
        try:
            about = read_json_object(other / RUN_FILE)
            entry = file.read_text("utf-8").strip()
        except (BenchFault, OSError, UnicodeDecodeError):
            continue  # a run that cannot be read has no history
        same = all(about.get(name) == run.get(name) for name in ("card", "bench"))
        if same and other != run_dir and str(about.get("started")) < str(run.get("started")):
            found.append(entry)
    return found[-HISTORY_RUNS:]


def _keep_history(history: Path, file: Path) -> None:
    """Keep the entry that the generator has added, the last one; a generator that adds none leaves none."""
    lines = history.read_text("utf-8").splitlines()
    if lines:
        file.write_text(f"{lines[-1]}\n")


def _staged(results_dir: Path, work: Path) -> tuple[Path, dict[str, str]]:
    """The results, with a label at each failure that a waiver covers; and what the report says of the waivers."""
    certificate = results_dir.parent / CERTIFICATE_FILE
    content = read_json_object(certificate) if certificate.is_file() else {}
    waivers = {each["waiver"]: each for each in content.get("waivers") or ()}
    covered = {test["name"]: test["waiver"] for test in content.get("tests") or () if test.get("waiver")}
    if not covered:
        return results_dir.absolute(), {}
    staged = work / "results"
    shutil.copytree(results_dir, staged)
    for path in staged.glob("*-result.json"):
        result = read_json_object(path)
        if waiver := waivers.get(covered.get(str(result.get("fullName")), "")):
            said = f"Waiver {waiver['waiver']}, until {waiver['expires']}, by {waiver['owner']}: {waiver['reason']}"
            result["labels"].append({"name": "waiver", "value": waiver["waiver"]})
            result["description"] = f"{said}\n\n{result.get('description') or ''}"
            result.pop("descriptionHtml", None)
            write_json(path, result)
    used = sorted(set(covered.values()))
    return staged, {"Waivers": "; ".join(f"{name}: {waivers[name]['reason']}" for name in used)}


def strip_beacon(report_dir: Path) -> None:
    """Remove the analytics beacon from every page below ``report_dir``.

    Raises:
        BenchFault: When anything of it is left: the report must not call home from a vendor's desk.
    """
    for page in sorted(report_dir.rglob("*.html")):
        text = page.read_text("utf-8")
        bare = _BEACON.sub("", text)
        if bare != text:
            write_atomically(page, bare)
        if _BEACON_HOST in bare:
            raise BenchFault(f"{page}: still mentions {_BEACON_HOST}; expected a report without analytics")


def _clean(out_dir: Path) -> None:
    """Remove an earlier report: Allure never does, and a second run with an old page was once read as new numbers."""
    if not out_dir.exists():
        return
    if not out_dir.is_dir() or (any(out_dir.iterdir()) and not (out_dir / REPORT_NAME).is_file()):
        raise BenchFault(
            f"{out_dir}: is not a report and stays as it is; expected a folder with {REPORT_NAME}, or none"
        )
    shutil.rmtree(out_dir)


def _title(run: Mapping[str, Any]) -> str:
    mark = f"{DEMONSTRATION}: " if run.get("subject") == DEMONSTRATION else ""
    return f"{mark}{run.get('card') or NOT_RECORDED} on {run.get('bench') or NOT_RECORDED}"


def _variables(run: Mapping[str, Any]) -> dict[str, str]:
    shown = {"Bench": run.get("bench"), "Card": run.get("card"), "Subject": run.get("subject")}
    facts = run.get("facts") or {}
    shown |= {name.capitalize(): facts.get(name) for name in (*NEEDED_FACTS, *sorted(set(facts) - set(NEEDED_FACTS)))}
    return {name: str(value) if value else NOT_RECORDED for name, value in shown.items()}


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise BenchFault(f"{path}: is missing; expected a file")
    return path
