"""A login that is not root: commands and files go through sudo, and a sudo that refuses is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from throwaway_sshd import SshdMaker

from niclab.core.verdict import BenchFault
from niclab.transports import AuthenticationFailed, CommandTimeout
from niclab.transports.ssh.ssh import SshHost

# with a process of its own between shell and command, as sudo has where PAM wants the end of the session
LETS_IN = 'shift; AS_ROOT=yes "$@"; exit $?'
WithSudo = Callable[[str], SshHost]


@pytest.fixture
def with_sudo(make_sshd: SshdMaker, tmp_path: Path) -> Iterator[WithSudo]:
    """A host whose sudo is this text of a shell."""
    hosts = []

    def made(text: str) -> SshHost:
        server = make_sshd()
        server.stop()
        if text:
            tool = tmp_path / "sudo"
            tool.write_text(f'#!/bin/sh\n[ "$1" = -n ] || exit 9\n{text}\n')
            tool.chmod(0o755)
        configuration = server.directory / "sshd_config"
        configuration.write_text(configuration.read_text().replace("SHLVL=5", f"SHLVL=5 PATH={tmp_path}:/usr/bin:/bin"))
        server.start()
        hosts.append(SshHost(replace(server.endpoint, sudo=True)))
        return hosts[-1]

    yield made
    for host in hosts:
        host.close()


@pytest.mark.parametrize("command", ["echo $AS_ROOT", "exec echo $AS_ROOT"], ids=["open shell", "own channel"])
def test_every_command_is_root_s(with_sudo: WithSudo, command: str) -> None:
    assert with_sudo(LETS_IN).run(command, check=True).stdout == "yes\n"


def test_one_shell_stays_open_through_sudo(with_sudo: WithSudo) -> None:
    host = with_sudo(LETS_IN)
    shells = {host.run("read -r _ _ _ parent _ </proc/self/stat; echo $parent", check=True).stdout for _ in range(3)}
    assert len(shells) == 1


def test_a_command_that_runs_too_long_is_ended_with_what_it_started(with_sudo: WithSudo) -> None:
    host = with_sudo(LETS_IN)
    with pytest.raises(CommandTimeout):
        host.run("sh -c 'sleep 987; :'; :", timeout_s=0.5)
    assert host.run("pgrep -x -f 'sleep 987'").exit_status == 1


def test_jobs_are_root_s(with_sudo: WithSudo) -> None:
    host = with_sudo(LETS_IN)
    assert host.start("echo $AS_ROOT").wait(10).stdout == "yes\n"


def test_files_are_written_by_root(with_sudo: WithSudo, tmp_path: Path) -> None:
    host = with_sudo(f'shift; echo "$*" >>{tmp_path}/log; exec "$@"')
    host.put_text("kürzer\n", f"{tmp_path}/t")
    assert (tmp_path / "t").read_text() == "kürzer\n"
    assert f"{tmp_path}/t" in (tmp_path / "log").read_text()


def test_a_sudo_that_wants_a_password_is_named_with_its_cure(with_sudo: WithSudo) -> None:
    host = with_sudo("echo 'sudo: a password is required' >&2; exit 1")
    with pytest.raises(AuthenticationFailed) as caught:
        host.run("true")
    user, place = host.endpoint.user, host.endpoint.place
    assert str(caught.value) == (
        f"dut: user {user} at {place} cannot become root: sudo -n true: exit status 1, 'sudo: a password is required'; "
        "expected no question (ssh.sudo of the bench file)"
    )
    assert caught.value.mend == (
        f"on dut, as root: echo '{user} ALL=(root) NOPASSWD: ALL' > /etc/sudoers.d/niclab; or log in as root"
    )


def test_a_server_without_sudo_is_named(with_sudo: WithSudo) -> None:
    with pytest.raises(BenchFault, match="cannot become root: sudo -n true: exit status 127"):
        with_sudo("").run("true")
