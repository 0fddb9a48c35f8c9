"""Errands: script that is on the host before the next command, in the same breath."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from throwaway_sshd import SshdMaker

from niclab.transports import ConnectionLost
from niclab.transports.ssh.ssh import Result, SshHost


class Waiting:
    """Errands of a test."""

    def __init__(self, *scripts: str) -> None:
        self.scripts = list(scripts)

    def take(self) -> str:
        return self.scripts.pop(0) if self.scripts else ""

    def hand_back(self, errand: str) -> None:
        self.scripts.insert(0, errand)


@pytest.mark.parametrize("command", ["cat {file}", "cat {file}; echo $$ > /dev/null", "exec cat {file}"])
def test_it_is_done_before_the_command_and_neither_seen_nor_heard(host: SshHost, tmp_path: Path, command: str) -> None:
    seen: list[Result] = []
    host.on_result = seen.append
    host.errands = Waiting(f"printf '%s\\n' 'it'\"'\"'s here' >> {tmp_path}/file")
    command = command.format(file=tmp_path / "file")
    result = host.run(command)
    assert (result.stdout, result.stderr, result.command) == ("it's here\n", "", command) and seen == [result]
    assert host.run(f"cat {tmp_path}/file").stdout == "it's here\n"


def test_it_is_done_before_a_job_and_before_a_command_that_reads(host: SshHost, tmp_path: Path) -> None:
    host.errands = Waiting(f"echo 1 >> {tmp_path}/file", f"echo 2 >> {tmp_path}/file")
    assert host.run("cat; " + f"cat {tmp_path}/file", stdin="in\n").stdout == "in\n1\n"
    job = host.start(f"cat {tmp_path}/file", limit_s=30)
    assert job.wait(20).stdout == "1\n2\n"


def test_one_that_fails_fails_no_command(host: SshHost) -> None:
    host.errands = Waiting("{ echo x > /no/such/folder/file; } 2>/dev/null")
    assert host.run("echo fine; exit 3").exit_status == 3


def test_one_that_could_not_be_sent_waits_for_the_next_command(make_sshd: SshdMaker, tmp_path: Path) -> None:
    server = make_sshd()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        waiting = Waiting(f"echo here > {tmp_path}/file")
        with SshHost(replace(server.endpoint, port=closed.getsockname()[1])) as host:
            host.errands = waiting
            with pytest.raises(ConnectionLost):
                host.run("true", timeout_s=1)
    assert len(waiting.scripts) == 1
    with SshHost(server.endpoint) as host:
        host.errands = waiting
        assert host.run(f"cat {tmp_path}/file").stdout == "here\n"
