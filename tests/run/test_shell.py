"""SSHLibrary below the lab: every command has a deadline, and a shell that is not the server's is noticed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from paramiko import Transport
from robot.libraries.BuiltIn import BuiltIn
from throwaway_sshd import SshdMaker

import Shell as module
from niclab.bench.records import Role
from niclab.core.undo import Journal
from niclab.core.verdict import BenchFault
from niclab.run.watching.carrier_watch import CarrierWatch
from niclab.transports.ssh.ssh import SshEndpoint
from Shell import Shell


class Server:
    """A server whose own connection of the lab says that it is called ``name``."""

    def __init__(self, endpoint: SshEndpoint, name: str) -> None:
        self.name, self.ssh, self._called = "dut", SimpleNamespace(endpoint=endpoint), name

    def run(self, _: str) -> SimpleNamespace:
        return SimpleNamespace(stdout=f"{self._called}\n")


@pytest.fixture
def servers(make_sshd: SshdMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[Role, Server]:
    """Both servers are this machine; the lab's own connections give them names."""
    sshd, here = make_sshd(), Path("/proc/sys/kernel/hostname").read_text().strip()
    found = {Role.DUT: Server(sshd.endpoint, here), Role.PEER: Server(sshd.endpoint, "another")}
    undone: list[Any] = []
    run = SimpleNamespace(server=lambda role: found[role], undo=undone.append, told=list[Any]())
    carriers = SimpleNamespace(let=lambda who, *, may: run.told.append((who, may)))
    run.part = {CarrierWatch: carriers}.__getitem__
    with Journal(tmp_path / "journal", "run").hold() as run.journal:
        monkeypatch.setattr(Shell, "run", run)
        monkeypatch.setattr(BuiltIn, "get_variable_value", lambda *_: str(tmp_path))
        yield found
    assert run.journal.pending() == []


def opened(server: Role = Role.DUT, timeout_s: int = 30) -> Shell:
    shell = Shell(server, timeout_s)
    shell.open_shell()
    return shell


@pytest.mark.usefixtures("servers")
class TestGood:
    def test_every_check_is_green(self) -> None:
        shell = opened()
        shell.commands_should_run_on_the_server()
        shell.background_program_should_be_read_when_it_ends()
        shell.file_should_come_back_unchanged()
        shell.close_all_connections()

    def test_a_command_that_does_not_end_is_given_up_after_the_deadline(self) -> None:
        shell = opened(timeout_s=1)
        with pytest.raises(Exception, match="Timed out in 1 seconds"):
            shell.execute_command("sleep 20")
        shell.start_command("sleep 20")
        with pytest.raises(Exception, match="Timed out in 1 seconds"):
            shell.read_command_output()
        assert shell.execute_command("sleep 1.2; echo later", timeout="5 s") == "later"
        shell.close_all_connections()


@pytest.mark.usefixtures("servers")
def test_a_shell_on_the_other_server_is_noticed() -> None:
    with pytest.raises(BenchFault, match=r"^peer: uname -n; exit 3: .* expected \('another', 3\)$"):
        opened(Role.PEER).commands_should_run_on_the_server()


def test_servers_of_one_name_prove_nothing(servers: dict[Role, Server]) -> None:
    servers[Role.PEER]._called = servers[Role.DUT]._called
    with pytest.raises(BenchFault, match=r"^dut, peer: both are called '.*'; expected different names$"):
        opened().commands_should_run_on_the_server()


@pytest.mark.usefixtures("servers")
def test_a_file_that_changed_is_noticed_and_the_message_begins_with_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module.Shell, "get_file", lambda _, __, back: Path(back).write_text("*HTML*<b>"))
    with pytest.raises(BenchFault, match=r"^dut: a file that was copied there and back: '\*HTML\*<b>'; expected '"):
        opened().file_should_come_back_unchanged()


def test_an_unknown_host_key_is_refused_before_the_login(
    servers: dict[Role, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = servers[Role.DUT].ssh.endpoint.known_hosts
    known.write_text("")
    logins: list[object] = []
    monkeypatch.setattr(Transport, "auth_publickey", lambda *arguments: logins.append(arguments))
    with pytest.raises(BenchFault, match=rf"^dut: .* not found in known_hosts; expected a host key of {known}$"):
        opened()
    assert logins == []
