"""The files for a vendor hold that vendor's data alone, ask nothing from a network, and hold no secret."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from robot_runs import RobotRun

from niclab.bench.bench_file import load_bench
from niclab.card import CARDS
from niclab.core.verdict import BenchFault
from niclab.files.repository import REPOSITORY
from niclab.report.allure import allure_tools
from niclab.report.allure.allure import generate
from niclab.report.certificate.certificate import certify
from niclab.report.evidence.evidence import seal
from niclab.report.evidence.inputs import without_other_cards
from niclab.report.evidence.runfolder import read_run

SECRET = "hunter2-of-the-bmc"
OTHER = "emulex-oce11102"
LOADED = re.compile(
    r"""<(?:script|img|iframe|link|source|video|audio|embed)\b[^>]*\b(?:src|href)\s*=\s*["']?(?:https?:)?//"""
    r"""|url\(\s*["']?(?:https?:)?//|@import\s+["'](?:https?:)?//""",
    re.IGNORECASE,
)


@pytest.fixture
def run_dir(good_run: RobotRun, tmp_path: Path) -> Path:
    """A run whose evidence holds a secret, next to a run of another vendor's card."""
    folder = Path(shutil.copytree(good_run.folder, tmp_path / "20260102-intel-82574l-virtual"))
    (folder / "evidence" / "console.log").write_text(f"login: root\npassword: {SECRET}\n")
    seal(folder / "evidence", [SECRET])
    other = Path(shutil.copytree(good_run.folder, tmp_path / f"20260101-{OTHER}-virtual"))
    about = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps({**about, "card": OTHER, "started": "2026-01-01T00:00:00+00:00"}))
    (other / "allure-report").mkdir()
    (other / "allure-report" / "history.json").write_text(json.dumps({"name": OTHER}))
    return folder


def held_by(folder: Path, words: str) -> list[str]:
    return [file.name for file in sorted(folder.rglob("*")) if file.is_file() and words.encode() in file.read_bytes()]


def test_a_certificate_holds_neither_secrets_nor_other_cards_and_loads_nothing(run_dir: Path) -> None:
    certify(run_dir, 0)
    assert held_by(run_dir, SECRET) == [] and held_by(run_dir, OTHER) == []
    for page in run_dir.glob("certificate.html"):
        assert LOADED.findall(page.read_text()) == []


@pytest.mark.parametrize("card", ["intel-x520", "chelsio-t580-cr", "intel-82574l", "intel-82576"])
def test_the_kept_bench_file_is_the_same_bench_for_its_card(card: str, tmp_path: Path) -> None:
    text = (REPOSITORY / "lab" / "benches" / "virtual.yaml").read_text()
    kept = tmp_path / "virtual.yaml"
    kept.write_text(without_other_cards(text, card) + "\n")
    original = load_bench(REPOSITORY / "lab" / "benches" / "virtual.yaml")
    assert load_bench(kept).with_card(card).ports == original.with_card(card).ports
    assert load_bench(kept).deviations == tuple(each for each in original.deviations if each.card == card)
    assert all(other.stem == card or other.stem not in kept.read_text() for other in CARDS.glob("*.yaml"))


@pytest.mark.slow
def test_an_allure_report_holds_neither_secrets_nor_other_cards_and_loads_nothing(run_dir: Path) -> None:
    try:
        found = allure_tools.find()
    except BenchFault as missing:
        pytest.skip(f"{missing}")
    page = generate(run_dir / "allure-results", run_dir / "allure-report", read_run(run_dir), found)
    assert held_by(run_dir, SECRET) == [] and held_by(run_dir / "allure-report", OTHER) == []
    assert LOADED.findall(page.read_text()) == []


@pytest.mark.parametrize("loading", ['<script src="https://a/b.js">', "url(//a/b.woff)", "<img src=http://a/b.png>"])
def test_the_search_finds_what_is_loaded(loading: str) -> None:
    assert LOADED.findall(loading) and not LOADED.findall('<a href="https://a/">')
