"""The SSH connection to one host, asynchronous, with a deadline on everything. The only module that speaks asyncssh."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import asyncssh

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.transports import AuthenticationFailed, CommandTimeout, ConnectionLost, ssh_mend
from niclab.transports.ssh_records import SshEndpoint, tail

T = TypeVar("T")

CONNECT_WITHIN_S = 10.0
"""Longest time for connecting and logging in; less when the call's own deadline is nearer."""
KILL_AFTER_S = 3
"""The far end sends SIGKILL this many seconds after SIGTERM."""

_KEEPALIVE_INTERVAL_S, _KEEPALIVE_COUNT = 5, 3  # a dead host is noticed after 5 * 3 + 5 s; measured 19 s
_CLOSE_WITHIN_S = 1.0
_TIDY_WITHIN_S = 0.1  # asyncssh tidies up after a lost transport in its loop's next turn
# sshd allows 10 sessions a connection (MaxSessions of sshd_config) and counts an ended one until it has handled the
# whole packet burst in which we closed it: a burst may end as many sessions as it begins. Seen with 8: "open failed".
_CONCURRENT_COMMANDS = 5


@dataclass(frozen=True)
class Ended:
    """How a command ended: ``limit_s`` is what the far end allowed it, None status and signal are never both."""

    exit_status: int | None
    signal: str | None
    stdout: bytes
    stderr: bytes
    seconds: float
    limit_s: float


class _NotStarted(ConnectionLost):
    """The connection was gone before the command was handed over: it has certainly not run."""


class _Session(asyncssh.SSHClientSession[bytes]):
    """Collects what a command sends until its channel is closed."""

    def __init__(self) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.exit_status: int | None = None
        self.signal: str | None = None
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def received(self) -> str:
        """What has come so far, for messages."""
        stdout, stderr = to_text(bytes(self.stdout)), to_text(bytes(self.stderr))
        return f"received so far: {tail(stdout)}, on stderr: {tail(stderr)}"

    def data_received(self, data: bytes, datatype: int | None) -> None:
        (self.stderr if datatype == asyncssh.EXTENDED_DATA_STDERR else self.stdout).extend(data)

    def exit_status_received(self, status: int) -> None:
        self.exit_status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:  # noqa: ARG002 - asyncssh's signature
        self.signal = signal

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - a missing exit status tells it
        if not self.closed.done():
            self.closed.set_result(None)


class _Client(asyncssh.SSHClient):
    """Refuses a host key that is not in known_hosts, and remembers it for the message."""

    offered: asyncssh.SSHKey | None = None

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002 - asyncssh's signature
        self.offered = key
        return False


