"""The output of a dying kernel on its console, for Linux and FreeBSD."""

from __future__ import annotations

import re
from enum import Enum

from niclab.core.verdict import BenchFault

_LINE_LIMIT = 4096
_STAMP = r"^(?:<\d+>)?(?:\[ *\d+(?:\.\d+)?\] ?)?"  # kernels put a priority or a time before the text


class Sign(Enum):
    """A kernel's last words. The pattern never spans lines.

    Linux: kernel/panic.c, arch/x86/kernel/{dumpstack,traps}.c, arch/x86/mm/fault.c, kernel/watchdog.c,
    kernel/rcu/tree_stall.h. FreeBSD: sys/kern/kern_shutdown.c, sys/amd64/amd64/trap.c, ddb(4).
    """

    PANIC = r"Kernel panic - not syncing"
    OOPS = r"Oops: |Internal error: [^\n]{0,120}\[#\d"
    BUG = r"\bBUG: "
    BUG_AT = r"\bkernel BUG at "
    BAD_ADDRESS = r"Unable to handle kernel "  # arm64, s390, powerpc
    PROTECTION_FAULT = r"general protection fault[:,]"  # of a program, which is none of the kernel's: "... fault ip:"
    SOFT_LOCKUP = r"soft lockup"
    HARD_LOCKUP = r"hard LOCKUP"
    RCU_STALL = r"\brcu\w*\b[^\n]{0,200}\bstall"
    FREEBSD_TRAP = r"Fatal (?:trap \d+|double fault)"
    # Also behind a waiting login prompt, or glued to what a program was printing: "Extracting ...:  98%panic: ufs_".
    FREEBSD_PANIC = rf"(?:{_STAMP}|^[^\n]{{0,80}}\blogin: ?|(?<=[%.\])>0-9]))panic: "
    FREEBSD_DEBUGGER = r"^db> "
    FREEBSD_DEBUGGER_ENTERED = r"^KDB: enter: "


_ANY = re.compile("|".join(f"(?:{sign.value})" for sign in Sign), re.MULTILINE)


# What says most comes first: a panic may name the lockup it came from, a lockup begins with "BUG: ".
_TELLING = tuple(
    (sign, re.compile(sign.value))
    for sign in sorted(
        Sign,
        key=lambda sign: (
            sign not in (Sign.PANIC, Sign.FREEBSD_PANIC, Sign.FREEBSD_TRAP),
            sign not in (Sign.SOFT_LOCKUP, Sign.HARD_LOCKUP, Sign.RCU_STALL),
        ),
    )
)


def sign_of(line: str) -> Sign | None:
    """The sign of death in one line, the most telling one of several; None without one."""
    if _ANY.search(line) is None:
        return None
    return next((sign for sign, pattern in _TELLING if pattern.search(line)), None)


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
        """Return where lines with a sign begin, as positions in the whole stream; ``text`` is what came next."""
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
