"""Shells that stay open, over a real OpenSSH server: who uses them, and what a fault of them does to a call."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from throwaway_sshd import SshdMaker, ThrowawaySshd

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.transports import CommandTimeout, ConnectionLost
from niclab.transports.ssh import SshHost


def _shells(server: ThrowawaySshd) -> list[int]:
    """The shells that are open on ``server``, the warden too, in the order of their start."""
    found = subprocess.run(["pgrep", "-f", r"^/bin/sh -s niclab-shell-"], check=False, capture_output=True, text=True)
    environment = f"NICLAB_HOST={server.name}\0".encode()
    return [pid for pid in map(int, found.stdout.split()) if environment in Path(f"/proc/{pid}/environ").read_bytes()]


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


def test_eight_long_commands_run_at_the_same_time(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(8) as pool:
        began = time.monotonic()
        results = list(pool.map(lambda n: host.run(f"sleep 3; echo {n}").stdout, range(8)))
        assert results == [f"{n}\n" for n in range(8)]
        assert time.monotonic() - began < 6


def test_a_command_past_its_time_is_ended_with_all_its_children(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host:
        leader = _leader(host)
        began = time.monotonic()
        with pytest.raises(CommandTimeout, match=r"ran past 1.5 s and was ended on the host; stdout: 'begun'"):
            host.run("echo begun; sh -c 'sleep 78.1; true'; sleep 78.2", timeout_s=1.5)
        assert 1.4 < time.monotonic() - began < 3
        assert not host.run("pgrep -fx 'sleep 78.[12]'").succeeded
        assert _leader(host) != leader
        until(lambda: leader not in _shells(server), within=8, what="the shell of the late command to end")


@pytest.mark.usefixtures("short_grace")
def test_a_command_that_ignores_sigterm_is_killed_and_the_next_one_runs(server: ThrowawaySshd) -> None:
    deaf = server.directory / "deaf"
    deaf.write_text("trap '' TERM; echo deaf; while :; do sleep 0.1; done\n")
    with SshHost(server.endpoint) as host:
        began = time.monotonic()
        with pytest.raises(CommandTimeout, match=r"ran past 0.5 s .*stdout: 'deaf'"):
            host.run(f"sh {deaf}", timeout_s=0.5)
        assert time.monotonic() - began < 4
        assert host.run("echo next").stdout == "next\n"
        until(lambda: not host.run(f"pgrep -fx 'sh {deaf}'").succeeded, within=4, what="SIGKILL to arrive")


def test_a_command_is_ended_on_the_host_when_this_side_is_gone(server: ThrowawaySshd, tmp_path: Path) -> None:
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        running = pool.submit(host.run, f"echo x > {tmp_path}/on; sleep 79.1", timeout_s=3)
        until(_lines_of(tmp_path / "on"), within=10, what="the command to run")
        time.sleep(1.5)  # the guard is set
        server.signal_sessions(signal.SIGKILL)
        with pytest.raises(ConnectionLost, match=r"connection lost after \d"):
            running.result(timeout=10)
        assert subprocess.run(["pgrep", "-fx", "sleep 79.1"], check=False).returncode == 0
        ended = ["pgrep", "-fx", "sleep 79.1"]
        until(lambda: subprocess.run(ended, check=False).returncode != 0, within=8, what="the host to end it")


def test_a_command_that_lost_its_connection_early_is_ended_by_the_next_connection(
    server: ThrowawaySshd, tmp_path: Path
) -> None:
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        host.run("true")
        running = pool.submit(host.run, f"echo x > {tmp_path}/on; sleep 80.1", timeout_s=3)
        until(_lines_of(tmp_path / "on"), within=10, what="the command to run")
        server.signal_sessions(signal.SIGKILL)
        with pytest.raises(ConnectionLost):
            running.result(timeout=10)
        assert host.run("pgrep -fx 'sleep 80.1'").succeeded
        until(lambda: not host.run("pgrep -fx 'sleep 80.1'").succeeded, within=10, what="the host to end it")


def test_a_killed_shell_is_a_lost_connection_and_the_next_call_opens_another(
    server: ThrowawaySshd, tmp_path: Path
) -> None:
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        leader = _leader(host)
        running = pool.submit(host.run, f"echo before; echo x > {tmp_path}/on; sleep 1.5; echo x >> {tmp_path}/on")
        until(_lines_of(tmp_path / "on"), within=10, what="the command to run")
        os.kill(leader, signal.SIGKILL)
        with pytest.raises(
            ConnectionLost, match=r"'echo before;.*': the shell that ran it was ended \(SIGKILL\) after .*'before'"
        ):
            running.result(timeout=10)
        assert host.run("echo again").stdout == "again\n"
        time.sleep(2)
        assert (tmp_path / "on").read_text() == "x\nx\n", "it was repeated, or ended"


def test_a_killed_idle_shell_costs_nothing(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host:
        for pid in (_leader(host), *_shells(server)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.2)
        assert host.run("echo again").stdout == "again\n"
        with pytest.raises(CommandTimeout):
            host.run("sleep 81.1", timeout_s=1.2)


def test_a_command_handed_over_is_never_sent_twice(server: ThrowawaySshd, tmp_path: Path) -> None:
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        host.run("true")
        server.signal_sessions(signal.SIGSTOP)
        running = pool.submit(host.run, f"echo once >> {tmp_path}/count")
        with pytest.raises(TimeoutError):
            running.result(timeout=0.3)
        server.signal_sessions(signal.SIGKILL)
        with pytest.raises(ConnectionLost, match=r"connection lost after .*received so far: nothing"):
            running.result(timeout=10)
        assert not (tmp_path / "count").exists()


def test_a_dead_connection_is_noticed_before_a_command_after_a_pause(server: ThrowawaySshd, tmp_path: Path) -> None:
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        host.run("true")
        time.sleep(1.2)
        server.signal_sessions(signal.SIGSTOP)
        running = pool.submit(host.run, f"echo once >> {tmp_path}/count")
        with pytest.raises(TimeoutError):
            running.result(timeout=0.3)
        server.signal_sessions(signal.SIGKILL)
        assert running.result(timeout=10).succeeded
        assert (tmp_path / "count").read_text() == "once\n"


@pytest.mark.parametrize("command", ["yes", "yes >&2", "yes & wait"])
def test_endless_output_is_a_fault_and_ended_on_the_host(
    server: ThrowawaySshd, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("niclab.transports.ssh_stream.OUTPUT_LIMIT_BYTES", 2**20)
    with SshHost(server.endpoint) as host:
        with pytest.raises(BenchFault, match=rf"dut.*: '{command}': more than 1048576 bytes on stdout and stderr;"):
            host.run(command, timeout_s=20)
        until(lambda: not host.run("pgrep -x yes").succeeded, within=5, what="yes to end")
        assert host.run("echo next").stdout == "next\n"


def test_output_up_to_the_bound_is_whole(server: ThrowawaySshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("niclab.transports.ssh_stream.OUTPUT_LIMIT_BYTES", 2**20)
    with SshHost(server.endpoint) as host:
        assert len(host.run("head -c 1040000 /dev/zero", check=True).stdout) == 1_040_000


def test_what_a_command_left_behind_never_writes_into_the_next(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host:
        leader = _leader(host)
        late = server.directory / "late"
        late.write_text("(sleep 0.3; echo late) &\n")
        assert host.run(f"echo done; sh {late}").stdout == "done\n"
        time.sleep(0.6)
        assert host.run("echo next").stdout == "next\n"
        assert _leader(host) != leader


def test_a_server_without_sessions_to_spare_still_runs_commands(server: ThrowawaySshd) -> None:
    config = server.directory / "sshd_config"
    config.write_text(config.read_text() + "MaxSessions 1\n")
    server.stop()
    server.start()
    with SshHost(server.endpoint) as host:
        assert [host.run(f"echo {n}").stdout for n in range(3)] == ["0\n", "1\n", "2\n"]


def test_a_login_shell_that_prints_does_no_harm(server: ThrowawaySshd) -> None:
    config = server.directory / "sshd_config"
    config.write_text(config.read_text() + 'ForceCommand echo welcome; eval "$SSH_ORIGINAL_COMMAND"\n')
    server.stop()
    server.start()
    with SshHost(server.endpoint) as host:
        assert host.run("echo first").stdout.endswith("first\n")
        assert host.run("echo second").stdout == "second\n"


def test_an_interrupted_call_leaves_no_shell_in_use(server: ThrowawaySshd) -> None:
    with SshHost(server.endpoint) as host:
        host.run("true")
        main = threading.get_ident()
        threading.Timer(0.4, signal.pthread_kill, [main, signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            host.run("echo interrupted; sleep 2", timeout_s=20)
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda n: host.run(f"echo {n}").stdout, range(8))) == [f"{n}\n" for n in range(8)]
