"""The Allure report of a run as one HTML file that needs nothing from outside.

The look of the report is in ``lab/report/allurerc.mjs``; :mod:`niclab.report.tools` installs what makes it.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault
from niclab.report import LOOK, write_atomically, write_json
from niclab.report.runfolder import DEMONSTRATION, NEEDED_FACTS
from niclab.report.tools import Tools, basic_environment
from niclab.report.tools import run as run_tool

REPORT_FOLDER = "allure-report"
REPORT_NAME = "index.html"
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
        raise BenchFault(f"{results_dir}: holds no Allure results; expected: at least one *-result.json")
    if results_dir.resolve().is_relative_to(out_dir.resolve()):
        raise BenchFault(f"{out_dir}: holds the results {results_dir}; expected: another folder for the report")
    _clean(out_dir)
    with tempfile.TemporaryDirectory(prefix="niclab-allure-") as folder:
        work = Path(folder)
        for name in ("allurerc.mjs", "logo.svg"):
            shutil.copyfile(_existing(look / name), work / name)
        settings = {"title": _title(run), "output": str(work / "report"), "variables": _variables(run)}
        write_json(work / "settings.json", settings)
        private = {"HOME": str(work), "NICLAB_REPORT_SETTINGS": str(work / "settings.json")}
        run_tool(
            [str(tools.node), str(tools.allure), "generate", "--config", "allurerc.mjs", str(results_dir.absolute())],
            what="Allure report",
            within_s=_GENERATE_WITHIN_S,
            cwd=work,
            environment=basic_environment() | private,
        )
        if not (work / "report" / REPORT_NAME).is_file():
            raise BenchFault(f"Allure report: {REPORT_NAME} was not written although the generator ended well")
        strip_beacon(work / "report")
        shutil.copytree(work / "report", out_dir)
    return out_dir / REPORT_NAME


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
            raise BenchFault(f"{page}: still mentions {_BEACON_HOST}; wanted: a report without analytics")


def _clean(out_dir: Path) -> None:
    """Remove an earlier report: Allure never does, and a second run with an old page was once read as new numbers."""
    if not out_dir.exists():
        return
    if not out_dir.is_dir() or (any(out_dir.iterdir()) and not (out_dir / REPORT_NAME).is_file()):
        raise BenchFault(f"{out_dir}: is not a report and stays as it is; wanted: a folder with {REPORT_NAME}, or none")
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
        raise BenchFault(f"{path}: is missing; wanted: a file")
    return path
