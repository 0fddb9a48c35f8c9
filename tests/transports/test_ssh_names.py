"""Hosts called by their names: every refusal is the error that an address would give."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest
from throwaway_sshd import SshdMaker, ThrowawaySshd

from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.ssh.ssh import SshEndpoint, SshHost

NOWHERE = "no-such-host.invalid"
"""RFC 6761: a name that never resolves."""


def named(server: ThrowawaySshd, known: str = "host_key.pub") -> SshEndpoint:
    """The endpoint of ``server`` as localhost; ``known`` is the file of the key that known_hosts has of it."""
    key = (server.directory / known).read_text()
    (server.directory / "known_hosts").write_text(f"[localhost]:{server.port} {key}")
    return replace(server.endpoint, address="localhost")


def unused_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_a_host_is_called_by_its_name(make_sshd: SshdMaker) -> None:
    with SshHost(named(make_sshd())) as host:
        assert host.run("echo in").stdout == "in\n"


@pytest.mark.parametrize("known", ["", "[localhost]:1 ", "[other.example]:22 "])
def test_an_unknown_key_of_a_named_host_is_refused(make_sshd: SshdMaker, known: str) -> None:
    server = make_sshd()
    endpoint = named(server)
    key = (server.directory / "host_key.pub").read_text()
    endpoint.known_hosts.write_text(f"{known}{key}" if known else "")
    with SshHost(endpoint) as host:
        with pytest.raises(AuthenticationFailed) as caught:
            host.run("true")
        endpoint.known_hosts.write_text(f"[localhost]:{server.port} {key}")
        assert host.run("echo in").stdout == "in\n"
    assert str(caught.value).startswith(f"dut: the host key of localhost:{server.port}, ssh-ed25519 SHA256:")
    assert caught.value.mend.endswith(f"ssh-keyscan -p {server.port} localhost >> {endpoint.known_hosts}")


def test_a_changed_key_of_a_named_host_is_called_changed(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    server.make_key("other_key")
    endpoint = named(server, "other_key.pub")
    with SshHost(endpoint) as host, pytest.raises(AuthenticationFailed, match=r"^dut: .* has CHANGED") as caught:
        host.run("true")
    assert f"ssh-keygen -f {endpoint.known_hosts} -R '[localhost]:{server.port}'" in caught.value.mend


def test_a_key_of_another_kind_of_a_named_host_is_called_changed(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    endpoint = named(server)
    other = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_public_key().decode()
    endpoint.known_hosts.write_text(f"[localhost]:{server.port} {other}")
    with SshHost(endpoint) as host, pytest.raises(AuthenticationFailed, match=r"^dut: .* has CHANGED"):
        host.run("true")


def test_a_refused_port_of_a_named_host_is_a_lost_connection(make_sshd: SshdMaker) -> None:
    endpoint = replace(named(make_sshd()), port=(port := unused_port()))
    with SshHost(endpoint) as host, pytest.raises(ConnectionLost) as caught:
        host.run("true")
    assert str(caught.value).startswith(f"dut: cannot connect to localhost:{port}: ")
    assert str(caught.value).endswith("Connection refused")


def test_a_name_that_does_not_resolve_is_a_lost_connection_that_says_so(make_sshd: SshdMaker) -> None:
    endpoint = replace(named(make_sshd()), address=NOWHERE)
    with SshHost(endpoint) as host:
        with pytest.raises(ConnectionLost, match=rf"^dut: .*{NOWHERE}:\d+.*: .*(name|Name)") as caught:
            host.run("true")
        assert "Unknown error" not in str(caught.value)
        assert caught.value.mend.endswith(f"getent hosts {NOWHERE}")


class TestJump:
    def test_a_named_jump_host_is_passed_through_to_a_named_host(self, make_sshd: SshdMaker) -> None:
        jump, server = named(make_sshd("jump")), named(make_sshd("dut"))
        with SshHost(replace(server, jump=jump)) as host:
            assert host.run("echo $NICLAB_HOST").stdout == "dut\n"

    def test_an_unknown_key_of_a_named_jump_host_names_the_jump_host(self, make_sshd: SshdMaker) -> None:
        jump, server = named(make_sshd("jump")), named(make_sshd("dut"))
        jump.known_hosts.write_text("")
        with SshHost(replace(server, jump=jump)) as host, pytest.raises(AuthenticationFailed) as caught:
            host.run("true")
        assert str(caught.value).startswith(f"jump: the host key of {jump.place}")
        assert str(jump.known_hosts) in caught.value.mend

    @pytest.mark.parametrize("address", ["localhost", NOWHERE])
    def test_a_named_jump_host_that_is_away_is_a_lost_connection(self, make_sshd: SshdMaker, address: str) -> None:
        server = named(make_sshd("dut"))
        jump = replace(server, name="jump", address=address, port=unused_port())
        with SshHost(replace(server, jump=jump)) as host, pytest.raises(ConnectionLost, match=r"^jump: "):
            host.run("true")

    @pytest.mark.parametrize("known", ["", "changed"])
    def test_an_untrusted_named_host_behind_a_named_jump_host_is_refused(
        self, make_sshd: SshdMaker, known: str
    ) -> None:
        jump, behind = named(make_sshd("jump")), make_sshd("dut")
        behind.make_key("other_key")
        server = named(behind, "other_key.pub")
        if not known:
            server.known_hosts.write_text("")
        with SshHost(replace(server, jump=jump)) as host, pytest.raises(AuthenticationFailed, match=r"^dut: the host"):
            host.run("true")

    @pytest.mark.parametrize("address", ["localhost", NOWHERE])
    def test_a_named_host_that_is_away_behind_a_jump_host_is_a_lost_connection(
        self, make_sshd: SshdMaker, address: str
    ) -> None:
        jump, server = named(make_sshd("jump")), named(make_sshd("dut"))
        away = replace(server, address=address, port=unused_port(), jump=jump)
        with SshHost(away) as host, pytest.raises(ConnectionLost, match=r"^dut: cannot connect"):
            host.run("true")


def test_a_missing_key_file_is_made_and_copied_and_a_refused_one_is_copied(
    make_sshd: SshdMaker, tmp_path: Path
) -> None:
    server = make_sshd()
    server.make_key("other_key")
    missing = replace(named(server), key_file=tmp_path / "none")
    refused = replace(named(server), key_file=server.directory / "other_key")
    for endpoint in (missing, refused):
        with SshHost(endpoint) as host, pytest.raises(AuthenticationFailed) as caught:
            host.run("true")
        copy = f"ssh-copy-id -i {endpoint.key_file} -p {server.port} {endpoint.user}@localhost"
        assert copy in caught.value.mend and "ssh-keyscan" not in caught.value.mend
        assert ("ssh-keygen" in caught.value.mend) is (endpoint is missing)
