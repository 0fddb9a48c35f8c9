"""Negative controls: a defect is injected on a virtual bench of their own; exactly the intended tests must go red."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from control_bench import NAME, Bench
from real_bench import RealBench

from niclab.files.repository import REPOSITORY, RESULTS
from niclab.report import now, write_json
from niclab.report.own_checks.controls_check import FILE


@pytest.fixture(scope="session")
def bench(shared_bench: RealBench, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    scratch = tmp_path_factory.mktemp("controls")
    bench = Bench(scratch / f"{NAME}.yaml", scratch)
    bench.file.write_text(shared_bench.must("bench-file"))
    return bench


@pytest.fixture(autouse=True)
def mended(bench: Bench) -> Iterator[None]:
    """Make whole for the next control what this one has broken."""
    yield
    bench.vbench("up")
    bench.vbench("fault", "clear")
    for cable in ("a", "b"):
        bench.vbench("cable", "plug", cable)
    bench.vbench("switch", "reset")
    bench.vbench("wiring", "direct")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Keep what the controls found, for the certificates of later runs."""
    stats = terminalreporter.stats
    own = [report for kind in ("passed", "failed", "error") for report in stats.get(kind, ())]
    own = [report for report in own if report.nodeid.startswith("tests/controls/")]
    missed = sorted({report.nodeid.partition("::")[2] for report in own if report.failed})
    found = {report.nodeid for report in own if report.when == "call" and report.passed}
    if found or missed:
        head = ["git", "rev-parse", "HEAD"]
        asked = subprocess.run(head, cwd=REPOSITORY, capture_output=True, text=True, timeout=20, check=False)
        commit = asked.stdout.strip() or "unknown"
        state = {"when": now(), "commit": commit, "run": len(found) + len(missed), "found": len(found)}
        write_json(RESULTS / FILE, {**state, "missed": missed})
