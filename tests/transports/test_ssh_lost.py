"""Frozen, silent and restarted hosts: every call ends by its deadline and names the host; the next one reconnects."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from naps import nap_s
from throwaway_sshd import SshdMaker

from niclab.core.wait import Deadline, until
from niclab.transports import ConnectionLost
from niclab.transports.ssh.ssh import GRACE_S, SshHost
from niclab.transports.ssh.ssh_commands import SshCommands
from niclab.transports.ssh.ssh_link import SshLink
from niclab.transports.ssh.ssh_loop import call

TIMEOUT_S = 0.5


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Accepts connections and says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_frozen_session_ends_the_command_by_its_deadline_and_the_next_one_reconnects(
    make_sshd: SshdMaker, tmp_path: Path
) -> None:
    server = make_sshd()
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        host.run("true")
        running = pool.submit(host.run, f"echo started; : > {tmp_path}/on; sleep 20", timeout_s=TIMEOUT_S + 1)
        until((tmp_path / "on").exists, within=20, what="the command to run")
        host.run("sleep 0.1 & wait")  # on a channel of its own, behind the output
        server.signal_sessions(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(
            ConnectionLost, match=r"dut: 'echo started; .*sleep 20': the host stopped answering.*'started'"
        ):
            running.result(timeout=60)
        assert time.monotonic() - began < TIMEOUT_S + 1 + GRACE_S
        assert host.run("echo new").stdout == "new\n"


@pytest.mark.usefixtures("short_grace")
def test_a_session_frozen_between_commands_ends_the_next_command_by_its_deadline(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    with SshHost(server.endpoint) as host:
        host.run("true")
        server.signal_sessions(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(
            ConnectionLost, match=r"dut: no answer within .* to the request to run 'true'|dut: 'true': no"
        ):
            host.run("true", timeout_s=TIMEOUT_S)
        assert time.monotonic() - began < TIMEOUT_S + GRACE_S
        assert host.run("echo new").stdout == "new\n"


def test_a_frozen_host_ends_a_file_transfer(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    with SshHost(server.endpoint) as host:
        host.run("true")
        server.signal_sessions(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(ConnectionLost, match=r"dut: .*write /tmp/niclab-never-there"):
            host.put_text("x" * 100_000, "/tmp/niclab-never-there", timeout_s=TIMEOUT_S)
        assert time.monotonic() - began < TIMEOUT_S + GRACE_S


@pytest.mark.usefixtures("short_grace")
def test_a_frozen_server_is_no_login(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    server.signal_listener(signal.SIGSTOP)
    with SshHost(server.endpoint) as host:
        began = time.monotonic()
        with pytest.raises(ConnectionLost, match=rf"dut: no SSH login at 127.0.0.1:{server.port} within"):
            host.run("true", timeout_s=TIMEOUT_S)
        assert time.monotonic() - began < TIMEOUT_S + GRACE_S
        server.signal_listener(signal.SIGCONT)
        assert host.run("echo up").stdout == "up\n"


def test_a_server_that_says_nothing_ends_a_file_transfer(make_sshd: SshdMaker, silent_port: int) -> None:
    endpoint = replace(make_sshd().endpoint, port=silent_port)
    with SshHost(endpoint) as host:
        began = time.monotonic()
        with pytest.raises(ConnectionLost, match=f"dut: no SSH login at 127.0.0.1:{silent_port} within"):
            host.put_text("x", "/tmp/niclab-never-there", timeout_s=TIMEOUT_S)
        assert time.monotonic() - began < TIMEOUT_S + GRACE_S


def test_a_closed_port_is_a_lost_connection_at_once(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    server.stop()
    with SshHost(server.endpoint) as host, pytest.raises(ConnectionLost, match=r"dut: cannot connect .*refused"):
        host.run("true")


def test_a_restarted_host_is_connected_to_again(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    with SshHost(server.endpoint) as host:
        assert host.run("echo 1").stdout == "1\n"
        server.stop()
        with pytest.raises(ConnectionLost):
            host.run("echo 2")
        server.start()
        assert host.run("echo 3").stdout == "3\n"


def test_a_connection_that_is_just_being_lost_is_replaced_and_no_refusal_of_the_host(make_sshd: SshdMaker) -> None:
    link = SshLink(make_sshd().endpoint)
    deadline = Deadline(20)

    async def lose_and_run() -> bytes:
        (await link.connection(deadline)).abort()  # its transport is gone; it calls itself closed a turn later
        return (await SshCommands(link).execute("echo once", lambda _: "echo once", 5, deadline, b"")).stdout

    try:
        assert call(lose_and_run(), within_s=20) == b"once\n"
    finally:
        call(link.close(), within_s=5)


def test_a_connection_that_is_lost_before_the_command_starts_is_replaced_once(
    make_sshd: SshdMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("niclab.transports.ssh.ssh_pool._FRESH_S", 0)  # as if the host had been silent for long
    server = make_sshd()
    with SshHost(server.endpoint) as host, ThreadPoolExecutor(1) as pool:
        host.run("true")
        server.signal_sessions(signal.SIGSTOP)
        running = pool.submit(host.run, "echo once")
        with pytest.raises(TimeoutError):
            running.result(timeout=0.3)
        server.signal_sessions(signal.SIGKILL)
        assert running.result(timeout=10).stdout == "once\n"


def test_a_command_that_may_have_run_is_not_repeated(make_sshd: SshdMaker, tmp_path: Path) -> None:
    server, count = make_sshd(), tmp_path / "count"

    def kill_sessions_when_it_runs() -> None:
        until(lambda: count.exists() and count.read_text() != "", within=20, what="the command to run")
        server.signal_sessions(signal.SIGKILL)

    with SshHost(server.endpoint) as host:
        host.run("true")
        killer = threading.Thread(target=kill_sessions_when_it_runs)
        killer.start()
        with pytest.raises(ConnectionLost):
            host.run(f"echo once >> {count}; sleep {nap_s()}", timeout_s=40)
        killer.join()
        assert host.read_text(str(count)) == "once\n"


def test_closing_is_repeatable_and_the_next_call_connects(make_sshd: SshdMaker) -> None:
    host = SshHost(make_sshd().endpoint)
    host.close()
    host.run("true")
    host.close()
    host.close()
    assert host.run("echo x").stdout == "x\n"
    host.close()


def test_the_constructor_connects_to_nothing(make_sshd: SshdMaker) -> None:
    endpoint = replace(make_sshd().endpoint, address="256.256.256.256", key_file=Path("/nowhere"))
    assert SshHost(endpoint).name == "dut"
