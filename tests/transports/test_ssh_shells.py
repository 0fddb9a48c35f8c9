"""Shells that stay open, over a real OpenSSH server: who uses them, and what a fault of them does to a call."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naps import nap_s, running
from throwaway_sshd import SshdMaker, ThrowawaySshd

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.transports import CommandTimeout, ConnectionLost
from niclab.transports.ssh.ssh import SshHost
from niclab.transports.ssh.ssh_pool import PooledShell, Warden
from niclab.transports.ssh.ssh_shell import Frame


def _processes(server: ThrowawaySshd, pattern: str) -> list[int]:
    """The processes on ``server`` with such a command line, in the order of their start."""
    found = subprocess.run(["pgrep", "-f", pattern], check=False, capture_output=True, text=True)
    environment = f"NICLAB_HOST={server.name}\0".encode()
    return [pid for pid in map(int, found.stdout.split()) if environment in _environment(pid)]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return b""


def _shells(server: ThrowawaySshd) -> list[int]:
    """The shells that are open on ``server``, the warden too, in the order of their start."""
    return _processes(server, r"^/bin/sh -s niclab-shell-")


def _leader(host: SshHost) -> int:
    """The process number of the shell that the next command uses."""
    return int(host.run("read -r line < /proc/self/stat; set -- $line; echo $4").stdout)


def _lines_of(path: Path) -> Callable[[], bool]:
    return lambda: path.exists() and path.read_text() != ""


@pytest.fixture
def server(make_sshd: SshdMaker) -> ThrowawaySshd:
    return make_sshd(f"dut{os.getpid()}-{time.monotonic_ns()}")


def test_commands_share_one_shell_and_their_changes_of_it_end_with_them(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host:
        before = _leader(host)
        host.run("cd /; export A=b; umask 0; set -e; PATH=/nowhere; exit 3")
        assert host.run("pwd; echo ${A-unset}; umask").stdout == f"{Path.home()}\nunset\n0022\n"
        assert _leader(host) == before
        assert len(_shells(server)) == 2, "a shell and its warden"


def test_what_needs_a_process_of_its_own_gets_a_channel(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host:
        leader = _leader(host)
        assert host.run("kill -KILL $$").signal == "KILL"
        assert host.run("exec sh -c 'exit 137'").exit_status == 137
        assert host.run("cat", stdin="given").stdout == "given"
        assert _leader(host) == leader


@given(
    stdout=st.lists(st.one_of(st.binary(max_size=300), st.just(b"\n"), st.just(b"\0")), max_size=6).map(b"".join),
    status=st.integers(0, 255),
)
def test_every_ending_arrives(host: SshHost, stdout: bytes, status: int) -> None:
    octal = "".join(f"\\{byte:03o}" for byte in stdout)
    result = host.run(f"printf '{octal}'; printf '{octal}!' >&2; exit {status}")
    text = stdout.decode(errors="replace")
    wanted_stderr = (stdout + b"!").decode(errors="replace")
    assert (result.exit_status, result.stdout, result.stderr) == (status, text, wanted_stderr)


def test_eight_threads_on_one_host_never_mix_up(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host:

        def work(thread: int) -> list[str]:
            wrong = []
            for number in range(40):
                result = host.run(f"echo {thread} {number}; echo {number} {thread} >&2; exit {thread}")
                if result.stdout != f"{thread} {number}\n" or result.stderr != f"{number} {thread}\n":
                    wrong.append(f"{result}")
                if number % 10 == thread:
                    host.run(f"sleep 0.01 & wait; echo {thread}", check=True)
            return wrong

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [[]] * 8
        assert len(_shells(server)) <= 5, "four shells and the warden"


def test_eight_long_commands_run_at_the_same_time(server: ThrowawaySshd, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    each = f"echo > {here}/%d; until [ $(ls {here} | wc -l) = 8 ]; do sleep 0.1; done; echo %d"
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: host.run(each % (n, n), timeout_s=60).stdout, range(8)))
        assert results == [f"{n}\n" for n in range(8)]


def test_a_command_past_its_time_is_ended_with_all_its_children(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host:
        leader, nap = _leader(host), f"sleep {nap_s()}"
        began = time.monotonic()
        with pytest.raises(CommandTimeout, match=r"ran past 1.5 s and was ended on the host; stdout: 'begun'"):
            host.run(f"echo begun; sh -c '{nap}; true'; {nap}", timeout_s=1.5)
        assert 1.4 < time.monotonic() - began < 30
        until(lambda: not running(nap), within=10, what="the children to end")
        assert _leader(host) != leader
        until(lambda: leader not in _shells(server), within=20, what="the shell of the late command to end")


@pytest.mark.usefixtures("short_grace")
def test_a_command_that_ignores_sigterm_is_killed_and_the_next_one_runs(server: ThrowawaySshd) -> None:
    deaf = server.directory / "deaf"
    deaf.write_text("trap '' TERM; echo deaf; while :; do sleep 0.1; done\n")
    with SshHost(server.endpoint) as host:
        with pytest.raises(CommandTimeout, match=r"ran past 0.5 s .*stdout: 'deaf'"):
            host.run(f"sh {deaf}", timeout_s=0.5)
        assert host.run("echo next").stdout == "next\n"
        until(lambda: not running(f"sh {deaf}"), within=20, what="SIGKILL to arrive")


def test_a_command_is_ended_on_the_host_when_this_side_is_gone(
    server: ThrowawaySshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    guarded = threading.Event()
    set_guard = Warden.set_guard

    async def noted(*arguments: Any) -> int | None:
        number = await set_guard(*arguments)
        guarded.set()
        return number

    monkeypatch.setattr(Warden, "set_guard", noted)
    nap, began = f"sleep {nap_s()}", time.monotonic()
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        run = pool.submit(host.run, nap, timeout_s=3)
        assert guarded.wait(20)
        server.signal_sessions(signal.SIGKILL)
        with pytest.raises(ConnectionLost, match=r"connection lost after \d"):
            run.result(timeout=20)
        until(lambda: not running(nap), within=20, what="the host to end it")
        assert time.monotonic() - began >= 3, "it ended with its connection"


def test_a_command_that_lost_its_connection_early_is_ended_by_the_next_connection(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        host.run("true")
        nap = f"sleep {nap_s()}"
        run = pool.submit(host.run, nap, timeout_s=3)
        until(lambda: running(nap), within=10, what="the command to run")
        server.signal_sessions(signal.SIGKILL)
        with pytest.raises(ConnectionLost):
            run.result(timeout=20)
        began = time.monotonic()
        assert host.run("echo here").stdout == "here\n"
        until(lambda: not running(nap), within=20, what="the host to end it")
        assert time.monotonic() - began >= 3, "it ended with its connection"


def test_a_killed_shell_is_a_lost_connection_and_the_next_call_opens_another(
    server: ThrowawaySshd, tmp_path: Path
) -> None:
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        leader = _leader(host)
        run = pool.submit(host.run, f"echo before; echo x >> {tmp_path}/on; sleep 1.5; echo y >> {tmp_path}/on")
        until(_lines_of(tmp_path / "on"), within=10, what="the command to run")
        os.kill(leader, signal.SIGKILL)
        with pytest.raises(
            ConnectionLost, match=r"'echo before;.*': the shell that ran it was ended \(SIGKILL\) after .*'before'"
        ):
            run.result(timeout=20)
        assert host.run("echo again").stdout == "again\n"
        until(lambda: (tmp_path / "on").read_text() != "x\n", within=20, what="a second line")
        assert (tmp_path / "on").read_text() == "x\ny\n", "it was repeated"


def test_a_killed_idle_shell_costs_nothing(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host:
        for pid in (_leader(host), *_shells(server)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        host.run("sleep 0.2 & wait", check=True)  # on a channel of its own, behind what the host says of the others
        assert host.run("echo again").stdout == "again\n"
        with pytest.raises(CommandTimeout):
            host.run(f"sleep {nap_s()}", timeout_s=1.2)


def test_a_command_handed_over_is_never_sent_twice(
    server: ThrowawaySshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_over = threading.Event()
    send = PooledShell.send

    def noted(shell: PooledShell, frame: Frame) -> None:
        send(shell, frame)
        handed_over.set()

    monkeypatch.setattr("niclab.transports.ssh.ssh_pool._FRESH_S", 600)  # the shell is not asked whether it is there
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        host.run("true")
        monkeypatch.setattr(PooledShell, "send", noted)
        server.signal_sessions(signal.SIGSTOP)
        run = pool.submit(host.run, f"echo once >> {tmp_path}/count")
        assert handed_over.wait(20)
        server.signal_sessions(signal.SIGKILL)
        with pytest.raises(ConnectionLost, match=r"connection lost after .*received so far: nothing"):
            run.result(timeout=20)
        assert not (tmp_path / "count").exists()


def test_a_dead_connection_is_noticed_before_a_command_after_a_pause(server: ThrowawaySshd, tmp_path: Path) -> None:
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        host.run("true")
        time.sleep(1.2)
        server.signal_sessions(signal.SIGSTOP)
        run = pool.submit(host.run, f"echo once >> {tmp_path}/count")
        with pytest.raises(TimeoutError):
            run.result(timeout=0.3)
        server.signal_sessions(signal.SIGKILL)
        assert run.result(timeout=20).succeeded
        assert (tmp_path / "count").read_text() == "once\n"


@pytest.mark.parametrize("command", ["yes", "yes >&2", "yes & wait"])
def test_endless_output_is_a_fault_and_ended_on_the_host(
    server: ThrowawaySshd, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("niclab.transports.ssh.ssh_stream.OUTPUT_LIMIT_BYTES", 2**20)
    with SshHost(server.endpoint) as host:
        with pytest.raises(BenchFault, match=rf"dut.*: '{command}': more than 1048576 bytes on stdout and stderr;"):
            host.run(command, timeout_s=20)
        until(lambda: not _processes(server, "^yes$"), within=20, what="yes to end")
        assert host.run("echo next").stdout == "next\n"


def test_output_up_to_the_bound_is_whole(server: ThrowawaySshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("niclab.transports.ssh.ssh_stream.OUTPUT_LIMIT_BYTES", 2**20)
    with SshHost(server.endpoint) as host:
        assert len(host.run("head -c 1040000 /dev/zero", check=True).stdout) == 1_040_000


def test_what_a_command_left_behind_never_writes_into_the_next(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host:
        leader = _leader(host)
        late, said = server.directory / "late", server.directory / "said"
        late.write_text(f"(sleep 0.3; echo late; : > {said}) &\n")
        assert host.run(f"echo done; sh {late}").stdout == "done\n"
        until(said.exists, within=20, what="the late output")
        host.run("sleep 0.1 & wait", check=True)  # on a channel of its own, behind that output
        assert host.run("echo next").stdout == "next\n"
        assert _leader(host) != leader


def test_a_server_without_sessions_to_spare_still_runs_commands(server: ThrowawaySshd) -> None:
    config = server.directory / "sshd_config"
    config.write_text(config.read_text() + "MaxSessions 1\n")
    server.stop()
    server.start()
    with SshHost(server.endpoint) as host:
        assert [host.run(f"echo {n}").stdout for n in range(3)] == ["0\n", "1\n", "2\n"]


def _force(server: ThrowawaySshd, command: str) -> None:
    """The login shell runs this instead of the command that it is given."""
    config = server.directory / "sshd_config"
    config.write_text(config.read_text() + f"ForceCommand {command}\n")
    server.stop()
    server.start()


def test_a_login_shell_that_prints_does_no_harm(server: ThrowawaySshd) -> None:
    _force(server, 'echo welcome; eval "$SSH_ORIGINAL_COMMAND"')
    with SshHost(server.endpoint) as host:
        assert host.run("echo first").stdout == "first\n"
        assert host.run("echo second").stdout == "second\n"


@pytest.mark.parametrize("greeting", ["echo welcome", "printf welcome", "echo w; sleep 0.1; seq 9999", "echo w >&2"])
def test_a_greeting_is_in_no_output_of_a_channel_of_its_own(
    server: ThrowawaySshd, greeting: str, tmp_path: Path
) -> None:
    _force(server, f'{greeting}; eval "$SSH_ORIGINAL_COMMAND"')
    file = tmp_path / "file"
    with SshHost(server.endpoint) as host:
        assert host.run("cat", stdin="given").stdout == "given"
        assert host.run("echo $$ >/dev/null; echo own").stdout == "own\n"
        host.put_text("hi", str(file))
        assert file.read_text() == "hi"
        job = host.start("echo job")
        assert job.wait(20).stdout == "job\n"
        job.stop()


def test_a_greeting_costs_no_request(server: ThrowawaySshd) -> None:
    _force(server, f'echo x >>{server.directory}/begun; echo welcome; eval "$SSH_ORIGINAL_COMMAND"')
    with SshHost(server.endpoint) as host:
        host.put_text("hi", str(server.directory / "file"))
    assert (server.directory / "begun").read_text() == "x\n"


@pytest.mark.parametrize(("forced", "status"), [("echo no shell for you; exit 1", 1), ("echo a menu", 0)])
def test_a_login_shell_that_runs_nothing_is_a_fault(server: ThrowawaySshd, forced: str, status: int) -> None:
    _force(server, forced)
    said = f"was not run: the login shell ended with exit status {status}; received so far: '(no shell|a menu)"
    with SshHost(server.endpoint) as host:
        for ask in (lambda: host.run("true"), lambda: host.put_text("hi", "/nowhere/x"), lambda: host.start("true")):
            with pytest.raises(BenchFault, match=said):
                ask()


def test_a_file_whose_length_cannot_be_read_back_is_a_fault(server: ThrowawaySshd, tmp_path: Path) -> None:
    (server.directory / "wc").write_text("#!/bin/sh\necho many\n")
    (server.directory / "wc").chmod(0o755)
    _force(server, f'PATH={server.directory}:$PATH; eval "$SSH_ORIGINAL_COMMAND"')
    with (
        SshHost(server.endpoint) as host,
        pytest.raises(BenchFault, match=f"{tmp_path}/f: wc -c prints 'many'; expected the 2 bytes written"),
    ):
        host.put_text("hi", f"{tmp_path}/f")


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT interrupts, also where the tests run in the background of a shell, which has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_call_leaves_no_shell_in_use(server: ThrowawaySshd) -> None:
    nap, main = f"sleep {nap_s()}", threading.get_ident()

    def interrupt() -> None:
        until(lambda: running(nap), within=20, what="the command to run")
        signal.pthread_kill(main, signal.SIGINT)

    with SshHost(server.endpoint) as host:
        host.run("true")
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            host.run(nap, timeout_s=40)
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda n: host.run(f"echo {n}").stdout, range(8))) == [f"{n}\n" for n in range(8)]
