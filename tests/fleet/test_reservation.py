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
from typing import Any

import pytest

from niclab.commands import cli
from niclab.commands.certifying import certify, places, resume
from niclab.core.abort import StopOrder
from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.fleet.reservation import PYTHON, QUEUE_S, Coordinator, ReservedBench, reserved, tags_of

LABGRID = Path(os.environ.get(PYTHON, ""))
real = [
    pytest.mark.slow,
    pytest.mark.skipif(not LABGRID.is_file(), reason=f"{PYTHON} names no Python of labgrid 26.0.1"),
]
HOLD = """
import sys, time
from pathlib import Path
from niclab.fleet.reservation import Coordinator, reserved
with reserved({"card": "x"}, Coordinator(sys.argv[1], sys.argv[2], 0.2), Path(sys.argv[3])) as bench:
    print(bench.file.stem, flush=True)
    time.sleep(60)
"""
RUN = """
import sys
from pathlib import Path
from niclab.commands.certifying import certify, robot_process
from niclab.fleet.reservation import Coordinator, reserved
robot_process.SUITES = Path(sys.argv[3], "toy.robot")
with reserved({"card": "x"}, Coordinator(sys.argv[1], sys.argv[2], 0.2), Path(sys.argv[3])) as bench:
    print(bench.file.stem, flush=True)
    options = ["--listener", str(certify.ABORT), "--outputdir", sys.argv[3]]
    sys.exit(robot_process.RobotProcess().run(options, bench.stop))
"""
FAKE_AGENT = """#!/bin/sh
env > {folder}/environment
echo '{{"place": "x"}}'
cat > /dev/null
"""
SUITE = """*** Settings ***
Library    OperatingSystem
Suite Teardown    Put Back

*** Test Cases ***
First
    Create File    {folder}/begun
    Sleep    60s

*** Keywords ***
Put Back
    Sleep    2s
    Create File    {folder}/undone
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
    def bench(tags: object, _: Coordinator, queue_s: float) -> Iterator[ReservedBench]:
        asked.append((tags, queue_s))
        yield ReservedBench(Path("reserved.yaml"), StopOrder())

    monkeypatch.setattr(places, "reserved", bench)
    monkeypatch.setenv(PYTHON, "python")
    monkeypatch.setattr(certify, "run", lambda file, *_, dry_run, **__: asked.append(file) or dry_run)
    assert cli.main(["certify", "--bench", "labgrid:card=x", "--queue", "60"]) == 0
    assert asked == [({"card": "x"}, 60.0), Path("reserved.yaml")]
    monkeypatch.setattr(resume, "run", lambda *arguments: asked.append(arguments[2].file) or 0)
    assert cli.main(["certify", "--resume", "r", "--bench", "labgrid:name=b"]) == 0
    assert asked[2:] == [({"name": "b"}, QUEUE_S), Path("reserved.yaml")]


class Lab:
    """A coordinator of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.coordinator = Coordinator(self.address, str(LABGRID), quiet_s=0.2)
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

    def client(self, *words: str) -> str:
        command = [str(LABGRID.with_name("labgrid-client")), "-x", self.address, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout

    def owner(self, place: str) -> str:
        return next((line for line in self.client("who").splitlines() if place in line), "")

    @contextmanager
    def program(self, text: str) -> Iterator[subprocess.Popen[str]]:
        """A program of its own session that reserves the bench, from the moment that it has it."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", text, self.address, str(LABGRID), str(self.folder)]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as program:
            yield program
            program.kill()

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[str]]:
        """A run whose first test goes on."""
        (self.folder / "toy.robot").write_text(SUITE.format(folder=self.folder))
        with self.program(RUN) as run:
            until((self.folder / "begun").exists, within=30, what="the first test", every=0.1)
            yield run


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
        with reserved({"card": "x"}, lab.coordinator, lab.folder) as bench:
            assert bench.file.stem == "bench1" and "niclab-" in lab.owner("bench1")
        assert lab.owner("bench1") == ""

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_a_killed_run_releases_its_bench(self, lab: Lab, number: int) -> None:
        with lab.program(HOLD) as run:
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
            comment = json.dumps({"owner": f"{host}/{user}", "until": 1})
            lab.client("-p", "bench1", "set-comment", comment)
            lines = [json.loads(line) for line in lab.coordinator.do("reap", {})]
            assert [line["released"] for line in lines] == ["bench1"]

    @pytest.mark.parametrize("numbers", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)])
    def test_a_run_that_is_ended_twice_restores_its_bench_and_then_releases_it(
        self, lab: Lab, numbers: tuple[int, ...]
    ) -> None:
        """A pipeline's abort: every process of the build is signalled, slow ones twice."""
        with lab.running() as run:
            for number in numbers:
                os.killpg(run.pid, number)
                time.sleep(0.2)
            until(lambda: not lab.owner("bench1"), within=30, what="the release", every=0.2)
            assert (lab.folder / "undone").exists()
            assert run.wait(20) == 1  # the one test of the suite

    def test_a_run_is_stopped_when_another_has_its_bench(self, lab: Lab) -> None:
        with lab.running() as run:
            lab.client("-p", "bench1", "release", "--kick")
            lab.client("-p", "bench1", "acquire")
            assert run.wait(120) == 1 and (lab.folder / "undone").exists()
        assert "niclab-" not in lab.owner("bench1") and lab.owner("bench1")  # it is the other's to release

    def test_a_run_is_stopped_when_nobody_holds_its_bench(self, lab: Lab) -> None:
        with lab.running() as run:
            children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
            (agent,) = (pid for pid in children if b"agent.py" in Path(f"/proc/{pid}/cmdline").read_bytes())
            os.kill(int(agent), signal.SIGKILL)
            assert run.wait(30) == 1 and (lab.folder / "undone").exists()

    def test_a_bench_that_is_not_free_in_time_is_a_fault(self, lab: Lab) -> None:
        with reserved({"card": "x"}, lab.coordinator, lab.folder):
            begun = time.monotonic()
            with (
                pytest.raises(BenchFault, match=r"no place with the tags .* was free in time"),
                reserved({"card": "x"}, lab.coordinator, lab.folder, queue_s=1),
            ):
                pass
            assert time.monotonic() - begun < 30 and lab.client("reservations") == ""
        with pytest.raises(BenchFault, match="no place has the tags"), reserved({"card": "y"}, lab.coordinator):
            pass

    def test_a_run_that_is_ended_in_the_queue_leaves_it(self, lab: Lab) -> None:
        with reserved({"card": "x"}, lab.coordinator, lab.folder), lab.program(HOLD) as waiting:
            until(lambda: "waiting" in lab.client("reservations"), within=30, what="the queue", every=0.5)
            waiting.terminate()
            assert waiting.wait(10) == -signal.SIGTERM
            until(lambda: lab.client("reservations") == "", within=30, what="the end of the queue", every=0.5)

    def test_a_lease_outlives_a_coordinator_that_forgot_its_holder(self, lab: Lab) -> None:
        """A run that is faster than the holder after a restart leaves the bench alone."""
        lab.client("-p", "bench1", "set-comment", json.dumps({"owner": "a/niclab-1", "until": time.time() + 8}))
        begun = time.monotonic()
        with reserved({"card": "x"}, lab.coordinator, lab.folder):
            assert time.monotonic() - begun > 7


@pytest.fixture
def fake(tmp_path: Path) -> Coordinator:
    """A coordinator whose agent gives a place, keeps its environment, and ends with its input."""
    agent = tmp_path / "python"
    agent.write_text(FAKE_AGENT.format(folder=tmp_path))
    agent.chmod(0o700)
    (tmp_path / "x.yaml").touch()
    return Coordinator("127.0.0.1:1", str(agent))


def test_labgrid_gets_no_secret_and_no_mark_of_a_pipeline(
    fake: Coordinator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DUT_BMC_PASSWORD", "NICLAB_STORE", "AWS_SECRET_ACCESS_KEY", "BUILD_ID", "JENKINS_NODE_COOKIE"):
        monkeypatch.setenv(name, "canary-7f3a")
    with reserved({"card": "x"}, fake, tmp_path):
        pass
    assert "canary" not in (tmp_path / "environment").read_text()
    (tmp_path / "environment").unlink()
    fake.do("reap", {})
    assert "canary" not in (tmp_path / "environment").read_text()


def test_many_places_may_take_longer_than_few(fake: Coordinator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loaded coordinator took more than a minute to make a hundred."""
    deadlines, run = list[float](), subprocess.run

    def noted(*arguments: Any, timeout: float, **options: Any) -> Any:
        deadlines.append(timeout)
        return run(*arguments, timeout=timeout, **options)

    monkeypatch.setattr(subprocess, "run", noted)
    fake.do("reap", {})
    fake.do("export", {f"bench-{number}": {} for number in range(200)})
    assert deadlines == [60, 460]


def test_a_place_is_held_as_long_as_the_process_of_the_run(fake: Coordinator, tmp_path: Path) -> None:
    """Robot Framework still puts the bench back when niclab was killed."""
    with reserved({"card": "x"}, fake, tmp_path) as bench:
        running = subprocess.Popen(["sleep", "1.5"], pass_fds=bench.stop.keeps)
    assert running.poll() is not None  # the agent was waited for, and it waited for the run
    running.wait()
