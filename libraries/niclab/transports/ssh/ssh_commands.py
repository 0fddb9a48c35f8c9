"""Commands over SSH: in a shell that stays open where that is possible, else on a channel of their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.transports import CommandTimeout, ConnectionLost
from niclab.transports.ssh.ssh_link import SshLink, SshStream
from niclab.transports.ssh.ssh_pool import PooledShell, ShellPool
from niclab.transports.ssh.ssh_stream import Ended, LineOutput, NoAnswer, NotStarted, is_overdue, time_for, too_much

# sshd allows 10 sessions a connection (MaxSessions of sshd_config) and counts an ended one until it has handled the
# whole packet burst in which we closed it: a burst may end as many sessions as it begins. Seen with 8: "open failed".
_CONCURRENT_COMMANDS = 5


class SshCommands:
    """Runs commands over ``link``. Its coroutines run in the loop thread only."""

    def __init__(self, link: SshLink) -> None:
        self._link = link
        self._name = link.endpoint.name
        self._slots = asyncio.Semaphore(_CONCURRENT_COMMANDS)
        self._pool: ShellPool | None = None
        self._pool_is_of: object = None
        self._orphans: list[tuple[PooledShell, float]] = []

    async def converse(self, command: str, timeout_s: float, deadline: Deadline, errand: str = "") -> Ended | None:
        """Run ``command`` in a shell that stays open; None where it has to :meth:`execute` on a channel of its own.

        A connection found dead before the command is handed over is replaced once.
        """
        try:
            return await self._converse(command, timeout_s, deadline, errand)
        except NotStarted:
            return await self._converse(command, timeout_s, deadline, errand)

    async def _converse(self, command: str, timeout_s: float, deadline: Deadline, errand: str) -> Ended | None:
        connection = await self._link.connection(deadline)
        if self._pool is None or self._pool_is_of is not connection:
            open_stream = partial(self._link.open_stream, connection)
            self._pool, self._pool_is_of = ShellPool(self._name, open_stream, self._orphans), connection
        pool = self._pool
        try:
            shell = await pool.take(command, deadline)
        except NoAnswer:
            connection.abort()
            raise self._no_answer(command, deadline) from None
        if shell is None:
            return None
        try:
            return await pool.run(shell, command, timeout_s, deadline, errand)
        except NoAnswer as received:
            if not str(received):
                raise self._no_answer(command, deadline) from None
            raise self._stopped_answering(command, deadline, str(received)) from None

    async def execute(
        self, command: str, wire: Callable[[float], str], timeout_s: float, deadline: Deadline, stdin: bytes
    ) -> Ended:
        """Run the shell text ``wire(limit_s)``; a connection found dead before the start is replaced once."""
        try:
            async with asyncio.timeout(deadline.left):
                await self._slots.acquire()
        except TimeoutError:
            raise CommandTimeout(
                f"{self._name}: {command!r} was not started within {deadline.seconds:g} s: "
                f"{_CONCURRENT_COMMANDS} other commands are running"
            ) from None
        try:
            try:
                return await self._attempt(command, wire, timeout_s, deadline, stdin)
            except NotStarted:
                return await self._attempt(command, wire, timeout_s, deadline, stdin)
        finally:
            self._slots.release()

    async def _attempt(
        self, command: str, wire: Callable[[float], str], timeout_s: float, deadline: Deadline, stdin: bytes
    ) -> Ended:
        name = self._name
        connection = await self._link.connection(deadline)
        limit_s = time_for(name, command, timeout_s, deadline)
        output = LineOutput()
        stream: SshStream | None = None
        began = time.monotonic()
        try:
            async with asyncio.timeout(deadline.left):
                stream = await self._link.open_stream(connection, wire(limit_s), output.add, command, output.first)
        except TimeoutError:
            connection.abort()
            raise self._no_answer(command, deadline) from None
        try:
            stream.feed(stdin)
            if not await stream.wait_for(lambda: output.overflowed, deadline.left):
                await stream.give_up()
                raise self._stopped_answering(command, deadline, output.received, stream.exit_status)
        finally:
            stream.abort()
        seconds = time.monotonic() - began
        if output.overflowed:
            raise too_much(name, command)
        if stream.exit_status is None and stream.signal is None:
            raise ConnectionLost(f"{name}: {command!r}: connection lost after {seconds:.1f} s; {output.received}")
        if stream.signal is None and not output.begun:
            raise BenchFault(
                f"{name}: {command!r} was not run: the login shell ended with exit status {stream.exit_status}; "
                f"{output.received}; expected a shell that runs commands"
            )
        status = stream.exit_status if stream.signal is None else None
        overdue = is_overdue(status, stream.signal, seconds, limit_s)
        return Ended(status, stream.signal, bytes(output.stdout), bytes(output.stderr), seconds, limit_s, overdue)

    def _no_answer(self, command: str, deadline: Deadline) -> ConnectionLost:
        what = f"{self._name}: {command!r}"
        return ConnectionLost(f"{what}: no answer within {deadline.seconds:g} s to the request to run it")

    def _stopped_answering(
        self, command: str, deadline: Deadline, received: str, exit_status: int | None = None
    ) -> BenchFault:
        what = f"{self._name}: {command!r}"
        if exit_status is not None:
            return CommandTimeout(
                f"{what} ended with exit status {exit_status} but what it left in the background kept its "
                f"output open for {deadline.seconds:g} s (start it as a job); {received}"
            )
        return ConnectionLost(f"{what}: the host stopped answering, given up after {deadline.seconds:g} s; {received}")
