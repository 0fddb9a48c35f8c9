"""Commands and files over SSH: every call has a hard deadline that ends it even when the host hangs.

How a command is bounded: the host ends it itself, because root logins cannot be signalled over SSH: by a guard of the
open shells, or by ``timeout -k 3 N`` on a channel of its own. This end waits at most ``timeout_s`` + :data:`GRACE_S`,
connecting included. When that passes the host is frozen: the connection is aborted, and the next call makes another.

Which way a command takes: a shell that stays open (one ``sh`` per host, more when calls overlap), a channel of its own
where it has stdin, is started in the background, needs a process of its own
(:func:`~niclab.transports.ssh.ssh_shell.needs_own_channel`), the host gives no usable shell, or all shells stay busy.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.transports import CommandTimeout, ConnectionLost
from niclab.transports.ssh.ssh_commands import SshCommands
from niclab.transports.ssh.ssh_job import Job, launch_command, launched
from niclab.transports.ssh.ssh_link import CONNECT_WITHIN_S, SshLink
from niclab.transports.ssh.ssh_loop import call
from niclab.transports.ssh.ssh_records import Result, SshEndpoint, tail
from niclab.transports.ssh.ssh_stream import KILL_AFTER_S, Ended, to_text

__all__ = ["CONNECT_WITHIN_S", "GRACE_S", "JOB_LIMIT_S", "Job", "Result", "SshEndpoint", "SshHost"]

T = TypeVar("T")

GRACE_S = 8.0
"""A call returns or raises at the latest this many seconds after its ``timeout_s``.

