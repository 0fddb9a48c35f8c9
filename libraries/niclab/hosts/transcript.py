"""What a terminal adds to the output of a tool: the prompt with the command, a last empty prompt, carriage returns.

Nothing else is taken away. A line that is no prompt stays, also when it is an error message of the tool.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.hosts.reading import numbered

# "root@host:~ # ", "[root@host ~]$ ", "host# ", "# ": at most 80 characters before the sign.
_PROMPT = r"(?:\[[^\]]{1,80}\]|[A-Za-z0-9(][A-Za-z0-9@.:~/_()-]{0,80}(?: ?[~/][A-Za-z0-9~/._-]{0,80})?)?\s?[#$%>]"
_EMPTY_PROMPT = re.compile(_PROMPT)
_NAMED_PROMPT = re.compile(rf"{_PROMPT}\s*(?=[A-Za-z/.(])(.+)")
_LONGEST_PROMPT = 1000
# Words that may stand before the tool's name: they run it as somebody else, elsewhere or with a limit.
_RUNNERS = frozenset(("sudo", "doas", "time", "nice", "taskset", "timeout", "ip", "chroot", "numactl", "ssh", "env"))


@dataclass(frozen=True)
class Transcript:
    """``lines``: number and text of each line that is no prompt, blanks at its end removed; blank lines stay.
    ``command``: the command that was echoed before the output, None when there is no such line."""

    lines: tuple[tuple[int, str], ...]
    command: str | None

    @property
    def filled(self) -> tuple[tuple[int, str], ...]:
        """The lines that are not blank."""
        return tuple((number, line) for number, line in self.lines if line)


def transcript(text: str, *tools: str) -> Transcript:
    """The output of one of ``tools`` without prompts.

    A line with a prompt is taken away when it names one of the tools, or when it is the last line and names none. The
    first line may be the bare command.
    """
    lines = [(number, line.strip("\x00").rstrip()) for number, line in numbered(text)]
    filled = [number for number, line in lines if line]
    command: str | None = None
    kept: list[tuple[int, str]] = []
    for number, line in lines:
        echoed = _echoed(line, tools, bare=bool(filled) and number == filled[0])
        if echoed is not None:
            command = command or echoed
        elif not (filled and number == filled[-1] and _EMPTY_PROMPT.fullmatch(line.strip()[:_LONGEST_PROMPT])):
            kept.append((number, line))
    return Transcript(tuple(kept), command)


def _echoed(line: str, tools: tuple[str, ...], *, bare: bool) -> str | None:
    """The command on this line, when it calls one of the tools."""
    line = line.strip()
    if not line or len(line) > _LONGEST_PROMPT:
        return None
    match = _NAMED_PROMPT.fullmatch(line)
    command = match[1] if match else line if bare else None
    if command is None:
        return None
    words = command.split()
    names = [word.rpartition("/")[2] for word in words]
    runs_another = names[0] in _RUNNERS or re.fullmatch(r"[A-Za-z_]\w{0,80}=.*", words[0]) is not None
    calls = names[0] in tools or (runs_another and any(name in tools for name in names[1:]))
    return command if calls else None
