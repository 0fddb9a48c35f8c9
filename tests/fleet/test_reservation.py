"""Benches of a real coordinator: one holder each, released at any end, held through a restart."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from niclab.commands import certify, cli, places
from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.fleet.reservation import PYTHON, Coordinator, reserved, tags_of

LABGRID = Path(os.environ.get(PYTHON, ""))
real = [
    pytest.mark.slow,
    pytest.mark.skipif(not LABGRID.is_file(), reason=f"{PYTHON} names no Python of labgrid 26.0.1"),
]
HOLD = """
import sys, time
from pathlib import Path
from niclab.fleet.reservation import Coordinator, reserved
with reserved({"card": "x"}, Coordinator(sys.argv[1], sys.argv[2]), Path(sys.argv[3])) as file:
    print(file.stem, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("text", ["labgrid:", "labgrid:card", "labgrid:card=E810 C/foo;x", "labgrid:card=x,,os=y"])
def test_a_filter_that_could_match_nothing_is_refused(text: str) -> None:
    with pytest.raises(BenchFault, match="TAG=VALUE"):
        tags_of(text)


def test_a_filter_names_tags() -> None:
    assert tags_of("labgrid:card=intel-x520, os=linux") == {"card": "intel-x520", "os": "linux"}


def test_certify_takes_a_filter_for_a_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[object]()

    @contextmanager
    def bench(tags: object, _: Coordinator) -> Iterator[Path]:
        asked.append(tags)
        yield Path("reserved.yaml")

    monkeypatch.setattr(places, "reserved", bench)
    monkeypatch.setenv(PYTHON, "python")
    monkeypatch.setattr(certify, "run", lambda file, *_, dry_run, **__: asked.append(file) or dry_run)
    assert cli.main(["certify", "--bench", "labgrid:card=x"]) == 0
    assert asked == [{"card": "x"}, Path("reserved.yaml")]


class Lab:
    """A coordinator of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.coordinator = Coordinator(self.address, str(LABGRID))
        self.start()

    def start(self) -> None:
        program = str(LABGRID.with_name("labgrid-coordinator"))
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([program, "-l", self.address], cwd=self.folder, stdout=log, stderr=log)
        host, port = self.address.split(":")

        def answers() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex((host, int(port))) == 0

        until(answers, within=20, what="the coordinator")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def owner(self, place: str) -> str:
        command = [str(LABGRID.with_name("labgrid-client")), "-x", self.address, "who"]
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
        return next((line for line in said.splitlines() if place in line), "")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    (tmp_path / "bench1.yaml").touch()
    made.coordinator.do("export", {"bench1": {"card": "x"}})
    yield made
    made.stop()


class TestRealCoordinator:
    pytestmark = real

    def test_a_bench_is_held_and_released(self, lab: Lab) -> None:
        with reserved({"card": "x"}, lab.coordinator, lab.folder) as file:
            assert file.stem == "bench1" and "niclab-" in lab.owner("bench1")
        assert lab.owner("bench1") == ""

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_a_killed_run_releases_its_bench(self, lab: Lab, number: int) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", HOLD, lab.address, str(LABGRID), str(lab.folder)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None and run.stdout.readline() == "bench1\n"
            run.send_signal(number)
        until(lambda: not lab.owner("bench1"), within=20, what="the release")

    def test_a_bench_stays_held_through_a_restart(self, lab: Lab) -> None:
        time.sleep(16)  # the coordinator saves its places each 15 s
        with reserved({"card": "x"}, lab.coordinator, lab.folder):
            lab.stop()
            lab.start()
            until(lambda: "niclab-" in lab.owner("bench1"), within=30, what="the holder", every=0.5)
        assert lab.owner("bench1") == ""

    def test_only_the_overdue_are_reaped(self, lab: Lab) -> None:
        with reserved({"card": "x"}, lab.coordinator, lab.folder):
            assert lab.coordinator.do("reap", {}) == []
            user, host = lab.owner("bench1").split()[:2]
            client = [str(LABGRID.with_name("labgrid-client")), "-x", lab.address, "-p", "bench1"]
            comment = json.dumps({"owner": f"{host}/{user}", "until": 1})
            subprocess.run([*client, "set-comment", comment], check=True, timeout=30)
            lines = [json.loads(line) for line in lab.coordinator.do("reap", {})]
            assert [line["released"] for line in lines] == ["bench1"]
