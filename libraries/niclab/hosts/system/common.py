"""A POSIX system, as far as all are the same: kernel, user, and versions of its tools."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from niclab.core.verdict import BenchFault
from niclab.hosts.command_words import tool_name
from niclab.hosts.errors import unreadable
from niclab.hosts.kernel.marked_log import MarkedLog

_NOT_FOUND = 127
_KERNEL = re.compile(r"[0-9]+\.[0-9]+\S*")
_OPENSSH = re.compile(r"OpenSSH_([0-9][0-9A-Za-z.]*)")
_BUSYBOX = re.compile(r"BusyBox v?([0-9][0-9A-Za-z.]*)")
_VERSION = re.compile(r"(?<![\w.])v?([0-9]+(?:\.[0-9]+)*[0-9A-Za-z.+~-]*)")

UNKNOWN_VERSION = "unknown"


class CommonSystem(MarkedLog):
    """See :class:`niclab.hosts.host.HostSystem` for the meaning of each method."""

    VERSION_OPTIONS: ClassVar[Mapping[str, str]]
    """The argument by which a tool shows its version; any other is asked with --version."""

    def kernel(self) -> str:
        return self._read("uname -r", read_kernel)

    def is_root(self) -> bool:
        """Do commands run as root? Reading the PCI bus, loading drivers and changes need it."""
        user = self._run("id -u").strip()
        if not user.isdecimal():
            raise BenchFault(f"{self.name}: `id -u` said {user!r}; expected a number")
        return int(user) == 0

    def tools(self, names: Sequence[str]) -> dict[str, str | None]:
        """Version of each tool; None when it is not installed, ``unknown`` when it is but does not say a version."""
        versions: dict[str, str | None] = {}
        for name in names:
            found = self._try(f"command -v {tool_name(self.name, name)}")
            if found.exit_status in (1, _NOT_FOUND):
                versions[name] = None
                continue
            if found.exit_status != 0:
                raise self._failed(f"command -v {name}", found)
            said = self._try(f"{name} {self.VERSION_OPTIONS.get(name, '--version')}", timeout_s=20)
            versions[name] = read_tool_version(said.stdout + said.stderr, refused=said.exit_status != 0)
        return versions


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
