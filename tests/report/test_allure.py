"""The Allure report: old reports never survive, nothing calls home, no secret reaches the generator."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from programs import program
from robot_runs import RobotRun

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.report.allure import allure
from niclab.report.allure.allure import generate, strip_beacon
from niclab.report.allure.allure_tools import Tools, find

BEACON = """
    <script async src="https://www.googletagmanager.com/gtag/js?id=G-X"></script>
    <script>
        window.dataLayer = window.dataLayer || [];
    </script>"""
RUN = {"card": "intel-82574l", "bench": "virtual", "facts": {"driver": "e1000e 6.1.0", "slot": "3"}}
FAKE_ALLURE = """#!/bin/sh
out=$(sed -n 's/.*"output": "\\(.*\\)",/\\1/p' "$NICLAB_REPORT_SETTINGS")
mkdir -p "$out"
cp "$NICLAB_REPORT_SETTINGS" "$out/settings.json"
"""


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    """A Node.js that plays ``FAKE_ALLURE``."""
    page = f"env > $out/environment\ncat > $out/index.html <<END\n<head>{BEACON}</head><p>$1</p>\nEND\n"
    return Tools(program(tmp_path / "bin" / "node", FAKE_ALLURE + page), tmp_path / "cli.js")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "run" / "allure-results"
    folder.mkdir(parents=True)
    (folder / "1-result.json").write_text("{}")
    return folder


def test_report_replaces_the_earlier_one(results: Path, tools: Tools, tmp_path: Path) -> None:
    out = tmp_path / "run" / "allure"
    out.mkdir()
    (out / "index.html").write_text("old numbers")
    (out / "old.html").touch()
    page = generate(results, out, RUN, tools).read_text()
    assert re.fullmatch(r"<head></head><p>\S+/cli\.js</p>\n", page)
    assert sorted(path.name for path in out.iterdir()) == ["environment", "index.html", "settings.json"]


def test_report_names_what_was_tested_and_what_is_not_known(results: Path, tools: Tools, tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate(results, out, RUN, tools)
    settings = (out / "settings.json").read_text()
    assert '"title": "intel-82574l on virtual"' in settings
    for line in ('"Driver": "e1000e 6.1.0"', '"Firmware": "not recorded"', '"Kernel": "not recorded"', '"Slot": "3"'):
        assert line in settings


def test_a_demonstration_says_so_in_title_and_environment(results: Path, tools: Tools, tmp_path: Path) -> None:
    generate(results, tmp_path / "out", RUN | {"subject": "DEMONSTRATION, emulated card"}, tools)
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["title"] == "DEMONSTRATION, emulated card: intel-82574l on virtual"
    assert settings["variables"]["Subject"] == "DEMONSTRATION, emulated card"


def test_no_secret_and_no_home_reach_the_generator(
    results: Path, tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DUT_BMC_PASSWORD", "NPM_TOKEN", "npm_config__auth", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "hunter2")
    generate(results, tmp_path / "out", RUN, tools)
    environment = (tmp_path / "out" / "environment").read_text()
    assert "hunter2" not in environment
    assert f"HOME={Path.home()}\n" not in environment
    assert re.search("^PATH=", environment, re.MULTILINE)


def test_failing_generator_is_told_with_the_end_of_its_words(results: Path, tools: Tools, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "node", FAKE_ALLURE + "seq 100 >&2\necho no such plugin >&2\nexit 3\n")
    with pytest.raises(BenchFault, match="exit status 3") as raised:
        generate(results, tmp_path / "out", RUN, tools)
    assert str(raised.value).endswith("\n100\nno such plugin")
    assert "\n50\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_generator_that_writes_nothing_is_an_error(results: Path, tools: Tools, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "node", FAKE_ALLURE)
    with pytest.raises(BenchFault, match=r"index\.html was not written"):
        generate(results, tmp_path / "out", RUN, tools)


def test_generator_that_hangs_is_ended(
    results: Path, tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child"
    program(
        tmp_path / "bin" / "node", f"{FAKE_ALLURE}sleep 60 & echo $! > {child}.new && mv {child}.new {child}; wait\n"
    )
    monkeypatch.setattr(allure, "_GENERATE_WITHIN_S", 2.0)
    with pytest.raises(BenchFault, match=r"did not end within 2 s"):
        generate(results, tmp_path / "out", RUN, tools)
    pid = child.read_text().strip()
    until(lambda: _state(pid) in ("gone", "Z"), within=10, what="what the generator started is ended as well")


def _state(pid: str) -> str:
    """State letter of a process, or ``gone``."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


def test_no_results_no_report(tools: Tools, tmp_path: Path) -> None:
    with pytest.raises(BenchFault, match="holds no Allure results"):
        generate(tmp_path / "nowhere", tmp_path / "out", RUN, tools)


def test_folder_that_is_no_report_is_left_alone(results: Path, tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").touch()
    with pytest.raises(BenchFault, match="is not a report"):
        generate(results, tmp_path / "out", RUN, tools)
    (results.parent / "index.html").touch()
    with pytest.raises(BenchFault, match="another folder"):
        generate(results, results.parent, RUN, tools)
    assert (tmp_path / "out" / "thesis.txt").exists()
    assert any(results.iterdir())


def test_beacon_is_removed_from_every_page(tmp_path: Path) -> None:
    for name in ("index.html", "sub/index.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"<head>{BEACON}\n</head>")
    strip_beacon(tmp_path)
    assert (tmp_path / "sub/index.html").read_text() == (tmp_path / "index.html").read_text() == "<head>\n</head>"


def test_beacon_of_another_shape_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<script src='//www.googletagmanager.com/x.js'></script>")
    with pytest.raises(BenchFault, match="still mentions googletagmanager"):
        strip_beacon(tmp_path)


@pytest.mark.slow
def test_real_report_is_one_file_that_loads_nothing(verdict_run: RobotRun, tmp_path: Path) -> None:
    report = generate(verdict_run.folder / "allure-results", tmp_path / "report", RUN, find())
    page = report.read_text()
    assert "googletagmanager" not in page
    assert 'src="http' not in page
    assert "intel-82574l on virtual" in page
    assert (tmp_path / "report" / "test-results.json").read_text().count('"status"') == len(verdict_run.results)