class SshLink:
    """The connection to one host. Its coroutines run in the loop thread only."""

    def __init__(self, endpoint: SshEndpoint) -> None:
        self.endpoint = endpoint
        self._jump = SshLink(endpoint.jump) if endpoint.jump else None
        self._connection: asyncssh.SSHClientConnection | None = None
        self._connecting = asyncio.Lock()
        self._slots = asyncio.Semaphore(_CONCURRENT_COMMANDS)

    async def connection(self, deadline: Deadline) -> asyncssh.SSHClientConnection:
        """The live connection, made anew when there is none."""
        async with self._connecting:
            if self._connection is None or self._connection.is_closed():
                self._connection = await self._log_in(Deadline(min(CONNECT_WITHIN_S, deadline.left)))
            return self._connection

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.abort()
            self._connection = None
        if self._jump is not None:
            await self._jump.close()

    async def _tunnel(self, deadline: Deadline) -> asyncssh.SSHClientConnection | None:
        return await self._jump.connection(deadline) if self._jump else None

    async def _log_in(self, deadline: Deadline) -> asyncssh.SSHClientConnection:
        end = self.endpoint
        keys, known_hosts = _credentials(end)
        client = _Client()
        tunnel = await self._tunnel(deadline)
        try:
            return await asyncssh.connect(
                end.address, end.port, username=end.user, client_keys=keys, password=end.password, tunnel=tunnel,
                known_hosts=known_hosts, client_factory=lambda: client, config=None, agent_path=None, gss_host=None,
                # the fastest to compute here, preferred and not required: old equipment lacks it
                encryption_algs="^aes128-gcm@openssh.com", compression_algs=["none"],
                connect_timeout=max(deadline.left, 0.01), login_timeout=max(deadline.left, 0.01),
                keepalive_interval=_KEEPALIVE_INTERVAL_S, keepalive_count_max=_KEEPALIVE_COUNT,
            )  # fmt: skip
        except asyncssh.PermissionDenied as error:
            ways = " and ".join(
                filter(None, [f"key {end.key_file}" if keys else "", "a password" if end.password else ""])
            )
            raise AuthenticationFailed(
                f"{end.name}: user {end.user} with {ways} was refused by {end.place}", mend=ssh_mend.let_in(end)
            ) from error
        except TimeoutError as error:
            raise ConnectionLost(
                f"{end.name}: no SSH login at {end.place} within {deadline.seconds:.1f} s", mend=ssh_mend.reach(end)
            ) from error
        except (OSError, asyncssh.Error) as error:
            shown = client.offered or await self._key_of_another_kind(known_hosts, tunnel, deadline)
            if shown is not None:
                raise _host_key_refused(end, known_hosts, shown) from error
            raise ConnectionLost(
                f"{end.name}: cannot connect to {end.place}: {_reason(error)}", mend=_cure(end, error)
            ) from error

    async def _key_of_another_kind(
        self, known: asyncssh.SSHKnownHosts, tunnel: asyncssh.SSHClientConnection | None, deadline: Deadline
    ) -> asyncssh.SSHKey | None:
        """The key of a host that has none of the kinds known of it; asked for those, it just hangs up."""
        end = self.endpoint
        listed = known.match(end.address, "", end.port)[0]
        if not listed:
            return None
        try:
            async with asyncio.timeout(deadline.left):
                shown = await asyncssh.get_server_host_key(end.address, end.port, tunnel=tunnel, config=None)
        except (TimeoutError, OSError, asyncssh.Error):
            return None  # the loss that led here is told instead
        return None if shown is None or shown in listed else shown

    async def host_key(self, deadline: Deadline) -> str:
        """The key that the host shows now, as a line for known_hosts."""
        end = self.endpoint
        tunnel = await self._tunnel(deadline)
        try:
            async with asyncio.timeout(deadline.left):
                key = await asyncssh.get_server_host_key(end.address, end.port, tunnel=tunnel, config=None)
        except TimeoutError as error:
            raise ConnectionLost(f"{end.name}: {end.place} shows no host key in {deadline.seconds:.1f} s") from error
        except (OSError, asyncssh.Error) as error:
            raise ConnectionLost(
                f"{end.name}: {end.place} shows no host key: {_reason(error)}", mend=_cure(end, error)
            ) from error
        if key is None:
            raise BenchFault(f"{end.name}: {end.place} shows no host key")
        return _known_hosts_line(end, key)

    async def execute(
        self, command: str, wire: Callable[[float], str], timeout_s: float, deadline: Deadline, stdin: bytes
    ) -> Ended:
        """Run the shell text ``wire(limit_s)``; a connection found dead before the start is replaced once."""
        try:
            async with asyncio.timeout(deadline.left):
                await self._slots.acquire()
        except TimeoutError:
            raise CommandTimeout(
                f"{self.endpoint.name}: {command!r} was not started within {deadline.seconds:g} s: "
                f"{_CONCURRENT_COMMANDS} other commands are running"
            ) from None
        try:
            try:
                return await self._attempt(command, wire, timeout_s, deadline, stdin)
            except _NotStarted:
                return await self._attempt(command, wire, timeout_s, deadline, stdin)
        finally:
            self._slots.release()

    async def _attempt(
        self, command: str, wire: Callable[[float], str], timeout_s: float, deadline: Deadline, stdin: bytes
    ) -> Ended:
        name = self.endpoint.name
        connection = await self.connection(deadline)
        limit_s = min(timeout_s, deadline.left - KILL_AFTER_S - 0.5)
        if limit_s <= 0:
            raise ConnectionLost(f"{name}: connecting left no time for {command!r} within {deadline.seconds:g} s")
        session = _Session()
        channel: asyncssh.SSHClientChannel[bytes] | None = None
        began = time.monotonic()
        try:
            async with asyncio.timeout(deadline.left):
                channel, _ = await connection.create_session(lambda: session, wire(limit_s), encoding=None)
                _feed(channel, stdin)
                await session.closed
        except TimeoutError:
            await _give_up(connection, channel)
            raise self._out_of_time(command, deadline, session, started=channel is not None) from None
        except asyncssh.ChannelOpenError as error:
            raise self._not_opened(command, await _is_dead(connection), error) from error
        except (OSError, asyncssh.Error) as error:
            raise ConnectionLost(f"{name}: connection lost while {command!r} was handed over: {error}") from error
        finally:
            if channel is not None:
                channel.abort()
        seconds = time.monotonic() - began
        if session.exit_status is None and session.signal is None:
            raise ConnectionLost(f"{name}: {command!r}: connection lost after {seconds:.1f} s; {session.received}")
        status = session.exit_status if session.signal is None else None
        return Ended(status, session.signal, bytes(session.stdout), bytes(session.stderr), seconds, limit_s)

    def _not_opened(self, command: str, connection_is_dead: bool, error: asyncssh.ChannelOpenError) -> BenchFault:
        name = self.endpoint.name
        if not connection_is_dead:
            return BenchFault(f"{name}: refuses to run {command!r}: {error.reason}")
        if error.code == asyncssh.OPEN_CONNECT_FAILED:
            return _NotStarted(f"{name}: connection lost before {command!r} was started")
        return ConnectionLost(f"{name}: connection lost while {command!r} was being started; it may have run")

    def _out_of_time(self, command: str, deadline: Deadline, session: _Session, *, started: bool) -> BenchFault:
        what = f"{self.endpoint.name}: {command!r}"
        if not started:
            return ConnectionLost(f"{what}: no answer within {deadline.seconds:g} s to the request to run it")
        if session.exit_status is not None:
            return CommandTimeout(
                f"{what} ended with exit status {session.exit_status} but what it left in the background kept its "
                f"output open for {deadline.seconds:g} s (start it as a job); {session.received}"
            )
        return ConnectionLost(
            f"{what}: the host stopped answering, given up after {deadline.seconds:g} s; {session.received}"
        )

    async def put(self, local: Path, remote: str, deadline: Deadline) -> int | None:
        """Copy a file to the host; the length it has there in bytes."""

        async def action(sftp: asyncssh.SFTPClient) -> int | None:
            await sftp.put(str(local), remote)
            return (await sftp.stat(remote)).size

        return await self._transfer(f"copy {local} to {remote}", deadline, action)

    async def get(self, remote: str, local: Path, deadline: Deadline) -> int | None:
        """Copy a file from the host; the length it has there in bytes."""

        async def action(sftp: asyncssh.SFTPClient) -> int | None:
            await sftp.get(remote, str(local))
            return (await sftp.stat(remote)).size

        return await self._transfer(f"copy {remote} to {local}", deadline, action)

    async def write(self, data: bytes, remote: str, deadline: Deadline) -> int | None:
        """Replace what a file of the host holds; the length it has then in bytes."""

        async def action(sftp: asyncssh.SFTPClient) -> int | None:
            async with sftp.open(remote, "wb") as file:
                await file.write(data)
            return (await sftp.stat(remote)).size

        return await self._transfer(f"write {remote}", deadline, action)

    async def _transfer(
        self, what: str, deadline: Deadline, action: Callable[[asyncssh.SFTPClient], Awaitable[T]]
    ) -> T:
        """Do ``action`` with an SFTP client."""
        name = self.endpoint.name
        connection = await self.connection(deadline)
        watchdog = asyncio.get_running_loop().call_later(deadline.left, connection.abort)
        try:
            async with connection.start_sftp_client() as sftp:
                return await action(sftp)
        except (OSError, asyncssh.Error) as error:
            if deadline.expired:
                raise CommandTimeout(f"{name}: {what}: not done within {deadline.seconds:g} s") from error
            if await _is_dead(connection):
                raise ConnectionLost(f"{name}: {what}: connection lost: {error}") from error
            raise BenchFault(f"{name}: {what}: {error}") from error
        finally:
            watchdog.cancel()


