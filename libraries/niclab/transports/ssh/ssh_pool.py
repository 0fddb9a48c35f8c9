"""The shells that stay open on one connection, and who uses which.

A command costs one round trip over an open shell, and a new process or two on the host over a channel of its own. The
first command opens a shell and the warden (see :mod:`~niclab.transports.ssh.ssh_shell`); commands that overlap open
more, up to :data:`_SHELLS`. Each shell runs one command at a time.

How a command is bounded: after :data:`_GUARD_AFTER_S` seconds the warden gets a guard for it, which ends it on the host
at its limit, also when nobody on this side is left. A command that loses its connection earlier gets its guard from the
next connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.transports import ConnectionLost
from niclab.transports.ssh.ssh_shell import (
    CHECK_SHELL,
    SET_UP_SHELL,
    SET_UP_WARDEN,
    Frame,
    answer,
    call_off,
    guard,
    needs_own_channel,
    new_mark,
    start_shell,
)
from niclab.transports.ssh.ssh_stream import (
    KILL_AFTER_S,
    Ended,
    NoAnswer,
    NotStarted,
    Receiver,
    Stream,
    is_overdue,
    time_for,
    too_much,
)

_SHELLS = 4  # with the warden and 5 commands on channels of their own: the 10 sessions that sshd allows (MaxSessions)
_WAIT_FOR_SHELL_S = 1.0  # about the price of a channel of one's own on a slow host
_GUARD_AFTER_S = 1.0
_FRESH_S = 1.0  # a shell that was silent for longer is asked first whether it is still there
_CALL_OFF_WITHIN_S = 5.0
_BURIED_WITHIN_S = 5.0


class PooledShell:
    """An open ``sh`` that runs one frame at a time."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.pid = 0
        self.stream: Stream
        self.heard_at = time.monotonic()
        self._frame: Frame | None = None
        self._stray = False

    @property
    def usable(self) -> bool:
        return not (self._stray or self.stream.closed)

    def receive(self, data: bytes, on_stderr: bool) -> None:
        self.heard_at = time.monotonic()
        if self._frame is None:
            self._stray = True
        else:
            self._frame.receive(data, on_stderr)
            self._stray |= self._frame.soiled

    def send(self, frame: Frame) -> None:
        self._frame = frame
        self.stream.write(frame.text)

    async def until_ended(self, within_s: float) -> bool:
        """Wait for the end of the frame; tell whether it came, or will never come, in time."""
        frame = self._frame
        if frame is None or not await self.stream.wait_for(lambda: _over(frame), within_s):
            return False
        if frame.ended:
            self._frame = None
        return True


class Warden:
    """The shell that ends what runs in the others."""

    def __init__(self) -> None:
        self.stream: Stream
        self._heard = b""
        self._guards = 0
        self._speaking = asyncio.Lock()

    def receive(self, data: bytes, on_stderr: bool) -> None:
        if not on_stderr:
            self._heard += data

    async def say(self, line: bytes, within_s: float) -> bool:
        """Send ``line`` and tell whether it was carried out in time."""
        token = secrets.token_hex(16)
        async with self._speaking:
            self._heard = b""
            try:
                self.stream.write(line + answer(token))
            except OSError:
                return False
            heard = await self.stream.wait_for(lambda: token.encode() in self._heard, within_s)
            return heard and not self.stream.closed

    async def set_guard(self, shell: PooledShell, within_s: float, answer_within_s: float) -> int | None:
        """Have the group of ``shell`` ended after ``within_s``; the number of the guard, None if that failed."""
        self._guards += 1
        number = self._guards
        line = guard(number, shell.pid, shell.mark, within_s, KILL_AFTER_S)
        return number if await self.say(line, answer_within_s) else None


def _over(frame: Frame) -> bool:
    return frame.ended or frame.output.overflowed


