"""Many controllers write one store: nothing twice, nothing lost, in SQLite and in PostgreSQL."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")

from niclab.report.store.results_store import ResultsStore, StoredFigure, StoredRun

SERVER = max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None)
WRITER = """
import sys
from test_store import stored, FIGURES, ResultsStore
from pathlib import Path
url, controller, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = ResultsStore(Path(url) if url.startswith("/") else url)
for number in range(last):
    store.put(stored(number, controller), FIGURES)
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


@contextmanager
def writer(url: str | Path, controller: str, last: int = 10_000) -> Iterator[Writer]:
    """A process of a controller that takes its runs into the store, and says the number of each that is there."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}
    command = [sys.executable, "-c", WRITER, str(url), controller, str(last)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        yield Writer(process)


class Writer:
    """A writing process, and the runs that it has said are in the store."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process, self.said, self._words = process, set[str](), process.stdout

    def hear(self, lines: int | None = None) -> Writer:
        """Hear so many lines, or all to the end of the process."""
        heard = itertools.islice(self._words, lines)
        self.said |= {f"run-{int(line)}" for line in heard if line.endswith("\n")}
        return self

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.hear()


def present(url: str | Path, controller: str) -> list[str]:
    """The runs of a controller, each of which has all of its figures once, as far as figures are shown."""
    store = ResultsStore(url)
    figures = [of_run for of_run, _ in store.figures_of("x")]
    assert all(figures.count(each) == len(FIGURES) for each in set(figures))
    return [each.run for each in store.runs_of("x") if each.controller == controller]


def test_a_killed_writer_lost_nothing(url: str | Path) -> None:
    with writer(url, "a") as killed:
        killed.hear(40).kill()
    found = present(url, "a")
    assert killed.said <= set(found) and len(set(found)) == len(found) <= len(killed.said) + 1


def test_one_controller_is_killed_while_another_writes(url: str | Path) -> None:
    with writer(url, "lives", 80) as lives, writer(url, "dies") as killed:
        lives.hear(10)
        killed.hear(20).kill()
        lives.hear()
    assert lives.process.returncode == 0
    found = present(url, "dies")
    assert killed.said <= set(found) and len(set(found)) == len(found) <= len(killed.said) + 1
    again = len(found) + 5
    with writer(url, "dies", again) as repeats:  # as `niclab store fill` does after a kill
        repeats.hear()
    for controller, runs_of_it in (("lives", 80), ("dies", again)):
        assert sorted(present(url, controller)) == sorted(f"run-{number}" for number in range(runs_of_it))
