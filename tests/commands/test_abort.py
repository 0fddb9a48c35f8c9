"""However a run is ended by signals, its teardown runs; who insists ends it at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from niclab.core import abort
from niclab.core.wait import until

REPOSITORY = Path(__file__).parents[2]
SUITE = """*** Settings ***
Library    OperatingSystem
{library}
Suite Teardown    Put Back

*** Test Cases ***
First
    Create File    {folder}/build    %{{BUILD_ID=none}}
    Create File    {folder}/begun
    Sleep    60s

Second
    Create File    {folder}/second

*** Keywords ***
Put Back
    Create File    {folder}/teardown
    Wait Until Created    {folder}/all-sent    60s
    Create File    {folder}/undone
"""
ROBOT = "import sys; from robot import run_cli; run_cli(sys.argv[1:])"
NICLAB = """
import sys
from pathlib import Path
from niclab.commands.certifying import certify, robot_process
from niclab.core import abort
robot_process.SUITES = Path(sys.argv[1])
options = ["--listener", str(certify.ABORT), "--outputdir", sys.argv[2]]
sys.exit(robot_process.RobotProcess().run(options, abort.StopOrder()))
"""


class Toy:
    """A suite that runs, as ``robot`` alone or below ``niclab``."""

    def __init__(self, folder: Path, *, below_niclab: bool) -> None:
        self.folder = folder
        suite = folder / "toy.robot"
        library = REPOSITORY / "tests" / "fakes" / "toy_abort.py"
        setting = "" if below_niclab else f"Library    {library}"  # niclab has a listener for it
        suite.write_text(SUITE.format(folder=folder, library=setting))
        script = (
            ["-c", NICLAB, str(suite), str(folder)] if below_niclab else ["-c", ROBOT, "-d", str(folder), str(suite)]
        )
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "libraries"), "BUILD_ID": "toy-build"}
        with (folder / "said").open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, *script], env=environment, stdout=said, stderr=said, start_new_session=True
            )
        self.wait_for("begun")
        self.robot = self.process.pid
        if below_niclab:
            (self.robot,) = map(int, Path(f"/proc/{self.robot}/task/{self.robot}/children").read_text().split())

    def wait_for(self, name: str) -> None:
        until((self.folder / name).exists, within=20, what=f"{name}: {(self.folder / 'said').read_text()}", every=0.02)

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    def send(self, target: str, *numbers: int) -> None:
        for number in numbers:
            if target in ("niclab", "all", "build"):
                os.kill(self.process.pid, number)
            if target in ("robot", "all") or (target == "build" and self.robot_is_of_the_build):
                os.kill(self.robot, number)
            if target == "group":
                os.killpg(self.process.pid, number)
            time.sleep(0.1)  # so that no two signals of a kind become one

    @property
    def robot_is_of_the_build(self) -> bool:
        return b"BUILD_ID=toy-build" in Path(f"/proc/{self.robot}/environ").read_bytes().split(b"\0")

    def ends_after_the_teardown(self) -> bool:
        """The teardown may end: does it, and the run with it?"""
        (self.folder / "all-sent").touch()
        rc = self.process.wait(timeout=20)
        assert not self.has("second")
        return self.has("undone") and rc == 2


@pytest.fixture
def toy(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Toy]:
    made = Toy(tmp_path, below_niclab=request.param)
    yield made
    for pid in {made.robot, made.process.pid}:
        if made.process.poll() is None or pid != made.process.pid:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    made.process.wait(timeout=10)


BELOW_NICLAB = pytest.mark.parametrize("toy", [True], ids=["niclab"], indirect=True)
ALONE = pytest.mark.parametrize("toy", [False], ids=["alone"], indirect=True)
INT, TERM = signal.SIGINT, signal.SIGTERM
BURSTS = [
    pytest.param((INT, TERM, INT, TERM), id="both-twice"),
    *(
        pytest.param(numbers, id=name, marks=pytest.mark.slow)
        for name, numbers in {
            "INT": (INT,), "TERM": (TERM,), "INT-twice": (INT, INT), "TERM-twice": (TERM, TERM), "both": (TERM, INT),
        }.items()
    ),
]  # fmt: skip


@BELOW_NICLAB
@pytest.mark.parametrize("numbers", BURSTS)
@pytest.mark.parametrize("target", ["niclab", "robot", "group", "all"])
def test_a_run_of_niclab_ends_after_its_teardown(toy: Toy, target: str, numbers: tuple[int, ...]) -> None:
    toy.send(target, *numbers)
    assert toy.ends_after_the_teardown()


@ALONE
@pytest.mark.parametrize("numbers", [*BURSTS, pytest.param((signal.SIGHUP,), id="HUP", marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", ["robot", "group"])
def test_a_run_of_robot_alone_ends_after_its_teardown(toy: Toy, target: str, numbers: tuple[int, ...]) -> None:
    toy.send(target, *numbers)
    assert toy.ends_after_the_teardown()


@BELOW_NICLAB
def test_who_signals_every_process_of_a_build_does_not_find_robot(toy: Toy) -> None:
    assert not toy.robot_is_of_the_build and (toy.folder / "build").read_text() == "none"
    toy.send("build", TERM)
    toy.process.kill()  # as Jenkins does when the first signal has not helped in time
    (toy.folder / "all-sent").touch()
    until(lambda: toy.has("undone"), within=20, what="the teardown to end", every=0.05)


@BELOW_NICLAB
def test_a_killed_niclab_ends_the_tests_after_the_teardown(toy: Toy) -> None:
    toy.process.kill()
    toy.wait_for("teardown")
    (toy.folder / "all-sent").touch()
    until(lambda: toy.has("undone"), within=20, what="the teardown to end", every=0.05)
    assert not toy.has("second")


@BELOW_NICLAB
def test_a_niclab_that_is_killed_long_after_the_first_signal_breaks_no_teardown_off(toy: Toy) -> None:
    toy.send("niclab", TERM)
    toy.wait_for("teardown")
    time.sleep(abort.IGNORED_FOR_S + 0.5)
    toy.process.kill()
    time.sleep(0.5)
    (toy.folder / "all-sent").touch()
    until(lambda: toy.has("undone"), within=20, what="the teardown to end", every=0.05)


@ALONE
def test_a_signal_in_the_teardown_does_not_break_it_off(toy: Toy) -> None:
    toy.send("robot", TERM)
    toy.wait_for("teardown")
    toy.send("robot", INT)
    assert toy.ends_after_the_teardown()


@pytest.mark.parametrize(
    ("toy", "target"), [(True, "niclab"), (True, "robot"), (False, "robot")], indirect=["toy"], ids=str
)
def test_the_third_signal_of_a_kind_stops_at_once(toy: Toy, target: str) -> None:
    toy.send(target, TERM, TERM)
    toy.wait_for("teardown")
    toy.send(target, TERM)
    assert toy.process.wait(timeout=20) not in (0, 2) and not toy.has("undone")
    assert "Execution forcefully stopped" in (toy.folder / "said").read_text()


def test_after_some_time_a_second_signal_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(abort.time, "monotonic", lambda: now)
    counted = abort.EndRequests()
    assert counted.counts(TERM) and not counted.counts(TERM) and not counted.counts(INT)
    now += abort.IGNORED_FOR_S - 0.1
    assert not counted.counts(INT)
    now += 0.2
    assert counted.counts(signal.SIGHUP)
