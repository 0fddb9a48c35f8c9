"""Serial consoles: read from the moment they are opened, logged with the time, searched for patterns and kernel deaths.

A thread of its own drains the line at once, so that nothing is lost while nobody waits. Measured: 12 MB/s over raw TCP,
24 MB/s from a pty, 0.45 MB/s over RFC 2217 (the client library's speed; a line of 115200 Bd carries 0.012 MB/s).
"""

from __future__ import annotations

import codecs
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline, pause
from niclab.transports import ConnectionLost
from niclab.transports.console import console_shell
from niclab.transports.console.console_line import (
    READ_S,
    WRITE_WITHIN_S,
    ConsoleEndpoint,
    Line,
    NoBreak,
    heard_in,
)
from niclab.transports.console.console_log import ConsoleLog
from niclab.transports.console.console_shell import Match, NotSeen
from niclab.transports.console.kernel_death import DeathWatch, KernelDeath
from niclab.transports.console.serial_ports import open_line
from niclab.transports.console.transcript import Transcript

__all__ = ["ConsoleEndpoint", "KernelDeath", "Match", "NotSeen", "SerialConsole"]

LOOK_BACK = 4096
"""A match that arrives in pieces is found when it is at most this many characters long."""

_AFTER_BREAK_S = 0.1  # the kernel takes the key after a BREAK within 5 s (drivers/tty/sysrq.c)
_LAST_WORDS_S = 3.0  # how long a dying kernel's lines are collected, or until it is silent for:
_LAST_WORDS_SILENCE_S = 0.5
_LAST_WORDS_LINES = 80
_TAIL = 200


