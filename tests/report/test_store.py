"""Many controllers write one store: nothing twice, nothing lost, in SQLite and in PostgreSQL."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")

from niclab.report.store.results_store import ResultsStore, StoredFigure, StoredRun

SERVER = max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None)
KILLED = """
import sys
from test_store import stored, FIGURES, ResultsStore
from pathlib import Path
url = sys.argv[1]
store = ResultsStore(Path(url) if url.startswith("/") else url)
for number in range(10_000):
    store.put(stored(number), FIGURES)
    print(number, flush=True)
"""
FIGURES = [StoredFigure(f"figure {number}", "Mbit/s", (1.0, 2.0)) for number in range(5)]


def stored(number: int, controller: str = "a") -> StoredRun:
    started = f"2026-01-01T00:00:00.{number:06}+00:00"
    return StoredRun(
        controller, f"run-{number}", "x", started, "CERTIFIED", "1", "d", "s", "quick", "b", "physical", "S1"
    )


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """A server of this test alone, on a socket in a temporary folder."""
    if SERVER is None or (os.getuid() == 0 and not shutil.which("runuser")):
        pytest.skip("needs the Debian package postgresql")
    pytest.importorskip("psycopg", reason="the extra `store` is not installed")
    with tempfile.TemporaryDirectory() as name:
        as_user = ["runuser", "-u", "nobody", "--"] if os.getuid() == 0 else []
        if as_user:
            shutil.chown(name, "nobody")
        control = [*as_user, str(SERVER.with_name("pg_ctl")), "-D", f"{name}/data", "-w"]
        make = [*as_user, str(SERVER), "-D", f"{name}/data", "-U", "lab", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(make, check=True, capture_output=True)
        settings = f"-c listen_addresses='' -c unix_socket_directories={name} -c fsync=off -c shared_buffers=32MB"
        subprocess.run([*control, "-l", f"{name}/log", "-o", settings, "start"], check=True, stdout=subprocess.DEVNULL)
        try:
            yield f"postgresql+psycopg://lab@/postgres?host={name}"
        finally:
            subprocess.run([*control, "-m", "fast", "stop"], check=True, capture_output=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    if request.param == "sqlite":
        return tmp_path / "store.sqlite"
    return str(request.getfixturevalue("postgresql"))


def runs(url: str | Path) -> list[str]:
    return [each.run for each in ResultsStore(url).runs_of("x")]


def test_controllers_write_at_once_and_nothing_is_there_twice(url: str | Path) -> None:
    def write(controller: str) -> None:
        store = ResultsStore(url)
        for number in range(25):
            store.put(stored(number, controller), FIGURES)
            store.put(stored(number, "both"), FIGURES)
        store.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, ("c", "d", "e", "f")))
    store = ResultsStore(url)
    found = [(each.controller, each.run) for each in store.runs_of("x")]
    assert len(found) == len(set(found)) == 5 * 25
    assert len(list(store.figures_of("x"))) == 5 * 25 * len(FIGURES)


def test_a_killed_writer_lost_nothing(url: str | Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}
    command = [sys.executable, "-c", KILLED, str(url)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [next(writer.stdout) for _ in range(40)]
        writer.send_signal(signal.SIGKILL)
        said += writer.stdout.readlines()
    complete = {f"run-{int(line)}" for line in said if line.endswith("\n")}
    store = ResultsStore(url)
    present = {each.run for each in store.runs_of("x") if each.controller == "a"}
    assert complete <= present and len(present) <= len(complete) + 1
    figures = [of_run for of_run, _ in store.figures_of("x") if of_run[0] == "a"]
    assert all(figures.count(each) == len(FIGURES) for each in set(figures))
