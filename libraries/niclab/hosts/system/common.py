"""A POSIX system, as far as all are the same: kernel, user, and versions of its tools."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from niclab.core.verdict import BenchFault
from niclab.hosts.command_words import tool_name
from niclab.hosts.errors import unreadable
from niclab.hosts.host import CommandResult
from niclab.hosts.host_records import OsRelease, Software
from niclab.hosts.kernel.marked_log import MarkedLog

_NOT_FOUND = 127
_EACH_WITHIN_S = 20.0
"""Assumption: a tool shows its version in milliseconds, and on an emulated server under load in seconds."""
_RELEASE_OF_KERNEL = "uname -r"
_KERNEL = re.compile(r"[0-9]+\.[0-9]+\S*")
_OPENSSH = re.compile(r"OpenSSH_([0-9][0-9A-Za-z.]*)")
_BUSYBOX = re.compile(r"BusyBox v?([0-9][0-9A-Za-z.]*)")
_VERSION = re.compile(r"(?<![\w.])v?([0-9]+(?:\.[0-9]+)*[0-9A-Za-z.+~-]*)")

UNKNOWN_VERSION = "unknown"


class CommonSystem(MarkedLog):
    """See :class:`niclab.hosts.host.HostSystem` for the meaning of each method."""

    VERSION_OPTIONS: ClassVar[Mapping[str, str]]
    """The argument by which a tool shows its version; any other is asked with --version."""
    RELEASE: ClassVar[str]
    """The command that shows the release of the system."""

    def kernel(self) -> str:
        return self._read(_RELEASE_OF_KERNEL, read_kernel)

    def is_root(self) -> bool:
        """Do commands run as root? Reading the PCI bus, loading drivers and changes need it."""
        user = self._run("id -u").strip()
        if not user.isdecimal():
            raise BenchFault(f"{self.name}: `id -u` said {user!r}; expected a number")
        return int(user) == 0

    def os_release(self) -> OsRelease:
        return self._read(self.RELEASE, self._read_release)

    def software(self, names: Sequence[str]) -> Software:
        """System, kernel, and the version of each tool: all in one command."""
        commands = [self.RELEASE, _RELEASE_OF_KERNEL, *self._asking(names)]
        said = self._ask(commands, timeout_s=_EACH_WITHIN_S * len(commands))
        for command, each in zip(commands[:2], said[:2], strict=True):
            if each.exit_status != 0:
                raise self._failed(command, each)
        release = self._understood(self.RELEASE, self._read_release, said[0].stdout)
        kernel = self._understood(_RELEASE_OF_KERNEL, read_kernel, said[1].stdout)
        return Software(release, kernel, self._versions(names, said[2:]))

    def _asking(self, names: Sequence[str]) -> list[str]:
        """A command for each tool: its path in the first line, and what it says of its version."""
        return [
            f"command -v {tool_name(self.name, name)} && {name} {self.VERSION_OPTIONS.get(name, '--version')}"
            for name in names
        ]

    def _versions(self, names: Sequence[str], said: Sequence[CommandResult]) -> dict[str, str | None]:
        versions: dict[str, str | None] = {}
        for name, each in zip(names, said, strict=True):
            path, _, text = each.stdout.partition("\n")
            if path:
                versions[name] = read_tool_version(text + each.stderr, refused=each.exit_status != 0)
            elif each.exit_status in (1, _NOT_FOUND):
                versions[name] = None
            else:
                raise self._failed(f"command -v {name}", each)
        return versions

    @abstractmethod
    def _read_release(self, text: str) -> OsRelease:
        """Read the output of ``RELEASE``."""


def read_kernel(text: str) -> str:
    """Read ``uname -r``."""
    if not _KERNEL.fullmatch(text.strip()):
        raise unreadable("uname -r", "text", text, "a kernel release such as 6.1.0-18-amd64")
    return text.strip()


def read_tool_version(text: str, *, refused: bool = False) -> str:
    """The version in what a tool says when asked for it: ``ethtool version 6.1`` -> ``6.1``.

    A BusyBox applet is distinguished (``busybox 1.35.0``), because it lacks options. No number at all: "unknown".

    Args:
        text: The output.
        refused: The tool did not take the option; then the numbers of its usage text are no version.
    """
    busybox = _BUSYBOX.search(text)
    if busybox is not None:
        return f"busybox {busybox[1]}"
    match = None if refused else _OPENSSH.search(text) or _VERSION.search(text)
    return match[1].rstrip(".") if match else UNKNOWN_VERSION
