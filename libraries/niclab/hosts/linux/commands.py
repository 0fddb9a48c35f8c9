"""Running a host's tools and reading their texts, with errors that name host, command and what it said."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TypeVar

from niclab.hosts.errors import ReadError
from niclab.hosts.host import CommandResult, Shell
from niclab.verdict import BenchFault

T = TypeVar("T")

_SHOWN_CHARACTERS = 400


class LinuxCommands:
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

    def _failed(self, command: str, result: CommandResult) -> BenchFault:
        """The error for a tool that failed, with its own words."""
        said = (result.stderr.strip() or result.stdout.strip() or "nothing")[-_SHOWN_CHARACTERS:]
        status = "no exit status" if result.exit_status is None else f"exit status {result.exit_status}"
        return BenchFault(f"{self._name}: `{command}` failed with {status}, said: {said}")
