"""What a terminal adds to the output of a tool: the prompt with the command, a last empty prompt, carriage returns.

Nothing else is taken away. A line that is no prompt stays, also when it is an error message of the tool.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from niclab.hosts.errors import ReadError, unreadable
from niclab.hosts.reading import numbered

# "root@host:~ # ", "[root@host ~]$ ", "[root@host]~# ", "host# ", "# ".
_PATH = r"(?: ?[~/][A-Za-z0-9~/._-]{0,80})?"
_PROMPT = rf"(?:(?:\[[^\]]{{1,80}}\]|[A-Za-z][A-Za-z0-9@.:~/_-]{{0,80}}){_PATH}(?<!:))?\s?[#$%>❯]"
# The kernel's debugger has a prompt of its own, which is part of the log.
_EMPTY_PROMPT = re.compile(rf"(?!db>){_PROMPT}")
_NAMED_PROMPT = re.compile(rf"{_PROMPT}\s*(?=[A-Za-z/])(.+)")
_SURE_PROMPT = re.compile(
    r"(?:\[[^\s\]]{1,40}@[^\]]{1,80}\]|[A-Za-z0-9_.-]{1,40}@[A-Za-z0-9.-]{1,60}(?::[^ ]{0,80})?) ?[#$%>] \S.*"
)
_SIGN = re.compile(r"[#$%>❯]")
_LONGEST_PROMPT = 1000
# What a terminal multiplexer writes at the right edge while somebody copies from its history.
_COPY_MODE = re.compile(r"\s{8,}\[[0-9]{1,7}/[0-9]{1,7}\]$")


@dataclass(frozen=True)
class Transcript:
    """``lines``: number and text of each line that is not blank and no prompt, blanks at its end removed.
    ``command``: the command that was echoed before the output, None when there is no such line."""

    lines: tuple[tuple[int, str], ...]
    command: str | None


def transcript(kind: str, text: str, *tools: str, session: bool = False) -> Transcript:
    """The output of one of ``tools`` without prompts.

    A line with a prompt is taken away when it names one of the tools; the first line may be the bare command; empty
    prompts at the end are taken away. Another command after its user's prompt is an error, unless the text may hold a
    whole ``session`` (a console).

    :raises ReadError: for the output of another tool behind this one's.
    """
    stripped = ((number, line.strip("\x00").rstrip()) for number, line in numbered(text))
    lines = [(number, _COPY_MODE.sub("", line) if line.endswith("]") else line) for number, line in stripped if line]
    while lines and _EMPTY_PROMPT.fullmatch(lines[-1][1].strip()[:_LONGEST_PROMPT]):
        lines.pop()
    command: str | None = None
    kept: list[tuple[int, str]] = []
    for number, line in lines:
        if kept and not _SIGN.search(line):
            kept.append((number, line))
            continue
        echoed = _echoed(line, tools, bare=not kept)
        if echoed is not None:
            command = command or echoed
        elif not session and _SURE_PROMPT.fullmatch(line.strip()[:_LONGEST_PROMPT]):
            raise unreadable(kind, f"line {number}", line, f"the output of {' or '.join(tools)} only")
        else:
            kept.append((number, line))
    return Transcript(tuple(kept), command)


def command_words(command: str | None) -> list[str]:
    """The words of the first command of a line, without what it is piped into; none when it cannot be split."""
    lexer = shlex.shlex(command or "", posix=True, punctuation_chars="|;&")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return []
    ends = [at for at, word in enumerate(words) if not word.strip("|;&")]
    return words[: ends[0]] if ends else words


def _echoed(line: str, tools: tuple[str, ...], *, bare: bool) -> str | None:
    """The command on this line, when it calls one of the tools."""
    line = line.strip()
    if len(line) > _LONGEST_PROMPT:
        return None
    match = _NAMED_PROMPT.fullmatch(line)
    command = match[1] if match else line if bare else None
    if command is None:
        return None
    return command if any(_called(part) in tools for part in re.split(r"[;|&]+", command)) else None


def _called(command: str) -> str | None:
    """The tool that a simple command calls."""
    names = [word.rpartition("/")[2] for word in command.split()]
    return next((name for name in names if name not in ("sudo", "doas", "time")), None)


def refuse_error(kind: str, lines: tuple[tuple[int, str], ...], tools: tuple[str, ...], expected: str) -> ReadError:
    """The error for a text that holds nothing but complaints (or nothing): it names the first complaint."""
    for number, line in lines:
        if line.strip().startswith(tuple(f"{tool}: " for tool in tools)):
            return unreadable(kind, f"line {number}", line, expected)
    return unreadable(kind, "text", "\n".join(line for _, line in lines), expected)
