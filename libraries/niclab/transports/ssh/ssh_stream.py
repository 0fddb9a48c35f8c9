"""A channel on which a command runs, the command's output and limits, and how it ended."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.transports import ConnectionLost
from niclab.transports.ssh.ssh_records import tail

KILL_AFTER_S = 3
"""The far end sends SIGKILL this many seconds after SIGTERM."""
OUTPUT_LIMIT_BYTES = 64 * 2**20
"""A command that writes more than this to stdout and stderr together is ended, and its call raises BenchFault."""


_ON_TIMEOUT = {124, 137, 143}  # coreutils, after KILL, after TERM and busybox

Receiver = Callable[[bytes, bool], None]


class NotStarted(ConnectionLost):
    """The connection was gone before the command was handed over: it has certainly not run."""


class NoAnswer(Exception):
    """The deadline passed; the text is what was received, empty when nothing answered the request."""


class Stream(Protocol):
    """One open channel."""

    exit_status: int | None
    signal: str | None
    closed: bool

    def write(self, data: bytes) -> None:
        """Send ``data``; raises OSError on a closed channel."""

    def abort(self) -> None: ...

    async def give_up(self) -> None:
        """Close it; where the host does not confirm that, close the whole connection."""

    async def wait_for(self, met: Callable[[], bool], within_s: float) -> bool:
        """Wait until ``met()`` or closed; tell whether that came in time."""


@dataclass(frozen=True)
class Ended:
    """The end of a command.

    Attributes:
        exit_status: None where a signal ended it.
        signal: The name of that signal without SIG, else None.
        stdout: Every byte of its standard output.
        stderr: Every byte of its standard error.
        seconds: Its run time, measured on this side.
        limit_s: The time that it was allowed on the host, in seconds.
        overdue: It ran past ``limit_s`` and was ended on the host.
    """

    exit_status: int | None
    signal: str | None
    stdout: bytes
    stderr: bytes
    seconds: float
    limit_s: float
    overdue: bool


class Output:
    """Collects both streams of one command up to :data:`OUTPUT_LIMIT_BYTES`."""

    def __init__(self) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.overflowed = False

    def add(self, data: bytes, on_stderr: bool) -> None:
        """Append ``data``; nothing more is kept after an overflow."""
        if len(self.stdout) + len(self.stderr) + len(data) > OUTPUT_LIMIT_BYTES:
            self.overflowed = True
        if not self.overflowed:
            (self.stderr if on_stderr else self.stdout).extend(data)

    def __bool__(self) -> bool:
        return bool(self.stdout or self.stderr)

    @property
    def received(self) -> str:
        """The output so far, for messages."""
        stdout, stderr = to_text(bytes(self.stdout)), to_text(bytes(self.stderr))
        return f"received so far: {tail(stdout)}, on stderr: {tail(stderr)}"


class LineOutput(Output):
    """Output of one command line for a login shell, without what that shell printed before (.bashrc, .cshrc, a motd).

    Attributes:
        first: Goes ahead of the command line: it prints a random token, behind which the command's own stdout begins.
        begun: The token has come.
    """

    def __init__(self) -> None:
        super().__init__()
        token = secrets.token_hex(16)
        self.first = f"echo {token}; "  # a builtin of every login shell, csh too
        self.begun = False
        self._token = f"{token}\n".encode()

    def add(self, data: bytes, on_stderr: bool) -> None:
        """Append ``data``; what comes before the token is dropped when that comes."""
        super().add(data, on_stderr)
        if not self.begun and (at := self.stdout.find(self._token)) >= 0:
            del self.stdout[: at + len(self._token)]
            self.begun = True


def to_text(data: bytes) -> str:
    """``data`` as UTF-8, U+FFFD for each wrong byte."""
    return data.decode("utf-8", errors="replace")


def time_for(name: str, command: str, timeout_s: float, deadline: Deadline) -> float:
    """The time in seconds that ``command`` may take on the host."""
    limit_s = min(timeout_s, deadline.left - KILL_AFTER_S - 0.5)
    if limit_s <= 0:
        raise ConnectionLost(f"{name}: connecting left no time for {command!r} within {deadline.seconds:g} s")
    return limit_s


def is_overdue(exit_status: int | None, signal: str | None, seconds: float, limit_s: float) -> bool:
    """Tell whether a command that ended so was ended at its limit."""
    in_time = seconds < 0.95 * limit_s  # 5 %: two clocks
    return not in_time and (exit_status in _ON_TIMEOUT or signal in ("TERM", "KILL"))


def too_much(name: str, command: str) -> BenchFault:
    """The fault of a command with endless output."""
    return BenchFault(
        f"{name}: {command!r}: more than {OUTPUT_LIMIT_BYTES} bytes on stdout and stderr; expected at most these "
        "(the limit of every command); ended on the host"
    )
