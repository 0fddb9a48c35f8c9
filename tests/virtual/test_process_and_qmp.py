"""Pid records and the QMP client."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import wait_for
from bmc_bench import seconds_of

from process import Pid, ProcessError, alive, end, ended, kill, pid_of, read_pid, write_pid
from qmp import Qmp, QmpError, QmpUnreachable, qmp_execute

STANDIN = Path(__file__).with_name("qmp_standin.py")
SLEEP = "import signal; print(flush=True); signal.pause()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"

Start = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts Python programs and returns when they have printed a line."""
    children: list[subprocess.Popen[str]] = []

    def run(program: str) -> subprocess.Popen[str]:
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        children.append(child)
        assert child.stdout is not None
        child.stdout.readline()
        return child

    yield run
    for child in children:
        child.kill()
        child.communicate()


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    assert read_pid(path) is None
    me = pid_of(os.getpid())
    write_pid(path, me)
    assert read_pid(path) == me
    assert alive(me)
    assert not alive(Pid(me.pid, me.start + 1))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "not JSON"),
        ("[]", "expected"),
        ("123", "expected"),
        ('{"start": 5}', "pid is None"),
        ('{"pid": 0, "start": 5}', "pid is 0"),
        ('{"pid": 5, "start": "5"}', "start is '5'"),
        ('{"pid": true, "start": 5}', "pid is True"),
    ],
)
def test_a_wrong_pid_file_is_an_error(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "pid").write_text(text)
    with pytest.raises(ProcessError, match=wrong) as error:
        read_pid(tmp_path / "pid")
    assert str(tmp_path / "pid") in str(error.value)


def test_a_name_with_brackets_and_blanks_does_not_confuse(start: Start) -> None:
    child = start(f"open('/proc/self/comm', 'w').write('a) S 1 (b'); {SLEEP}")
    assert alive(pid_of(child.pid))


def test_a_zombie_is_not_alive(start: Start) -> None:
    child = start(SLEEP)
    pid = pid_of(child.pid)
    os.kill(child.pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid), "it is dead")
    assert child.returncode is None, "nobody has reaped it yet"
    with pytest.raises(ProcessError, match="not running"):
        pid_of(child.pid)
    end(pid, 1.0)
    kill(pid)
    assert asyncio.run(ended(pid, 0.0))


def test_end_asks_first_and_kills_then(start: Start) -> None:
    polite, stubborn = start(SLEEP), start(STUBBORN)
    assert seconds_of(lambda: end(pid_of(polite.pid), 60.0)) < 30
    assert polite.wait(5) == -signal.SIGTERM
    assert seconds_of(lambda: end(pid_of(stubborn.pid), 0.2)) >= 0.2
    assert stubborn.wait(5) == -signal.SIGKILL


def test_a_stopped_process_is_ended_too(start: Start) -> None:
    child = start(SLEEP)
    os.kill(child.pid, signal.SIGSTOP)
    wait_for(lambda: Path(f"/proc/{child.pid}/stat").read_text().split()[2] == "T", "it is stopped")
    end(pid_of(child.pid), 0.2)
    assert child.wait(5) == -signal.SIGKILL


def test_somebody_else_under_the_same_number_is_left_alone(start: Start) -> None:
    child = start(SLEEP)
    pid = pid_of(child.pid)
    other = Pid(pid.pid, pid.start - 1)
    end(other, 0.1)
    kill(other)
    assert asyncio.run(ended(other, 0.1))
    assert alive(pid)


def test_ended_waits_for_the_end(start: Start) -> None:
    child = start(SLEEP)
    pid = pid_of(child.pid)
    assert not asyncio.run(ended(pid, 0.1))

    async def end_meanwhile() -> bool:
        asyncio.get_running_loop().call_later(0.1, kill, pid)
        return await ended(pid, 60.0)

    assert seconds_of(lambda: asyncio.run(end_meanwhile())) < 30


# -- QMP


@pytest.fixture
def standin(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Starts a stand-in for QEMU, returns the path of its socket."""
    children = []

    def run(*ways: str) -> Path:
        path = tmp_path / "qmp"
        children.append(subprocess.Popen([sys.executable, str(STANDIN), str(path), str(tmp_path / "told"), *ways]))
        wait_for(path.exists, "the socket")
        return path

    yield run
    for child in children:
        child.kill()
        child.wait()


def _sync(path: Path, command: str, deadline_s: float, **arguments: Any) -> Any:
    with Qmp(path, deadline_s) as qmp:
        return qmp.execute(command, **arguments)


def _async(path: Path, command: str, deadline_s: float, **arguments: Any) -> Any:
    return asyncio.run(qmp_execute(path, command, deadline_s, **arguments))


both = pytest.mark.parametrize("ask", [_sync, _async])


@both
def test_answers_pass_events_and_arguments_arrive(standin: Callable[..., Path], ask: Any) -> None:
    path = standin()
    assert ask(path, "set_link", 5.0, name="nic0", up=False) == {"asked": {"name": "nic0", "up": False}}
    assert ask(path, "query-status", 5.0) == {"asked": {}}


def test_one_connection_serves_many_commands(standin: Callable[..., Path]) -> None:
    with Qmp(standin(), 5.0) as qmp:
        assert [qmp.execute("x", n=n) for n in range(3)] == [{"asked": {"n": n}} for n in range(3)]


@both
def test_a_refusal_is_told_in_its_words(standin: Callable[..., Path], ask: Any) -> None:
    path = standin()
    with pytest.raises(QmpError, match=r"bad: .*The command bad has not been found") as error:
        ask(path, "bad", 5.0)
    assert not isinstance(error.value, QmpUnreachable)


@both
def test_a_second_client_gets_no_answer_in_time(standin: Callable[..., Path], ask: Any) -> None:
    path = standin()
    with socket.socket(socket.AF_UNIX) as first:
        first.connect(str(path))
        first.recv(100)

        def second() -> None:
            with pytest.raises(QmpUnreachable, match=r"no answer within 0\.3 s"):
                ask(path, "query-status", 0.3)

        assert seconds_of(second) > 0.2
    assert ask(path, "query-status", 5.0) == {"asked": {}}


@both
@pytest.mark.parametrize(
    ("way", "kind", "wrong"),
    [("hang-up", QmpUnreachable, "hung up|Broken pipe|reset"), ("rubbish", QmpError, "is not JSON")],
)
def test_what_is_no_qmp(standin: Callable[..., Path], ask: Any, way: str, kind: type[QmpError], wrong: str) -> None:
    path = standin(way)
    with pytest.raises(kind, match=wrong):
        ask(path, "query-status", 5.0)


@both
def test_nobody_there(tmp_path: Path, ask: Any) -> None:
    with pytest.raises(QmpUnreachable, match="No such file"):
        ask(tmp_path / "none", "query-status", 5.0)