3 s of them are the far end's between SIGTERM and SIGKILL. Connecting for more than 2.5 s shortens what is left to the
command.
"""
JOB_LIMIT_S = 24 * 3600.0
"""A background job ends itself after this many seconds, also when nobody is left to stop it."""

_GIVE_UP_S = 2.0  # the part of the grace in which a call that had no answer is wound up
_PLAIN = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./:=,+")
_NO_TIMEOUT_TOOL = re.compile(r"exec: timeout: not found|^timeout: Command not found", re.MULTILINE)


class Errands(Protocol):
    """Script for a host that goes ahead of the next command, in the same breath."""

    def take(self) -> str:
        """Return what has to be run now; empty when there is nothing."""

    def hand_back(self, errand: str) -> None:
        """Take back what :meth:`take` gave and may not have been run: it may be run twice."""


class SshHost:
    """A host that is reached over SSH. Connects at the first call, and again after a loss. Safe to share by threads.

    Args:
        endpoint: Where it is; ``endpoint.name`` is the subject of every message.
        on_result: Called with each :class:`Result`, in the calling thread (evidence). Commands that ended in an
            exception other than a failed ``check`` have no result.
    """

    def __init__(self, endpoint: SshEndpoint, *, on_result: Callable[[Result], None] | None = None) -> None:
        self.endpoint = endpoint
        self.on_result = on_result
        self.errands: Errands | None = None
        """Script that has to be on the host before the next command begins; it costs no request of its own."""
        self.calls = 0
        """Number of requests to the host: to run a command, to begin one, to take or give a file."""
        self._link = SshLink(endpoint)
        self._commands = SshCommands(self._link)

    def __enter__(self) -> SshHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The subject of messages, from the endpoint."""
        return self.endpoint.name

    def run(
        self, command: str, *, timeout_s: float = 60, stdin: str | bytes | None = None, check: bool = False
    ) -> Result:
        """Run ``command`` in ``sh`` on the host and wait for its end.

        It ends by itself within ``timeout_s`` seconds or is ended on the host, its whole process group with it, by
        SIGTERM and 3 s later SIGKILL; the call returns or raises within ``timeout_s`` + :data:`GRACE_S` in any case.

        Nothing of it outlasts it: directory, variables, options. What it leaves running must not write to its output;
        see :meth:`start`. What ignores SIGTERM may outlast the call by the 3 s. More than 64 MiB of output is a fault.
        A command that lost its connection within its first second is ended by the next connection.

        Args:
            command: The command, for ``sh``.
            timeout_s: Deadline in seconds.
            stdin: What it reads; nothing (end of file at once) by default.
            check: Raise unless it exits with status 0.

        Raises:
            CommandTimeout: It ran past ``timeout_s``.
            ConnectionLost: The host cannot be reached, stopped answering, or the connection broke. The command is never
                repeated; the message says what was received of it.
            AuthenticationFailed: User, key or host key was refused.
            BenchFault: It wrote more than 64 MiB; with ``check``: host, command, how it ended and what it wrote to
                stderr.
        """
        if not timeout_s > 0:
            raise BenchFault(f"{self.name}: {command!r}: timeout_s is {timeout_s!r}; expected a number above 0")
        ended = self._execute(command, lambda limit_s: _bounded(command, limit_s), timeout_s, stdin, shared=True)
        result = _result(command, ended)
        if ended.overdue:
            raise CommandTimeout(
                f"{self.name}: {command!r} ran past {ended.limit_s:g} s and was ended on the host; "
                f"stdout: {tail(result.stdout)}, stderr: {tail(result.stderr)}"
            )
        if result.exit_status == 127 and _NO_TIMEOUT_TOOL.search(result.stderr):
            raise BenchFault(f"{self.name}: has no timeout(1), which bounds every command; install it")
        self.observe(result)
        if check and not result.succeeded:
            raise BenchFault(f"{self.name}: {command!r}: {result.ending}; stderr: {tail(result.stderr)}")
        return result

    def observe(self, result: Result) -> None:
        """Hand a result to ``on_result``."""
        if self.on_result is not None:
            self.on_result(result)

    def start(self, command: str, *, limit_s: float = JOB_LIMIT_S, mark: str | None = None) -> Job:
        """Start ``command`` in the background and return at once. It ends itself after ``limit_s`` seconds.

        A job with a ``mark`` can be ended by it as well
        (:func:`~niclab.transports.ssh.ssh_job.ending_command`), also when nobody is left who remembers it.
        """
        if not limit_s >= 1:
            raise BenchFault(f"{self.name}: {command!r}: limit_s is {limit_s!r}; expected a number of at least 1")
        # not under `timeout`: on FreeBSD that waits for, and ends, what its command leaves behind
        launch = launch_command(command, limit_s, mark)
        ended = self._execute(launch, lambda _: f"exec sh -c {_quoted(launch)}", 20, None)
        result = _result(launch, ended)
        if not result.succeeded:
            raise BenchFault(
                f"{self.name}: cannot start background job {command!r}: {result.ending}; stderr: {tail(result.stderr)}"
            )
        return launched(self, command, result.stdout)

    def put_text(self, text: str, remote: str, *, timeout_s: float = 60) -> None:
        """Write ``text`` (UTF-8) to the file ``remote``, replacing what it held, and check its length."""
        data, file, what = text.encode(), shlex.quote(remote), f"write {remote}"
        write = f"cat >{file} && wc -c <{file}"
        ended = self._execute(what, lambda limit_s: _bounded(write, limit_s), timeout_s, data)
        if ended.overdue:
            raise CommandTimeout(f"{self.name}: {what}: not done within {timeout_s:g} s")
        result = _result(what, ended)
        if not result.succeeded:
            raise BenchFault(f"{self.name}: {what}: {result.ending}; stderr: {tail(result.stderr)}")
        if result.stdout.strip() != str(len(data)):
            raise BenchFault(
                f"{self.name}: {remote}: wc -c prints {tail(result.stdout)}; expected the {len(data)} bytes written"
            )

    def read_text(self, remote: str, *, timeout_s: float = 60) -> str:
        """Return the content of the file ``remote``; also for files of /proc and /sys, whose length says nothing."""
        return self.run(f"cat -- {shlex.quote(remote)}", timeout_s=timeout_s, check=True).stdout

    def close(self) -> None:
        """Drop the connection. Jobs go on; the next call connects again."""
        self._call(self._link.close(), Deadline(GRACE_S))

    def _execute(
        self,
        command: str,
        wire: Callable[[float], str],
        timeout_s: float,
        stdin: str | bytes | None,
        *,
        shared: bool = False,
    ) -> Ended:
        if "\0" in command:
            raise BenchFault(f"{self.name}: a command cannot hold a NUL character: {command!r}")
        data = stdin.encode() if isinstance(stdin, str) else stdin or b""
        deadline = Deadline(timeout_s + GRACE_S - _GIVE_UP_S)
        ended, errand = None, self.errands.take() if self.errands else ""
        try:
            if shared and not data:
                ended = self._call(self._commands.converse(command, timeout_s, deadline, errand), deadline)
            if ended is None and errand:
                self._run_alone(errand, deadline)
        except BaseException:
            if self.errands:
                self.errands.hand_back(errand)
            raise
        return ended or self._call(self._commands.execute(command, wire, timeout_s, deadline, data), deadline)

    def _run_alone(self, errand: str, deadline: Deadline) -> None:
        """Run an errand for a command that has a channel of its own."""
        if self._call(self._commands.converse(":", deadline.left, deadline, errand), deadline) is None:
            alone = self._commands.execute("errand", lambda _: "exec sh -s", deadline.left, deadline, errand.encode())
            self._call(alone, deadline)

    def _call(self, coroutine: Coroutine[Any, Any, T], deadline: Deadline) -> T:
        self.calls += 1
        try:
            return call(coroutine, within_s=deadline.left + _GIVE_UP_S)
        except TimeoutError:
            raise ConnectionLost(f"{self.name}: no end within {deadline.seconds:g} s, given up") from None


def _bounded(command: str, limit_s: float) -> str:
    seconds = f"{limit_s:.3f}".rstrip("0").rstrip(".")
    return f"exec timeout -k {KILL_AFTER_S} {seconds} sh -c {_quoted(command)}"


def _quoted(command: str) -> str:
    """``command`` as one word for any login shell. csh (root's on FreeBSD) cannot quote newlines and ``!``."""
    if "\n" not in command and "!" not in command:
        return shlex.quote(command)
    escaped = "".join(chr(b) if b in _PLAIN else f"\\0{b:03o}" for b in command.encode())
    return shlex.quote(f'eval "$(printf %b "{escaped}")"')


def _result(command: str, ended: Ended) -> Result:
    return Result(command, ended.exit_status, ended.signal, to_text(ended.stdout), to_text(ended.stderr), ended.seconds)
