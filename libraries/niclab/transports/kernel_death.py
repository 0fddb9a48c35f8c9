"""What a dying kernel writes on its console, for Linux and FreeBSD."""

from __future__ import annotations

import re
from enum import Enum

from niclab.verdict import BenchFault

_LINE_LIMIT = 4096
_STAMP = r"^(?:<\d+>)?(?:\[ *\d+\.\d+\] ?)?"  # kernels put a priority or a time before the text


class Sign(Enum):
    """A kernel's last words. The pattern never spans lines.

    Linux: kernel/panic.c, arch/x86/kernel/{dumpstack,traps}.c, arch/x86/mm/fault.c, kernel/watchdog.c,
    kernel/rcu/tree_stall.h. FreeBSD: sys/kern/kern_shutdown.c, sys/amd64/amd64/trap.c, ddb(4).
    """

    PANIC = r"Kernel panic - not syncing"
    OOPS = r"Oops: "
    BUG = r"\bBUG: "
    PROTECTION_FAULT = r"general protection fault"
    SOFT_LOCKUP = r"soft lockup"
    HARD_LOCKUP = r"hard LOCKUP"
    RCU_STALL = r"\brcu\w*\b[^\n]{0,200}\bstall"
    FREEBSD_TRAP = r"Fatal trap \d+"
    FREEBSD_PANIC = _STAMP + r"panic: "
    FREEBSD_DEBUGGER = r"^db> "


_ANY = re.compile("|".join(f"(?:{sign.value})" for sign in Sign), re.MULTILINE)


class KernelDeath(BenchFault):
    """The kernel died while something else was waited for. ``lines``: what it said, from the first sign on."""

    def __init__(self, message: str, lines: tuple[str, ...]) -> None:
        super().__init__(message)
        self.lines = lines


class DeathWatch:
    """Finds signs of death in a stream of text; each line is reported once however it was cut into pieces."""

    def __init__(self) -> None:
        self._line = ""  # the unfinished last line, or its end
        self._offset = 0  # where it begins in the stream
        self._reported = -1  # where the last reported line begins

    def feed(self, text: str) -> list[int]:
        """Where lines with a sign begin, as positions in the whole stream; ``text`` is what came next."""
        window = self._line + text
        found = []
        for match in _ANY.finditer(window):
            begin = self._offset + window.rfind("\n", 0, match.start()) + 1
            if begin > self._reported:
                self._reported = begin
                found.append(begin)
        keep = max(window.rfind("\n") + 1, len(window) - _LINE_LIMIT)
        self._line = window[keep:]
        self._offset += keep
        return found
