"""The kernel log of a host: its lines, the marks set in it, and what it says since one."""

from __future__ import annotations

from dataclasses import dataclass

from niclab.core.verdict import BenchFault


@dataclass(frozen=True)
class KernelLine:
    """One line of the kernel log.

    Attributes:
        seconds: Since boot; None when the line has no such stamp.
        text: The line.
        level: How bad the kernel calls it, from 0 (emergency) to 7 (debug); None where that is not shown, as on a
            console, and of a line that a program has written.
    """

    seconds: float | None
    text: str
    level: int | None = None


@dataclass(frozen=True)
class KernelLogMark:
    """A place in the kernel log of one boot."""

    boot_id: str
    token: str


@dataclass(frozen=True)
class KernelLook:
    """The messages of a kernel since a mark. ``mark``: where the next look begins; ``shown``: by the command run too.

    ``booted``: the host has booted since; the lines are those of the present boot. ``at_s``: when the new mark was set,
    in s since boot; None where the log does not show that. ``lost``: it has not booted, and the log has
    the mark no more: lines may be missing.
    """

    mark: KernelLogMark
    lines: tuple[KernelLine, ...]
    booted: bool
    shown: str
    at_s: float | None
    lost: bool


class LogCut(BenchFault):
    """The kernel log has no mark any more: later lines have overwritten it, or the host has booted.

    Args:
        message: The sentence.
        lines: What the log still holds of the present boot; all of it is later than the mark.
        booted: Whether the host has booted since the mark was set.
    """

    def __init__(self, message: str, lines: tuple[KernelLine, ...], *, booted: bool) -> None:
        super().__init__(message)
        self.lines, self.booted = lines, booted
