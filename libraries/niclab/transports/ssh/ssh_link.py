"""The SSH connection to one host, asynchronous, with a deadline on everything. The only module that speaks asyncssh."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import asyncssh

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.files.secrets import refuse_shared, refuse_writable
from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.ssh import ssh_mend
from niclab.transports.ssh.ssh_records import SshEndpoint, tail
from niclab.transports.ssh.ssh_stream import NotStarted, Receiver

T = TypeVar("T")

CONNECT_WITHIN_S = 10.0
"""Longest time for connecting and logging in; less when the call's own deadline is nearer."""

_KEEPALIVE_INTERVAL_S, _KEEPALIVE_COUNT = 5, 3  # a dead host is noticed after 5 * 3 + 5 s; measured 19 s
_CLOSE_WITHIN_S = 1.0
_TIDY_WITHIN_S = 0.1  # asyncssh tidies up after a lost transport in its loop's next turn
_OPENING_ATTEMPTS = 10
_AS_ROOT = (
    'exec sudo -n sh -c \'kill -0 -$$ 2>/dev/null || { command -v setsid >/dev/null && exec setsid "$@"; }; '
    'exec "$@"\' sh '
)
"""Goes ahead of a command line. Where sudo leaves it in a group of another process, it gets one of its own, by which it
is ended."""


class SshStream(asyncssh.SSHClientSession[bytes]):
    """One channel on which a command line runs: hands on what it sends, until it is closed."""

    def __init__(self, connection: asyncssh.SSHClientConnection, receive: Receiver) -> None:
        self.exit_status: int | None = None
        self.signal: str | None = None
        self.closed = False
        self._connection = connection
        self._receive = receive
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._news = asyncio.Event()

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._channel = chan

    def data_received(self, data: bytes, datatype: int | None) -> None:
        self._receive(data, datatype == asyncssh.EXTENDED_DATA_STDERR)
        self._news.set()

    def exit_status_received(self, status: int) -> None:
        self.exit_status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:  # noqa: ARG002 - asyncssh's signature
        self.signal = signal

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - a missing exit status tells it
        self.closed = True
        self._news.set()

    def write(self, data: bytes) -> None:
        """Send ``data``; raises OSError on a closed channel."""
        if self._channel is None or self.closed:
            raise BrokenPipeError("the channel is closed")
        self._channel.write(data)

    def feed(self, stdin: bytes) -> None:
        """Send all of a command's stdin."""
        try:
            self.write(stdin)
            if self._channel is not None:
                self._channel.write_eof()
        except BrokenPipeError:
            return  # it has ended without reading; its exit status tells the rest

    def abort(self) -> None:
        if self._channel is not None:
            self._channel.abort()

    async def wait_for(self, met: Callable[[], bool], within_s: float) -> bool:
        """Wait until ``met()`` or closed; tell whether that came in time."""
        try:
            async with asyncio.timeout(within_s):
                while not (self.closed or met()):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return False
        return True

    async def give_up(self) -> None:
        """Close the channel; where the host does not confirm that, the connection is dead for everybody: abort it."""
        self.abort()
        if not await self.wait_for(lambda: False, _CLOSE_WITHIN_S):
            self._connection.abort()


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

    async def connection(self, deadline: Deadline) -> asyncssh.SSHClientConnection:
        """The live connection, made again when there is none."""
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
            connection = await asyncssh.connect(
                end.address, end.port, username=end.user, client_keys=keys, password=end.password, tunnel=tunnel,
                known_hosts=known_hosts, client_factory=lambda: client, config=None, agent_path=None, gss_host=None,
                # the fastest to compute here, preferred and not required: old equipment lacks it
                encryption_algs="^aes128-gcm@openssh.com", compression_algs=["none"],
                connect_timeout=max(deadline.left, 0.01), login_timeout=max(deadline.left, 0.01),
                keepalive_interval=_KEEPALIVE_INTERVAL_S, keepalive_count_max=_KEEPALIVE_COUNT,
            )  # fmt: skip
            if end.sudo:
                await _become_root(end, connection, deadline)
            return connection
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
            return None  # the loss that led here is reported instead
        return None if shown is None or shown in listed else shown

    async def open_stream(
        self,
        connection: asyncssh.SSHClientConnection,
        wire: str,
        receive: Receiver,
        what: str = "a shell",
        first: str = "",
    ) -> SshStream:
        """Start ``wire`` on a new channel. A host that has no session left is asked again for a second.

        Args:
            connection: From :meth:`connection`.
            wire: The command line for the login shell.
            receive: Takes each part of its output.
            what: The subject of messages after the host.
            first: Goes ahead of ``wire`` for the login shell, not as root.

        Raises:
            NotStarted: The connection is gone, ``wire`` has certainly not run.
            ConnectionLost: The connection was lost in this call.
            BenchFault: The host refuses.
        """
        for attempts_left in reversed(range(_OPENING_ATTEMPTS)):
            try:
                return await _start(connection, first + self._as_root(wire), receive)
            except asyncssh.ChannelOpenError as error:
                dead = await _is_dead(connection)
                if dead or attempts_left == 0 or error.code != asyncssh.OPEN_CONNECT_FAILED:
                    raise self._not_opened(what, dead, error) from error
            except (OSError, asyncssh.Error) as error:
                name = self.endpoint.name
                raise ConnectionLost(f"{name}: connection lost while {what!r} was handed over: {error}") from error
        raise AssertionError("the last attempt returns or raises")

    def _as_root(self, wire: str) -> str:
        return _AS_ROOT + wire.removeprefix("exec ") if self.endpoint.sudo else wire

    def _not_opened(self, what: str, connection_is_dead: bool, error: asyncssh.ChannelOpenError) -> BenchFault:
        name = self.endpoint.name
        if not connection_is_dead:
            return BenchFault(f"{name}: refuses to run {what!r}: {error.reason}")
        if error.code == asyncssh.OPEN_CONNECT_FAILED:
            return NotStarted(f"{name}: connection lost before {what!r} was started")
        return ConnectionLost(f"{name}: connection lost while {what!r} was being started; it may have run")


