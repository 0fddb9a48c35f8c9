"""The files for a vendor hold that vendor's data alone, ask nothing from a network, and hold no secret."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from file_fixtures import Edit
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
    kept.write_text(without_other_cards(text, card, "virtual.yaml") + "\n")
    original = load_bench(REPOSITORY / "lab" / "benches" / "virtual.yaml")
    assert load_bench(kept).with_card(card).ports == original.with_card(card).ports
    assert load_bench(kept).deviations == tuple(each for each in original.deviations if each.card == card)
    assert all(other.stem == card or other.stem not in kept.read_text() for other in CARDS.glob("*.yaml"))


WAYS = {
    "another key first": """deviations:
  # x520: to be measured
  - fact: filters.vlan
    card: intel-82574l
    how: |
      - card: intel-82574l

    source: measured
  - fact: filters.vlan
    card: intel-x520
    how: none
    source: measured
  # x520: the end
# about the servers
""",
    "in quotes, with a comment": """"deviations": # of models
- card: "intel-x520"  # 10 Gbit/s
  {rest}
- # 1 Gbit/s
  'card': "intel-82574l"  # 1 Gbit/s
  {rest}
# about the servers
""",
    "in braces": """deviations: [{card: intel-x520, fact: filters.vlan, how: none, source: x520},
  # x520: the end
  {card: "intel-82574l", fact: filters.vlan, how: 'none, it seems', source: measured}, ]  # about the servers
""",
    "braces in lines": """deviations:
  - {card: intel-x520, fact: filters.vlan, how: none, source: measured}
  - {card: intel-82574l, fact: filters.vlan, how: none,
     source: measured}
# about the servers
""",
    "none of its own": """deviations:
  - card: intel-x520
    {rest}
# about the servers
""",
    "ports in braces": """cards: {intel-x520: {ports: {ports}, rate_scale: 1},
  "intel-82574l": {ports: {ports}, rate_scale: 2}}
# about the servers
""",
    "ports in quotes": """cards:
    "intel-82574l":   # as it is
        rate_scale: 2

        ports: {ports}
    'intel-x520' :
        ports: {ports}
# about the servers
""",
}
REST = "fact: filters.vlan\n  how: none\n  source: measured"
PORTS = ", ".join(f'{role}.p{n}: {{pci: "0000:0{n + 1}:00.0"}}' for role in ("dut", "peer") for n in range(2))


@pytest.mark.parametrize("way", WAYS)
def test_an_entry_is_its_cards_however_it_is_written(way: str, edited_bench: Edit) -> None:
    own = WAYS[way].replace("{ports}", f"{{{PORTS}}}")
    rest = REST.replace("\n  ", "\n    ") if "    {rest}" in own else REST
    file = edited_bench(("servers:\n", own.replace("{rest}", rest) + "servers:\n"))
    original = load_bench(file)
    file.write_text(without_other_cards(file.read_text(), "intel-82574l", "virtual.yaml"))
    kept = load_bench(file)
    assert kept.with_card("intel-82574l").ports == original.with_card("intel-82574l").ports
    assert kept.with_card("intel-82574l").paths == original.with_card("intel-82574l").paths
    assert kept.deviations == tuple(each for each in original.deviations if each.card == "intel-82574l")
    assert len(kept.deviations) + len(kept.cards) == (way != "none of its own")
    assert "x520" not in file.read_text() and "# about the servers\n" in file.read_text()


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