async def _give_up(connection: asyncssh.SSHClientConnection, channel: asyncssh.SSHClientChannel[bytes] | None) -> None:
    """Close the channel; where the host does not confirm that, the connection is dead for everybody: abort it."""
    if channel is not None:
        channel.abort()
        try:
            async with asyncio.timeout(_CLOSE_WITHIN_S):
                await channel.wait_closed()
        except TimeoutError:
            connection.abort()
    else:
        connection.abort()


async def _is_dead(connection: asyncssh.SSHClientConnection) -> bool:
    """Is it lost? One whose transport has just gone calls itself closed some turns of the loop later only."""
    try:
        async with asyncio.timeout(_TIDY_WITHIN_S):
            await connection.wait_closed()
    except TimeoutError:
        return False
    return True


def _cure(end: SshEndpoint, error: Exception) -> str:
    return ssh_mend.resolve(end) if isinstance(error, socket.gaierror) else ssh_mend.reach(end)


def _reason(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return str(error.strerror)  # its errno is the resolver's, none of the system's
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)


def _feed(channel: asyncssh.SSHClientChannel[bytes], stdin: bytes) -> None:
    try:
        channel.write(stdin)
        channel.write_eof()
    except BrokenPipeError:
        return  # it has ended without reading; its exit status tells the rest


