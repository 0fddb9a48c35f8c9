"""Ten benches of one controller at once: nothing that one of them has or writes is another one's."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import one_of_ten
import pytest

pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")

from niclab.commands.results.history import open_store
from niclab.report.evidence.runfolder import read_run
from niclab.traffic.runs.turns import LOCK

pytestmark = pytest.mark.slow
NAMES = [f"bench-{number}" for number in range(10)]
RUNS = 3


class Lab:
    """The files that ten processes have left."""

    def __init__(self, folder: Path) -> None:
        self.home, self.results = folder / "home", folder / "results"
        self.home.mkdir()
        self.results.mkdir()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), LOCK: str(folder / "turn")}
        environment.pop("NICLAB_STORE", None)

        def begin(name: str) -> subprocess.Popen[str]:
            words = [sys.executable, one_of_ten.__file__, str(self.home), str(self.results), name, str(RUNS)]
            return subprocess.Popen(
                words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
            )

        processes = {name: begin(name) for name in NAMES}
        self.ended = {name: process.communicate(timeout=600) for name, process in processes.items()}
        assert {name: process.returncode for name, process in processes.items()} == dict.fromkeys(NAMES, 0), {
            name: errors[-2000:] for name, (_, errors) in self.ended.items() if errors
        }
        self.runs = {name: [json.loads(line) for line in said.splitlines()] for name, (said, _) in self.ended.items()}

    def each(self) -> Iterator[tuple[str, dict[str, Any], Path]]:
        for name, runs in self.runs.items():
            for run in runs:
                yield name, run, self.results / run["run"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("lab"))


def test_each_run_has_a_folder_of_its_own(lab: Lab) -> None:
    folders = [run_dir for _, _, run_dir in lab.each()]
    assert len(set(folders)) == len(NAMES) * RUNS
    assert all(read_run(run_dir)["bench"] == name for name, _, run_dir in lab.each())
    others = {path.name for path in lab.results.iterdir()} - {run_dir.name for run_dir in folders}
    assert others == {"latest", "history.sqlite"}
    assert (lab.results / "latest").resolve() in folders


def test_no_file_of_a_run_speaks_of_another_bench(lab: Lab) -> None:
    for name, _, run_dir in lab.each():
        for file in run_dir.rglob("*"):
            if file.is_file():
                said = file.read_bytes().decode(errors="replace")
                assert [other for other in NAMES if other in said and other != name] == [], file
                assert one_of_ten.SECRET not in said, file


def test_every_change_is_undone_by_its_own_bench(lab: Lab) -> None:
    journals = {file.stem for file in (lab.home / ".local/state/niclab/journal").glob("*.jsonl")}
    assert journals == set(NAMES)
    assert all(run["pending"] == 0 for _, run, _ in lab.each())


def test_earlier_runs_are_those_of_the_same_bench(lab: Lab) -> None:
    for name, runs in lab.runs.items():
        noted = [read_run(lab.results / run["run"])["earlier_attempts"] for run in runs]
        assert [len(each) for each in noted] == list(range(RUNS)), name
        assert {attempt["bench"] for each in noted for attempt in each} == {name}


def test_one_measures_at_a_time(lab: Lab) -> None:
    turns = sorted((run["begun"], run["ended"]) for _, run, _ in lab.each())
    assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(turns))


def test_every_run_is_in_the_store_once(lab: Lab) -> None:
    assert all(run["taken"] for _, run, _ in lab.each())
    store = open_store(lab.results)
    found = [(each.bench, each.run) for each in store.runs_of(one_of_ten.CARD)]
    store.close()
    assert sorted(found) == sorted((name, run["run"]) for name, run, _ in lab.each())