class SerialConsole:
    """A console. :meth:`open` it (or use it as a context manager), then everything it says is logged and searchable.

    One thread at a time may wait on it. Text is UTF-8 with U+FFFD for wrong bytes and without NUL bytes, which lines
    send when a machine is switched; the log has every byte.
    """

    def __init__(self, endpoint: ConsoleEndpoint) -> None:
        self.endpoint = endpoint
        self._news = threading.Condition()
        self._transcript = Transcript()
        self._watch = DeathWatch()
        self._deaths: list[int] = []
        self._cursor = 0
        self._line: Line | None = None
        self._reader: threading.Thread | None = None
        self._closing = threading.Event()
        self._failure: str | None = "it was never opened"
        self._log: ConsoleLog | None = None
        self._log_fault: str | None = None

    def __enter__(self) -> SerialConsole:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The subject of messages, from the endpoint."""
        return self.endpoint.name

    @property
    def alive(self) -> bool:
        """Is the line open, and has it not been lost?"""
        return self._line is not None and self._failure is None

    def open(self) -> None:
        """Connect and begin to read and log; connect again on an open or lost line. What was read before is kept.

        Raises:
            ConnectionLost: The line cannot be opened.
            BenchFault: The log cannot be written.
        """
        self.close()
        try:
            log = self._log = ConsoleLog(self.endpoint.log_file, after=self._log.tail if self._log else b"")
        except BenchFault as fault:
            raise BenchFault(f"{self.name}: {fault}") from fault
        try:
            line = self._open_logged(log)
        except BaseException:
            log.close()
            raise
        self._line, self._failure, self._log_fault, self._closing = line, None, None, threading.Event()
        arguments = (line, log, self._closing)
        self._reader = threading.Thread(target=self._read, args=arguments, name=f"console {self.name}", daemon=True)
        self._reader.start()

    def _open_logged(self, log: ConsoleLog) -> Line:
        """Open the line, and log that, or why it cannot be opened."""
        try:
            line = open_line(self.endpoint)
        except (OSError, ValueError) as error:  # ValueError: pyserial refuses a setting
            with suppress(BenchFault):  # what is wrong with the line is the news
                log.note(f"cannot open {self.endpoint.url}: {error}")
            raise ConnectionLost(f"{self.name}: cannot open {self.endpoint.url}: {error}") from error
        try:
            log.note(f"opened {self.endpoint.url}")
        except BenchFault as fault:
            line.close()
            raise BenchFault(f"{self.name}: {fault}") from fault
        return line

    def close(self) -> None:
        """Stop reading and logging. Closing a closed console is no error."""
        if self._reader is not None:
            self._closing.set()
            self._reader.join(READ_S + WRITE_WITHIN_S)
            self._reader = None
        if self._line is not None:
            self._line.close()
            self._line = None
        self._failure = self._failure or "it was closed"

    def mark(self) -> int:
        """The present position in what the console says, for :meth:`text_since`."""
        with self._news:
            return self._transcript.end

    def text_since(self, mark: int) -> str:
        """Return the console's output since ``mark``.

        Raises:
            BenchFault: When part of it is no longer kept (about the last 8 million characters are).
        """
        with self._news:
            if mark < self._transcript.begin:
                raise BenchFault(f"{self.name}: text that old is no longer kept; it is in {self.endpoint.log_file}")
            return self._transcript.slice(mark)

    def skip(self) -> None:
        """Let :meth:`expect` look only at what comes from now on. Deaths of the kernel are not skipped."""
        with self._news:
            self._cursor = self._transcript.end

    def expect(self, pattern: str | re.Pattern[str], within_s: float) -> Match:
        """Wait for ``pattern`` (``^`` and ``$`` meet at each line) in what came after the last match.

        A match is at most :data:`LOOK_BACK` characters long.

        Raises:
            NotSeen: When it has not come within ``within_s`` seconds; the message has the last text.
            KernelDeath: When the kernel died before it came, at once and with the kernel's lines.
            ConnectionLost: When the line is dead.
        """
        expression = re.compile(pattern, re.MULTILINE) if isinstance(pattern, str) else pattern
        deadline, searched = Deadline(within_s), 0
        while True:
            with self._news:
                start = max(self._cursor, searched - LOOK_BACK)
                offset = max(start - 1, self._transcript.begin)  # one before, so that ^ and \b know what is there
                text, searched = self._transcript.slice(offset), self._transcript.end
            match = expression.search(text, max(start - offset, 0))  # reading goes on meanwhile
            with self._news:
                self._raise_death(None if match is None else offset + match.end())
                if match is not None:
                    return self._take(offset, match)
                if self._transcript.end == searched or deadline.expired:
                    self._wait_for_news(deadline, f"{expression.pattern!r} was not seen")

    def expect_death(self, within_s: float) -> tuple[str, ...]:
        """Wait for the kernel to die, as wanted, and return what it said from the first sign on.

        Raises:
            NotSeen: When it lives on for ``within_s`` seconds.
        """
        deadline = Deadline(within_s)
        with self._news:
            while not self._deaths:
                self._wait_for_news(deadline, "the kernel did not die")
            return self._last_words()

    def write(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            ConnectionLost: When the line is dead or takes nothing for 5 s.
        """
        line = self._living_line()
        try:
            line.write(data)
        except OSError as error:
            raise ConnectionLost(f"{self.name}: {self.endpoint.url} takes no data: {error}") from error

    def send_line(self, text: str) -> None:
        """Type ``text`` and Return."""
        self.write(text.encode() + b"\r")

    def send_break(self) -> None:
        """Hold the line at BREAK for 0.25 s.

        Raises:
            NoBreak: On a raw TCP line, which cannot.
        """
        line = self._living_line()
        try:
            line.send_break()
        except OSError as error:
            raise ConnectionLost(f"{self.name}: no BREAK over {self.endpoint.url}: {error}") from error
        except NoBreak as fault:
            raise NoBreak(f"{self.name}: {fault}") from fault

    def sysrq(self, key: str) -> None:
        """Send a magic SysRq key: BREAK, then the key. ``c`` crashes, ``b`` reboots, ``h`` helps.

        The kernel must allow it (sysctl kernel.sysrq) and hold its console on this line.
        """
        if not re.fullmatch(r"[0-9a-z]", key):
            raise BenchFault(f"{self.name}: SysRq key is {key!r}; expected one of 0-9 and a-z")
        self.send_break()
        pause(_AFTER_BREAK_S)
        self.write(key.encode())

    def login(self, user: str, password: str, within_s: float) -> None:
        """Get to a shell as ``user``: at once where one is open, else through the login prompt.

        The password is sent only when it was asked for, so that no echo can bring it into the log.

        Raises:
            AuthenticationFailed: When user or password is refused.
            NotSeen: When there is no shell within ``within_s`` seconds; the message quotes what came, and the speed.
        """
        with self._quoting():
            console_shell.login(self, user, password, within_s)

    def greet(self, within_s: float) -> None:
        """Press Return, and see a prompt for a login or of a shell.

        Raises:
            NotSeen: When there is none within ``within_s`` seconds; the message is as that of :meth:`login`.
        """
        self.skip()
        with self._quoting():
            console_shell.greet(self, within_s)

    @contextmanager
    def _quoting(self) -> Iterator[None]:
        """Add what came meanwhile, and the speed of the line, to the message that something was not seen."""
        mark = self.mark()
        try:
            yield
        except NotSeen as missing:
            raise NotSeen(f"{missing}: {heard_in(self.text_since(mark))}; {self.endpoint.speed}") from missing

    def run(self, command: str, within_s: float) -> tuple[int, str]:
        """Run one line in ``sh``, in the shell that is open; its exit status and output (stderr with it).

        Echo, prompts and escape sequences are taken out. Kernel messages that came meanwhile are in the output.

        Raises:
            NotSeen: When it has not ended within ``within_s`` seconds; it is interrupted then (Ctrl-C).
        """
        return console_shell.run(self, command, within_s)

    def _living_line(self) -> Line:
        self._raise_log_fault()
        if self._line is None or self._failure is not None:
            raise ConnectionLost(f"{self.name}: the line {self.endpoint.url} is dead: {self._failure}")
        return self._line

    def _take(self, offset: int, match: re.Match[str]) -> Match:
        before = self._transcript.slice(self._cursor, offset + match.start())
        self._cursor = offset + match.end()
        return Match(match.group(), before, match.groupdict())

    def _raise_death(self, match_end: int | None) -> None:
        if not self._deaths or (match_end is not None and match_end <= self._deaths[0]):
            return
        lines = self._last_words()
        raise KernelDeath(f"{self.name}: the kernel died:\n" + "\n".join(lines), lines)

    def _last_words(self) -> tuple[str, ...]:
        """The lines from the first sign of death on, once the kernel has fallen silent. All of it is then done with."""
        start, deadline = self._deaths[0], Deadline(_LAST_WORDS_S)
        while not deadline.expired and self._failure is None:
            if not self._news.wait(min(_LAST_WORDS_SILENCE_S, deadline.left)):
                break
        text = self._transcript.slice(start)
        self._deaths.clear()
        self._cursor = self._transcript.end
        return tuple(line.rstrip("\r") for line in text.split("\n")[:_LAST_WORDS_LINES])

    def _raise_log_fault(self) -> None:
        """A console whose log cannot be written is not read on: what it says would be lost as evidence."""
        if self._log_fault is not None:
            raise BenchFault(f"{self.name}: {self._log_fault}")

    def _wait_for_news(self, deadline: Deadline, missing: str) -> None:
        self._raise_log_fault()
        if self._failure is not None:
            raise ConnectionLost(f"{self.name}: {missing} before the line {self.endpoint.url} died: {self._failure}")
        if deadline.expired:
            last = self._transcript.slice(self._transcript.end - _TAIL)
            raise NotSeen(f"{self.name}: {missing} within {deadline.seconds:g} s; it last said {last!r}")
        self._news.wait(deadline.left)

    def _read(self, line: Line, log: ConsoleLog, closing: threading.Event) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        reason: str | None = None
        try:
            while not closing.is_set():
                data = line.read()
                if data:
                    log.add(data)
                    self._hear(decoder.decode(data).replace("\0", ""))
            log.note("closed")
        except OSError as error:  # pyserial's errors are such
            reason = str(error)
            with suppress(BenchFault):
                log.note(f"line lost: {error}")
        except BenchFault as fault:
            reason = self._log_fault = str(fault)
        finally:
            log.close()
            with self._news:
                self._failure = self._failure or reason or "it was closed"
                self._news.notify_all()

    def _hear(self, text: str) -> None:
        with self._news:
            self._transcript.append(text)
            self._deaths += self._watch.feed(text)
            self._news.notify_all()
