"""Real Robot Framework runs of small suites, with a toy library that raises the verdicts of the lab."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from niclab.files.repository import REPOSITORY
from niclab.report.evidence.inputs import Input, keep_inputs
from niclab.report.evidence.runfolder import finish_run, new_run, plan_run, record_facts
from niclab.scope.requirements import REQUIREMENTS_FILE

HERE = Path(__file__).parent
LIBRARIES = HERE.parents[1] / "libraries"
LISTENER = LIBRARIES / "listeners" / "AllureResults.py"
ROBOT_WITHIN_S = 60


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(LIBRARIES), str(HERE / "toy")))}


def robot_command(out: Path, suites: Path, options: Sequence[str] = ()) -> list[str]:
    return [
        *(sys.executable, "-m", "robot", "--console", "none", "--report", "NONE"),
        *("--listener", f"{LISTENER}:{out / 'allure-results'}", "--outputdir", str(out)),
        *(*options, str(suites)),
    ]


@dataclass(frozen=True)
class RobotRun:
    """A finished run: its folder, exit status, stderr, and the Allure results by the name of the test."""

    folder: Path
    rc: int
    stderr: str

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        found = [json.loads(path.read_text()) for path in (self.folder / "allure-results").glob("*-result.json")]
        return {result["name"]: result for result in found}

    @property
    def containers(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in (self.folder / "allure-results").glob("*-container.json")]

    @property
    def summary(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / "allure-results" / "niclab-summary.json").read_text())
        return content

    def attachment(self, source: str) -> str:
        return (self.folder / "allure-results" / source).read_text()


def run_robot(out: Path, suites: Path, options: Sequence[str] = (), extra: Mapping[str, str] | None = None) -> RobotRun:
    done = subprocess.run(
        robot_command(out, suites, options),
        env={**environment(), **(extra or {})},
        capture_output=True,
        text=True,
        timeout=ROBOT_WITHIN_S,
    )
    return RobotRun(out, done.returncode, done.stderr)


def make_run(
    root: Path, suites: Path = HERE / "good", options: Sequence[str] = (), expected_tests: int = 3
) -> RobotRun:
    """A complete run in a run folder of its own, finished and ready to be certified."""
    folder = new_run(root, "intel-82574l", "virtual", command_line=["niclab", "run"], repository=root)
    plan = root / "toy.yaml"
    plan.write_text(
        "plan: toy\ndescription: two facts\nprofile: quick\nrequires: [CARD-03/idle, CARD-03/loaded, CARD-04/link]\n"
    )
    plan_run(folder, expected_tests=expected_tests, plan="toy")
    sheet, bench = REPOSITORY / "lab" / "cards" / "intel-82574l.yaml", REPOSITORY / "lab" / "benches" / "virtual.yaml"
    files = {Input.SHEET: sheet, Input.BENCH: bench, Input.PLAN: plan, Input.REQUIREMENTS: REQUIREMENTS_FILE}
    keep_inputs(folder, files, "intel-82574l")
    run = run_robot(folder, suites, options)
    record_facts(folder, driver="e1000e 6.1.0", firmware="1.8-0", kernel="6.1.0-28-amd64")
    finish_run(folder, run.rc)
    return run