async def _become_root(end: SshEndpoint, connection: asyncssh.SSHClientConnection, deadline: Deadline) -> None:
    """Require that the user becomes root without a question."""
    done = await connection.run("sudo -n true", errors="replace", timeout=max(deadline.left, 0.01))
    if done.exit_status != 0:
        connection.abort()
        said = tail(str(done.stderr or ""))
        raise AuthenticationFailed(
            f"{end.name}: user {end.user} at {end.place} cannot become root: sudo -n true: exit status "
            f"{done.exit_status}, {said}; expected no question (ssh.sudo of the bench file)",
            mend=ssh_mend.let_become_root(end),
        )


async def _start(connection: asyncssh.SSHClientConnection, wire: str, receive: Receiver) -> SshStream:
    stream = SshStream(connection, receive)
    await connection.create_session(lambda: stream, wire, encoding=None)
    return stream


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


def _credentials(end: SshEndpoint) -> tuple[list[asyncssh.SSHKey] | None, asyncssh.SSHKnownHosts]:
    if end.key_file is None and not end.password:
        raise AuthenticationFailed(f"{end.name}: neither a key file nor a password is given for {end.user}@{end.place}")
    try:
        keys = [_own_key(end.key_file)] if end.key_file else None
    except BenchFault as error:
        raise AuthenticationFailed(f"{end.name}: {error}", mend=ssh_mend.keep_key(end)) from error
    except (OSError, ValueError) as error:
        raise AuthenticationFailed(
            f"{end.name}: cannot use key file {end.key_file}: {_reason(error)}", mend=ssh_mend.make_key(end)
        ) from error
    try:
        refuse_writable(end.known_hosts, end.known_hosts.stat(), "known_hosts file")
        return keys, asyncssh.read_known_hosts(str(end.known_hosts))
    except BenchFault as error:
        raise AuthenticationFailed(f"{end.name}: {error}", mend=ssh_mend.keep_known_hosts(end)) from error
    except (OSError, ValueError) as error:
        mend = ssh_mend.add_host_key(end)
        raise AuthenticationFailed(
            f"{end.name}: cannot use known_hosts file {end.known_hosts}: {_reason(error)}. {mend}", mend=mend
        ) from error


def _own_key(file: Path) -> asyncssh.SSHKey:
    """The private key in a file that nobody else may read; the file that is looked at is the one that is read."""
    with file.open("rb") as stream:
        refuse_shared(file, os.fstat(stream.fileno()), "key file")
        return asyncssh.import_private_key(stream.read())


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
