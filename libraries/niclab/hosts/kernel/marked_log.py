"""The kernel log from one mark to the next, the same for every operating system."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod

from niclab.hosts.host_commands import HostCommands
from niclab.hosts.kernel.kernel_log import KernelLine, KernelLogMark, KernelLook, LogCut

_LOG = "@ kernel log"
"""Ends what a look shows besides the kernel log."""


class MarkedLog(HostCommands, ABC):
    """A kernel log that is read from a mark on.

    A mark, not a time stamp: it shows when the log has lost what came after it.
    """

    @abstractmethod
    def _boot_command(self) -> str:
        """A command that prints the id of this boot."""

    @abstractmethod
    def _mark_command(self, token: str) -> str:
        """A command that writes a line into the kernel log."""

    @abstractmethod
    def _log_command(self) -> str:
        """A command that prints the kernel log."""

    @abstractmethod
    def _read_boot_id(self, text: str) -> str: ...

    @abstractmethod
    def _after(self, log: str, token: str) -> tuple[KernelLine, ...] | None:
        """The kernel's lines behind a mark; None when it is not there."""

    @abstractmethod
    def _of_boot(self, log: str) -> tuple[KernelLine, ...]:
        """The kernel's lines of this boot, as far as they are there."""

    @abstractmethod
    def _why_cut(self) -> str:
        """Name what may have removed a mark."""

    def dmesg_mark(self) -> KernelLogMark:
        """Write a marker line into the kernel log: the place from which :meth:`dmesg_since` reads."""
        token = _new_token()
        boot_id = self._read(f"{self._boot_command()} && {self._mark_command(token)}", self._read_boot_id)
        return KernelLogMark(boot_id, token)

    def dmesg_since(self, mark: KernelLogMark) -> tuple[KernelLine, ...]:
        """The kernel's own lines after ``mark``.

        Raises:
            LogCut: The host has booted since, or the mark is no longer in the log: lines may be missing.
        """
        boot_id, _, log = self._run(f"{self._boot_command()} && {self._log_command()}").partition("\n")
        return self._since(mark, self._read_boot_id(boot_id), log)

    def look(self, mark: KernelLogMark, show: str = "", *, timeout_s: float = 60) -> KernelLook:
        """Read the kernel's own lines after ``mark`` up to a new one, and run a command, all in one round trip.

        Args:
            mark: Where the last look ended.
            show: A command that shows something; its exit status is not looked at.
            timeout_s: Deadline in seconds.
        """
        token = _new_token()
        first = f"{show}; " if show else ""
        command = (
            f"{first}echo '{_LOG}'; {self._boot_command()} && {self._mark_command(token)} && {self._log_command()}"
        )
        shown, _, rest = self._run(command, timeout_s=timeout_s).partition(f"{_LOG}\n")
        boot_id, _, log = rest.partition("\n")
        new = KernelLogMark(self._understood(command, self._read_boot_id, boot_id), token)
        try:
            lines, booted, lost = self._since(mark, new.boot_id, log), False, False
        except LogCut as cut:
            lines, booted, lost = cut.lines, cut.booted, not cut.booted
        at_s = next((line.seconds for line in lines if line.text.strip() == token), None)
        return KernelLook(new, _before(lines, token), booted, shown, at_s, lost)

    def _since(self, mark: KernelLogMark, boot_id: str, log: str) -> tuple[KernelLine, ...]:
        if boot_id != mark.boot_id:
            message = f"{self.name}: has booted since the mark in the kernel log was set"
            raise LogCut(message, self._of_boot(log), booted=True)
        lines = self._after(log, mark.token)
        if lines is None:
            message = f"{self.name}: {mark.token!r} is not in the kernel log: {self._why_cut()}"
            raise LogCut(message, self._of_boot(log), booted=False)
        return lines


def _new_token() -> str:
    return f"niclab mark {secrets.token_hex(8)}"


def _before(lines: tuple[KernelLine, ...], token: str) -> tuple[KernelLine, ...]:
    """The lines before a mark, which not every system shows among the kernel's own."""
    return next((lines[:index] for index, line in enumerate(lines) if line.text.strip() == token), lines)
