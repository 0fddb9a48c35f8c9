"""The Allure report knows earlier runs of its card, replaces its own entry, and says what is waived."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_allure import FAKE_ALLURE, program

from niclab.report.allure.allure import generate
from niclab.report.allure.allure_tools import Tools

NODE = f"""{FAKE_ALLURE}
echo page > "$out/index.html"
for results; do :; done
cp "$results"/*-result.json "$out"
history=$(sed -n 's/.*"history": "\\(.*\\)",*/\\1/p' "$NICLAB_REPORT_SETTINGS")
cp "$history" "$out/seen.jsonl"
echo "{{\\"own\\": \\"$(cat "$results/own")\\"}}" >> "$history"
"""


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(program(tmp_path / "bin" / "node", NODE), tmp_path / "cli.js")


def made(root: Path, name: str, tools: Tools, card: str = "x") -> list[str]:
    """Make the report of a run; return the history that the generator saw."""
    run_dir = root / name
    results = run_dir / "allure-results"
    results.mkdir(parents=True, exist_ok=True)
    (results / "own").write_text(name)
    (results / "1-result.json").write_text(json.dumps({"fullName": "Q.A", "labels": []}))
    run = {"card": card, "bench": "b", "started": name}
    (run_dir / "run.json").write_text(json.dumps(run))
    generate(results, run_dir / "allure-report", run, tools)
    return (run_dir / "allure-report" / "seen.jsonl").read_text().splitlines()


def test_a_report_sees_earlier_runs_of_its_card_and_replaces_its_own(tmp_path: Path, tools: Tools) -> None:
    assert made(tmp_path, "2026-01", tools) == []
    assert made(tmp_path, "2026-02", tools, card="of another vendor") == []
    for _ in range(2):
        assert made(tmp_path, "2026-03", tools) == ['{"own": "2026-01"}']
    assert made(tmp_path, "2026-04", tools) == ['{"own": "2026-01"}', '{"own": "2026-03"}']
    assert made(tmp_path, "2026-01", tools) == []


def test_a_waived_failure_is_marked_and_the_results_stay_as_they_are(tmp_path: Path, tools: Tools) -> None:
    run_dir = tmp_path / "2026-01"
    run_dir.mkdir()
    waiver = {"waiver": "nic-42", "reason": "known", "owner": "lab", "expires": "2999-01-01"}
    tests = [{"name": "Q.A", "waiver": "nic-42"}]
    (run_dir / "certificate.json").write_text(json.dumps({"waivers": [waiver], "tests": tests}))
    made(tmp_path, "2026-01", tools)
    result = json.loads((run_dir / "allure-report" / "1-result.json").read_text())
    assert result["labels"] == [{"name": "waiver", "value": "nic-42"}]
    assert result["description"].startswith("Waiver nic-42, until 2999-01-01, by lab: known")
    assert '"Waivers": "nic-42: known"' in (run_dir / "allure-report" / "settings.json").read_text()
    assert json.loads((run_dir / "allure-results" / "1-result.json").read_text())["labels"] == []