class ShellPool:
    """The shells of one connection.

    Args:
        name: The subject of messages.
        open_stream: Starts a command line on a channel of the connection. It raises :class:`NotStarted` where the
            connection is gone, and another BenchFault where the host refuses.
        orphans: Commands whose connection was lost before they had a guard. This pool sets guards for those that it
            finds, and adds its own.
    """

    def __init__(
        self,
        name: str,
        open_stream: Callable[[str, Receiver], Awaitable[Stream]],
        orphans: list[tuple[PooledShell, float]],
    ) -> None:
        self.name = name
        self._open_stream = open_stream
        self._orphans = orphans
        self._idle: list[PooledShell] = []
        self._places = asyncio.Semaphore(_SHELLS)
        self._opening = asyncio.Lock()
        self._warden: Warden | None = None
        self._served = False  # the host has given a shell
        self._refused = False
        self._burials: set[asyncio.Task[None]] = set()

    async def take(self, command: str, deadline: Deadline) -> PooledShell | None:
        """A shell for ``command``; None where the command has to use a channel of its own.

        That is: its text says so (:func:`needs_own_channel`), the host gives no usable shell, or all shells are busy
        and stay so for a second. :meth:`run` gives it back.

        Raises:
            NotStarted: The connection is gone.
            NoAnswer: The host did not answer by the deadline.
        """
        if self._refused or needs_own_channel(command):
            return None
        try:
            async with asyncio.timeout(min(_WAIT_FOR_SHELL_S, deadline.left)):
                await self._places.acquire()
        except TimeoutError:
            return None
        shell = None
        try:
            shell = await self._fresh(deadline) or await self._open(deadline)
        finally:
            if shell is None:
                self._places.release()
        return shell

    async def run(
        self, shell: PooledShell, command: str, timeout_s: float, deadline: Deadline, errand: str = ""
    ) -> Ended:
        """Run ``command`` in ``shell``, which came from :meth:`take` and is given back; ``errand`` goes ahead of it.

        Raises:
            NotStarted: The connection was gone before the command was handed over.
            ConnectionLost: It broke, or the shell was ended, before the command's end.
            NoAnswer: The end did not come by the deadline.
            BenchFault: The command wrote more than :data:`~niclab.transports.ssh.ssh_stream.OUTPUT_LIMIT_BYTES`.
        """
        frame, limit_s = Frame(command, errand), 0.0
        guarded: int | None = None
        asked = keep = bury = False
        try:
            limit_s = time_for(self.name, command, timeout_s, deadline)
            began = time.monotonic()
            try:
                shell.send(frame)
            except OSError as error:
                limit_s = 0
                raise NotStarted(f"{self.name}: connection lost before {command!r} was started") from error
            guard_after_s = min(_GUARD_AFTER_S, limit_s / 2)
            if not await shell.until_ended(guard_after_s):
                asked = True
                guarded = await self._guard(shell, began + limit_s - time.monotonic(), deadline)
                if not await shell.until_ended(deadline.left):
                    await shell.stream.give_up()
                    raise NoAnswer(frame.output.received if guarded or frame.output else "")
            if frame.output.overflowed:
                bury = True
                guarded = await self._guard(shell, 0, deadline)
                raise too_much(self.name, command)
            ended = self._ended(shell, frame, command, began, limit_s)
            bury = ended.overdue
            keep = not bury and (not asked or await self._call_off(guarded, deadline))
            return ended
        finally:
            if limit_s and not frame.ended and guarded is None:
                self._orphans.append((shell, limit_s))
            if bury:
                self._burials.add(asyncio.create_task(self._bury(shell)))
            else:
                self._give_back(shell, reusable=keep)

    def _ended(self, shell: PooledShell, frame: Frame, command: str, began: float, limit_s: float) -> Ended:
        stream = shell.stream
        seconds = (shell.heard_at if frame.ended else time.monotonic()) - began
        status, signal = (frame.exit_status, frame.signal) if frame.ended else (None, stream.signal)
        overdue = is_overdue(status, signal, seconds, limit_s) or (frame.ended and seconds >= limit_s)
        if not frame.ended and not overdue:
            lost = "connection lost"
            if stream.exit_status is not None or stream.signal is not None:
                how = f"exit status {stream.exit_status}" if stream.signal is None else f"SIG{stream.signal}"
                lost = f"the shell that ran it was ended ({how})"
            raise ConnectionLost(f"{self.name}: {command!r}: {lost} after {seconds:.1f} s; {frame.output.received}")
        return Ended(status, signal, bytes(frame.output.stdout), bytes(frame.output.stderr), seconds, limit_s, overdue)

    async def _guard(self, shell: PooledShell, within_s: float, deadline: Deadline) -> int | None:
        with contextlib.suppress(BenchFault, TimeoutError):
            async with asyncio.timeout(deadline.left):
                await self._open_warden(deadline)
                return await self._warden_of_all.set_guard(shell, within_s, deadline.left)
        return None

    async def _call_off(self, number: int | None, deadline: Deadline) -> bool:
        """Tell whether no guard can end what the shell runs next; one whose setting was not confirmed might."""
        return number is not None and await self._warden_of_all.say(
            call_off(number), min(_CALL_OFF_WITHIN_S, deadline.left)
        )

    @property
    def _warden_of_all(self) -> Warden:
        if self._warden is None:
            raise BenchFault(f"{self.name}: no shell that ends commands is open")
        return self._warden

    def _give_back(self, shell: PooledShell, *, reusable: bool) -> None:
        if reusable and shell.usable:
            self._idle.append(shell)
        else:
            shell.stream.abort()
        self._places.release()

    async def _bury(self, shell: PooledShell) -> None:
        """Keep ``shell`` open until its guard has killed it: its mark shows the guard that the group is ours."""
        await shell.stream.wait_for(lambda: False, KILL_AFTER_S + _BURIED_WITHIN_S)
        self._give_back(shell, reusable=False)
        current = asyncio.current_task()
        if current is not None:
            self._burials.discard(current)

    async def _fresh(self, deadline: Deadline) -> PooledShell | None:
        """An idle shell that is certainly there."""
        while self._idle:
            shell = self._idle.pop()
            if shell.usable and time.monotonic() - shell.heard_at < _FRESH_S:
                return shell
            if shell.usable and await self._answers(shell, deadline):
                return shell
            shell.stream.abort()
        return None

    async def _answers(self, shell: PooledShell, deadline: Deadline) -> bool:
        answered = False
        try:
            shell.send(Frame.question())
            answered = await shell.until_ended(deadline.left)
        except OSError:
            return False
        finally:
            if not answered:
                shell.stream.abort()
        if not answered:
            raise NoAnswer
        return shell.usable

    async def _open(self, deadline: Deadline) -> PooledShell | None:
        """A new shell, or None where the host gives no usable one; that is remembered."""
        try:
            async with asyncio.timeout(deadline.left):
                shell, fault = await asyncio.gather(
                    self._open_shell(deadline), self._open_warden(deadline), return_exceptions=True
                )
        except TimeoutError:
            raise NoAnswer from None
        if isinstance(shell, PooledShell) and fault is None:
            self._served = True
            return shell
        if isinstance(shell, PooledShell):
            shell.stream.abort()
        for outcome in (shell, fault):
            refusal = isinstance(outcome, BenchFault) and not isinstance(outcome, NotStarted)
            if isinstance(outcome, BaseException) and not refusal:
                raise outcome
        self._refused = not self._served
        return None

    async def _open_shell(self, deadline: Deadline) -> PooledShell | None:
        shell = PooledShell(new_mark())
        shell.stream = await self._open_stream(start_shell(shell.mark), shell.receive)
        frame = Frame(CHECK_SHELL)
        try:
            shell.stream.write(SET_UP_SHELL)
            shell.send(frame)
            if not await shell.until_ended(deadline.left):
                raise NoAnswer
            pid = bytes(frame.output.stdout).split()[-1:]  # a login shell may print greetings before
            if shell.usable and frame.exit_status == 0 and pid and pid[0].isdigit():
                shell.pid = int(pid[0])
                return shell
        except OSError:
            return None
        finally:
            if not shell.pid:
                shell.stream.abort()
        return None

    async def _open_warden(self, deadline: Deadline) -> None:
        async with self._opening:
            if self._warden is not None and not self._warden.stream.closed:
                return
            warden = Warden()
            warden.stream = await self._open_stream(start_shell(new_mark()), warden.receive)
            if not await warden.say(SET_UP_WARDEN, deadline.left):
                warden.stream.abort()
                raise BenchFault(f"{self.name}: gives no shell that ends commands")
            self._warden = warden
            while self._orphans:
                shell, limit_s = self._orphans.pop()
                await warden.set_guard(shell, limit_s, deadline.left)