def to_text(data: bytes) -> str:
    """``data`` as UTF-8, U+FFFD for each wrong byte."""
    return data.decode("utf-8", errors="replace")


def _credentials(end: SshEndpoint) -> tuple[list[asyncssh.SSHKey] | None, asyncssh.SSHKnownHosts]:
    if end.key_file is None and not end.password:
        raise AuthenticationFailed(f"{end.name}: neither a key file nor a password is given for {end.user}@{end.place}")
    try:
        keys = [asyncssh.read_private_key(end.key_file)] if end.key_file else None
    except (OSError, ValueError) as error:
        raise AuthenticationFailed(
            f"{end.name}: cannot use key file {end.key_file}: {error}", mend=ssh_mend.make_key(end)
        ) from error
    try:
        return keys, asyncssh.read_known_hosts(str(end.known_hosts))
    except (OSError, ValueError) as error:
        raise AuthenticationFailed(
            f"{end.name}: cannot use known_hosts file {end.known_hosts}: {error}. {ssh_mend.add_host_key(end)}",
            mend=ssh_mend.add_host_key(end),
        ) from error


def _host_key_refused(
    end: SshEndpoint, known: asyncssh.SSHKnownHosts, offered: asyncssh.SSHKey
) -> AuthenticationFailed:
    listed = known.match(end.address, "", end.port)[0]
    shown = f"{offered.get_algorithm()} {offered.get_fingerprint()}"
    if listed:
        wanted = " or ".join(f"{key.get_algorithm()} {key.get_fingerprint()}" for key in listed)
        return AuthenticationFailed(
            f"{end.name}: the host key of {end.place} has CHANGED: it shows {shown}, {end.known_hosts} has {wanted}. "
            f"{ssh_mend.replace_host_key(end)}",
            mend=ssh_mend.replace_host_key(end),
        )
    return AuthenticationFailed(
        f"{end.name}: the host key of {end.place}, {shown}, is not in {end.known_hosts}. {ssh_mend.add_host_key(end)}",
        mend=ssh_mend.add_host_key(end),
    )


def _known_hosts_line(end: SshEndpoint, key: asyncssh.SSHKey) -> str:
    return f"{ssh_mend.known_hosts_name(end)} {key.export_public_key('openssh').decode().strip()}"
