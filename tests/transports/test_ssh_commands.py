"""Commands over SSH against a real OpenSSH server: results, signals, deadlines, output, files."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from naps import nap_s, running
from throwaway_sshd import SshdMaker

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.transports import CommandTimeout, ConnectionLost
from niclab.transports.ssh.ssh import Result, SshHost


def test_a_result_holds_status_and_both_outputs(host: SshHost) -> None:
    result = host.run("echo out; echo err >&2; exit 3")
    assert (result.exit_status, result.signal, result.stdout, result.stderr) == (3, None, "out\n", "err\n")
    assert result.command == "echo out; echo err >&2; exit 3"
    assert 0 < result.seconds < 10
    assert not result.succeeded


@pytest.mark.parametrize("status", [0, 1, 124, 126, 127, 137, 143, 254, 255])
def test_every_exit_status_arrives_as_it_is(host: SshHost, status: int) -> None:
    result = host.run(f"exit {status}")
    assert (result.exit_status, result.signal) == (status, None)


@pytest.mark.parametrize("name", ["KILL", "TERM", "SEGV", "ABRT"])
def test_an_end_by_signal_is_told_from_every_exit_status(host: SshHost, name: str) -> None:
    result = host.run(f"kill -{name} $$")
    assert (result.exit_status, result.signal) == (None, name)
    assert result.ending == f"killed by SIG{name}"


def test_check_names_host_command_status_and_stderr(host: SshHost) -> None:
    with pytest.raises(BenchFault, match=r"dut: 'echo broken >&2; exit 2': exit status 2; stderr: 'broken'"):
        host.run("echo broken >&2; exit 2", check=True)
    with pytest.raises(BenchFault, match="killed by SIGKILL"):
        host.run("kill -KILL $$", check=True)
    assert host.run("true", check=True).succeeded


def test_a_command_past_its_time_is_ended_on_the_host_with_all_its_children(host: SshHost) -> None:
    nap = f"sleep {nap_s()}"
    began = time.monotonic()
    with pytest.raises(CommandTimeout, match=r"dut: .* ran past 1 s .* stdout: '\d+'"):
        host.run(f"{nap} & echo $!; wait", timeout_s=1)
    assert 0.9 < time.monotonic() - began < 30
    until(lambda: not running(nap), within=10, what="the child to end")


@pytest.mark.usefixtures("short_grace")
def test_a_command_that_ignores_sigterm_is_killed(host: SshHost) -> None:
    with pytest.raises(CommandTimeout):
        host.run("trap '' TERM; while :; do sleep 0.1; done", timeout_s=0.5)


@pytest.mark.usefixtures("short_grace")
def test_output_that_a_left_behind_process_keeps_open_is_no_hang_and_costs_others_nothing(host: SshHost) -> None:
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(host.run, "sleep 4.2; echo done", timeout_s=30)
        with pytest.raises(CommandTimeout, match=r"exit status 0 but what it left in the background"):
            host.run("setsid sleep 6.25 & echo started", timeout_s=0.5)
        assert other.result().stdout == "done\n"


def test_stdin_text_bytes_and_none(host: SshHost) -> None:
    assert host.run("cat", stdin="grün\n").stdout == "grün\n"
    assert host.run("wc -c", stdin=bytes(range(256)) * 4096).stdout.strip() == str(256 * 4096)
    assert host.run("cat").stdout == ""
    assert host.run("exit 4", stdin="never read" * 100_000).exit_status == 4


def test_output_that_is_not_utf8_never_raises(host: SshHost) -> None:
    result = host.run(r"printf 'a\377b\303'; printf '\200' >&2")
    assert (result.stdout, result.stderr) == ("a�b�", "�")


def test_a_megabyte_arrives_whole(host: SshHost) -> None:
    result = host.run("seq 1 150000")
    assert result.stdout == "".join(f"{n}\n" for n in range(1, 150001))


@pytest.mark.parametrize(
    "text", ["it's", 'say "x"', "$HOME `id` \\ \\n", "a!b!!", "two\nlines", "x\n!'\"$y\\z\n end", "grün\n!"]
)
def test_quoting_reaches_the_program_unchanged(host: SshHost, text: str) -> None:
    quoted = "'" + text.replace("'", "'\\''") + "'"
    assert host.run(f"printf '%s' {quoted}", check=True).stdout == text


def test_a_script_of_several_lines_runs_as_one(host: SshHost) -> None:
    result = host.run("for i in 1 2; do\n  if ! [ $i = 2 ]; then echo $i; fi\ndone\ncat <<END\nhere !\nEND\nexit 5")
    assert (result.stdout, result.exit_status) == ("1\nhere !\n", 5)


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan")])
def test_a_deadline_that_is_none_is_an_error(host: SshHost, timeout_s: float) -> None:
    with pytest.raises(BenchFault, match=r"dut: 'true': timeout_s is .*; expected a number above 0"):
        host.run("true", timeout_s=timeout_s)


def test_a_nul_in_a_command_is_an_error(host: SshHost) -> None:
    with pytest.raises(BenchFault, match="cannot hold a NUL"):
        host.run("echo a\0b")


def test_a_host_without_timeout_says_so(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    config = server.directory / "sshd_config"
    config.write_text(config.read_text().replace("SetEnv ", "SetEnv PATH=/nowhere "))
    server.stop()
    server.start()
    with SshHost(server.endpoint) as host, pytest.raises(BenchFault, match=r"dut: has no timeout\(1\)"):
        host.run("true")


def test_the_observer_sees_every_result(host: SshHost) -> None:
    seen: list[Result] = []
    with SshHost(host.endpoint, on_result=seen.append) as watched:
        watched.run("true")
        with pytest.raises(BenchFault):
            watched.run("false", check=True)
    assert [(result.command, result.exit_status) for result in seen] == [("true", 0), ("false", 1)]


def test_more_commands_than_sessions_wait_for_their_turn(host: SshHost) -> None:
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda n: host.run(f"sleep 0.05; echo {n}").stdout, range(64)))
    assert results == [f"{n}\n" for n in range(64)]


def test_four_threads_on_two_hosts_never_mix_up(make_sshd: SshdMaker) -> None:
    servers = [make_sshd("dut"), make_sshd("peer")]
    with SshHost(servers[0].endpoint) as dut, SshHost(servers[1].endpoint) as peer:

        def work(thread: int) -> list[str]:
            host = (dut, peer)[thread % 2]
            wrong = []
            for number in range(50):
                answer = host.run(f"echo $NICLAB_HOST {thread} {number}", check=True).stdout
                if answer != f"{host.name} {thread} {number}\n":
                    wrong.append(answer)
            return wrong

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(work, range(4))) == [[], [], [], []]


def test_text_files_are_replaced_and_read_back(host: SshHost, tmp_path: Path) -> None:
    host.put_text("a long text that is replaced\n", f"{tmp_path}/t")
    host.put_text("kürzer\n", f"{tmp_path}/t")
    assert host.read_text(f"{tmp_path}/t") == "kürzer\n"


def test_files_of_proc_are_read_in_full(host: SshHost) -> None:
    assert "MemTotal" in host.read_text("/proc/meminfo")


def test_file_errors_name_host_and_file(host: SshHost) -> None:
    with pytest.raises(BenchFault, match=r"dut: write /nowhere/z: exit status [12]; stderr: .*/nowhere/z"):
        host.put_text("z", "/nowhere/z")
    with pytest.raises(BenchFault, match=r"dut: 'cat -- /nowhere/q': exit status 1"):
        host.read_text("/nowhere/q")


def test_killing_the_session_server_is_a_lost_connection_and_not_a_status(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        host.run("true")
        pid_file = server.directory / "sleeper.pid"
        command = f"echo before; echo $$ > {pid_file}; exec sleep {nap_s()}"
        running = pool.submit(host.run, command, timeout_s=40)
        until(lambda: pid_file.exists() and pid_file.read_text().strip(), within=10, what="the sleeper to run")
        server.signal_sessions(signal.SIGKILL)
        with pytest.raises(ConnectionLost, match=r"dut: 'echo before; .*': connection lost .* 'before'"):
            running.result(timeout=10)
        host.run(f"kill {pid_file.read_text().strip()}")
        assert host.run("echo again").stdout == "again\n"
