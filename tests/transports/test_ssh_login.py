"""Host keys, users and keys: what is refused, and that the message says which file and what to do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest
from throwaway_sshd import SshdMaker

from niclab.transports import AuthenticationFailed
from niclab.transports.ssh.ssh import SshEndpoint, SshHost
from niclab.transports.ssh.ssh_loop import call

PASSWORD = "open sesame"


def test_an_unknown_host_key_is_refused_and_the_message_says_how_to_add_it(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    known = server.directory / "known_hosts"
    known.write_text("")
    with SshHost(server.endpoint) as host:
        wanted = rf"dut: the host key of 127.0.0.1:{server.port}, ssh-ed25519 SHA256:\S+, is not in {known}\. "
        with pytest.raises(
            AuthenticationFailed, match=wanted + rf".*ssh-keyscan -p {server.port} 127.0.0.1 >> {known}"
        ):
            host.run("true")
        key = (server.directory / "host_key.pub").read_text()
        known.write_text(f"[127.0.0.1]:{server.port} {key}")
        assert host.run("echo in").stdout == "in\n"


def test_a_changed_host_key_is_refused_and_called_changed(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    with SshHost(server.endpoint) as host:
        assert host.run("true").succeeded
        server.stop()
        server.make_key("host_key")
        server.start()
        with pytest.raises(AuthenticationFailed, match=r"dut: the host key .* has CHANGED: it shows .*known_hosts has"):
            host.run("true")


def test_a_host_key_of_another_kind_is_called_changed(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    other = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_public_key().decode()
    (server.directory / "known_hosts").write_text(f"[127.0.0.1]:{server.port} {other}")
    with SshHost(server.endpoint) as host, pytest.raises(AuthenticationFailed, match=r"dut: .* has CHANGED"):
        host.run("true")


def test_a_missing_known_hosts_file_is_an_error_that_names_it(make_sshd: SshdMaker, tmp_path: Path) -> None:
    endpoint = replace(make_sshd().endpoint, known_hosts=tmp_path / "none")
    with (
        SshHost(endpoint) as host,
        pytest.raises(AuthenticationFailed, match=rf"dut: .*known_hosts file {tmp_path}/none.*keyscan"),
    ):
        host.run("true")


def test_a_wrong_key_is_refused_naming_user_and_file(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    server.make_key("other_key")
    endpoint = replace(server.endpoint, key_file=server.directory / "other_key")
    with (
        SshHost(endpoint) as host,
        pytest.raises(AuthenticationFailed, match=r"dut: user \w+ with key .*other_key was refused"),
    ):
        host.run("true")


def test_a_known_hosts_file_that_others_may_write_is_refused(make_sshd: SshdMaker) -> None:
    server = make_sshd()
    server.endpoint.known_hosts.chmod(0o666)
    with (
        SshHost(server.endpoint) as host,
        pytest.raises(AuthenticationFailed, match="others may write this known_hosts"),
    ):
        host.run("true")


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660])
def test_a_key_file_that_others_may_use_is_refused(make_sshd: SshdMaker, mode: int) -> None:
    server = make_sshd()
    assert server.endpoint.key_file is not None
    with SshHost(server.endpoint) as host:
        server.endpoint.key_file.chmod(mode)
        wanted = (
            rf"^dut: {server.endpoint.key_file}: group or others may use this key file \(mode 0{mode:o}\); .*chmod 600"
        )
        with pytest.raises(AuthenticationFailed, match=wanted) as caught:
            host.run("true")
        assert caught.value.mend.startswith(f"chmod 600 {server.endpoint.key_file}")
        server.endpoint.key_file.chmod(0o600)
        assert host.run("true").succeeded


@pytest.mark.parametrize("content", [None, "", "no key at all"])
def test_a_key_file_that_is_none_is_an_error_that_names_it(
    make_sshd: SshdMaker, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_text(content)
        path.chmod(0o600)
    endpoint = replace(make_sshd().endpoint, key_file=path)
    with SshHost(endpoint) as host, pytest.raises(AuthenticationFailed, match=rf"dut: cannot use key file {path}"):
        host.run("true")


def test_neither_key_nor_password_is_an_error(make_sshd: SshdMaker) -> None:
    endpoint = replace(make_sshd().endpoint, key_file=None)
    with SshHost(endpoint) as host, pytest.raises(AuthenticationFailed, match="neither a key file nor a password"):
        host.run("true")


def test_a_jump_host_is_passed_through(make_sshd: SshdMaker) -> None:
    jump, server = make_sshd("jump"), make_sshd("dut")
    with SshHost(replace(server.endpoint, jump=jump.endpoint)) as host:
        assert host.run("echo $NICLAB_HOST").stdout == "dut\n"
        assert jump.connections() == 1


def test_a_refusing_jump_host_is_named(make_sshd: SshdMaker) -> None:
    jump, server = make_sshd("jump"), make_sshd("dut")
    (jump.directory / "known_hosts").write_text("")
    with (
        SshHost(replace(server.endpoint, jump=jump.endpoint)) as host,
        pytest.raises(AuthenticationFailed, match=r"^jump: "),
    ):
        host.run("true")


class _PasswordServer(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:  # noqa: ARG002 - asyncssh's signature
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == ("tester", PASSWORD)


@pytest.fixture
def password_endpoint(tmp_path: Path) -> Iterator[SshEndpoint]:
    """An in-process server that wants a password and prints the command it was given, and runs an ``echo`` before."""
    key = asyncssh.generate_private_key("ssh-ed25519")

    async def answer(process: asyncssh.SSHServerProcess[str]) -> None:
        echo, _, command = (process.command or "").partition("; ")
        process.stdout.write(f"{echo.removeprefix('echo ')}\n{command}")
        process.exit(0)

    async def start() -> asyncssh.SSHAcceptor:
        return await asyncssh.create_server(
            _PasswordServer, "127.0.0.1", 0, server_host_keys=[key], process_factory=answer
        )

    async def stop(server: asyncssh.SSHAcceptor) -> None:
        server.close()
        await server.wait_closed()

    server = call(start(), within_s=10)
    port = server.get_port()
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {key.export_public_key().decode()}")
    yield SshEndpoint("dut", "127.0.0.1", port, "tester", None, known, password=PASSWORD)
    call(stop(server), within_s=10)


def test_a_password_logs_in(password_endpoint: SshEndpoint) -> None:
    with SshHost(password_endpoint) as host:
        assert host.run("hello", timeout_s=2.5).stdout == "exec timeout -k 3 2.5 sh -c hello"


def test_a_csh_as_login_shell_never_meets_what_it_cannot_quote(password_endpoint: SshEndpoint) -> None:
    with SshHost(password_endpoint) as host:
        wire = host.run("echo 'a!'\necho b").stdout
    assert "!" not in wire
    assert "\n" not in wire


def test_a_wrong_password_is_refused_and_no_password_is_ever_shown(password_endpoint: SshEndpoint) -> None:
    endpoint = replace(password_endpoint, password="wrong horse")
    with SshHost(endpoint) as host, pytest.raises(AuthenticationFailed) as caught:
        host.run("true")
    assert str(caught.value).startswith("dut: user tester with a password was refused by 127.0.0.1:")
    for text in (str(caught.value), repr(endpoint), repr(password_endpoint)):
        assert "horse" not in text and PASSWORD not in text


def test_the_loop_thread_is_one_for_all_and_its_backstop_cancels() -> None:
    cancelled = threading.Event()

    async def name() -> str:
        return threading.current_thread().name

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    assert {call(name(), within_s=5), call(name(), within_s=5)} == {"niclab-transports"}
    with pytest.raises(TimeoutError):
        call(endless(), within_s=0.05)
    assert cancelled.wait(5)
