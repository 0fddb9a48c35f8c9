"""Running a host's tools and reading their texts, with errors that name host, command and what it said."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import ReadError
from niclab.hosts.host import CommandResult, Shell
from niclab.transports import CommandTimeout, ConnectionLost

T = TypeVar("T")

_SHOWN_CHARACTERS = 400
_NOT_FOUND = 127
_OWN_FAILURE = 255  # what a program gives that ends with -1, as ethtool does when the kernel refuses an image
_FIRST_SIGNAL_STATUS = 128
_HALT_TIMEOUT_S = 20
# What says that the tool or the host could not work, whoever refused nothing.
_NO_ANSWER = re.compile(
    "No such device|Operation not permitted|Permission denied|[Cc]ommand not found|Could not get lock|Unable to locate"
    "|Could not resolve|Failed to fetch|Device not configured|interface \\S+ does not exist|unknown oid"
    "|No space left on device|have enough free space|dpkg was interrupted|Cannot allocate memory"
    "|is another process using it"
)


def refusal(result: CommandResult) -> str | None:
    """The words of a refusal, None when the tool ended well. What is neither is not answered here: see callers."""
    return None if result.exit_status == 0 else words_of(result)


def words_of(result: CommandResult) -> str:
    """The words of a tool that has not done what it was asked, whatever its exit status."""
    return shortened(result.stderr.strip() or result.stdout.strip())


def shortened(words: str) -> str:
    """The end of what a tool has said, as messages show it."""
    return (words.strip() or "nothing")[-_SHOWN_CHARACTERS:]


def is_no_answer(result: CommandResult) -> bool:
    """The tool is missing, was killed, or had no device, rights or network: nobody has refused the change."""
    status = result.exit_status
    no_word = status is None or _NOT_FOUND <= status < _OWN_FAILURE
    return no_word or bool(_NO_ANSWER.search(result.stderr + result.stdout))


_CHANGED = "@ changed, status"
_ASKING = (
    'niclab_ask() { niclab_said=$(eval "$1" 2>&1 >&3); '
    r"""printf '\n@ said\n%s\n@ ended %s\n' "$niclab_said" $?; }"""
)
"""Runs a command: its output, what it said on standard error, and its exit status."""


@dataclass(frozen=True)
class _Said:
    """The result of one of several commands of a round trip."""

    exit_status: int
    stdout: str
    stderr: str


class HostCommands:
    """A POSIX shell on one host. Tools run with ``LC_ALL=C``: their words are read."""

    def __init__(self, shell: Shell, name: str) -> None:
        self._shell = shell
        self._name = name

    @property
    def name(self) -> str:
        """The subject of every message, ``dut`` or ``peer``."""
        return self._name

    def _try(self, command: str, *, timeout_s: float = 60) -> CommandResult:
        """Run a tool, whatever its exit status."""
        return self._shell.run(f"export LC_ALL=C; {command}", timeout_s=timeout_s)

    def _run(self, command: str, *, timeout_s: float = 60) -> str:
        """Standard output of a tool that must end with status 0."""
        result = self._try(command, timeout_s=timeout_s)
        if result.exit_status != 0:
            raise self._failed(command, result)
        return result.stdout

    def _ask(self, commands: Sequence[str], *, timeout_s: float) -> list[CommandResult]:
        """Run tools one after the other in one round trip, whatever their exit status.

        Args:
            commands: The commands, for ``sh``.
            timeout_s: Deadline of all of them together, in seconds.

        Raises:
            BenchFault: When not every one of them has ended.
        """
        steps = "; ".join(f"niclab_ask {shlex.quote(command)}" for command in commands)
        result = self._try(f"{_ASKING}; {{ {steps}; }} 3>&1", timeout_s=timeout_s)
        answers, rest = list[CommandResult](), result.stdout
        for command in commands:
            shown, _, rest = rest.partition("\n@ said\n")
            said, _, rest = rest.partition("\n@ ended ")
            status, _, rest = rest.partition("\n")
            if not status.isdecimal():
                raise self._failed(command, result)
            answers.append(_Said(int(status), shown, said))
        return answers

    def _read(self, command: str, reader: Callable[[str], T], *, timeout_s: float = 60) -> T:
        """Run a tool and read its standard output."""
        return self._understood(command, reader, self._run(command, timeout_s=timeout_s))

    def _read_file(self, path: str, reader: Callable[[str], T]) -> T:
        return self._read(f"cat {shlex.quote(path)}", reader)

    def _understood(self, command: str, reader: Callable[[str], T], text: str) -> T:
        try:
            return reader(text)
        except ReadError as error:
            raise error.about(f"{self._name}: `{command}`") from error

    def _failed(self, command: str, result: CommandResult) -> BenchFault | NotApplicable:
        """The error for a tool that failed, with its own words."""
        return self._failed_with(words_of(result), command, result)

    def _failed_with(self, said: str, command: str, result: CommandResult) -> BenchFault:
        """The error for a tool that failed, with those of its words that name the cause."""
        status = "no exit status" if result.exit_status is None else f"exit status {result.exit_status}"
        return BenchFault(f"{self._name}: `{command}` failed with {status}, said: {said}")

    def _told(self, command: str, *, timeout_s: float = 60, unchanged: int = 0) -> str | None:
        """The refusal's words, None when the change was taken or was there already.

        Args:
            command: The command, for ``sh``.
            timeout_s: Deadline in seconds.
            unchanged: Another exit status that says that everything is as it was asked for already.

        Raises:
            BenchFault: When the tool could not ask: no such device, no rights, no tool.
        """
        return self._refused(command, self._try(command, timeout_s=timeout_s), unchanged)

    def _told_and_shown(self, change: str, show: str, *, unchanged: int = 0) -> tuple[str | None, str]:
        """Make a change and show what there is then, whatever became of it, in one round trip.

        Args:
            change: The command that changes something, for ``sh``.
            show: The command that shows it; it must end with status 0.
            unchanged: See :meth:`_told`.

        Returns:
            The refusal's words, None when there was none; and what was shown.

        Raises:
            BenchFault: As :meth:`_told`, or when nothing is shown.
        """
        result = self._try(f'{change}; echo "{_CHANGED} $?"; {show}')
        said, _, rest = result.stdout.partition(f"{_CHANGED} ")
        status, _, shown = rest.partition("\n")
        if not status.isdecimal():
            raise self._failed(change, result)
        refused = self._refused(change, _Said(int(status), said, result.stderr), unchanged)
        if result.exit_status != 0:
            raise self._failed(show, result)
        return refused, shown

    def _refused(self, command: str, result: CommandResult, unchanged: int) -> str | None:
        if result.exit_status in (0, unchanged):
            return None
        if is_no_answer(result):
            raise self._failed(command, result)
        return refusal(result)

    def _halt(self, command: str) -> None:
        """The connection may end before the answer, and the shell by a signal: both mean that the host goes down."""
        try:
            result = self._try(f"sync; {command}", timeout_s=_HALT_TIMEOUT_S)
        except (ConnectionLost, CommandTimeout):
            return
        status = result.exit_status
        if status is not None and 0 < status < _FIRST_SIGNAL_STATUS:
            raise self._failed(command, result)
