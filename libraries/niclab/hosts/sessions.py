"""A record of a terminal in which several commands stand one behind the other, cut into one part for each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from niclab.hosts.transcript import cleaned

# "[root@host ~]# ", "joe@host:~$ ", "root@host ~ # ", "host:~ # ": nothing that a tool prints begins so.
_PROMPT = re.compile(
    r"\s*(?:\[[^\]]{1,80}\]|[\w.-]{1,40}@[\w./-]{1,60}(?:[: ][~/]?\S{0,80})?|[\w.-]{1,40}:[~/]\S{0,80}) ?[#$%>]"
    r"(?: (.*))?"
)
_BARE_PROMPT = re.compile(r"\s*([#$%]) ?([a-z./].*)")
_LONGEST_PROMPT = 1000
_MOST_PARTS = 100  # more is no text that somebody shows
_SHORT_ANSWER = 3  # lines: an error message, the rest of a pipe


@dataclass(frozen=True)
class SessionPart:
    """``command`` as typed, None before the first prompt; ``text`` with the prompt and what stands below it."""

    command: str | None
    text: str

    @property
    def is_long(self) -> bool:
        """Whether more stands below the command than an error message."""
        return sum(bool(line.strip()) for line in self.text.split("\n")) - 1 > _SHORT_ANSWER

    def asks_as(self, other: SessionPart) -> bool:
        """Whether both ask the same tool with the same options, whatever the interface."""
        return self.command is not None and _question(self.command) == _question(other.command or "")


def parts_of_session(text: str) -> list[SessionPart]:
    """Each command with its prompt and what stands below it up to the next prompt; empty when there are not several,
    or far too many.

    What stands before the first prompt is a part of its own. A prompt that is nothing but its sign counts where the
    text begins with such a prompt.
    """
    lines = cleaned(text).split("\n")
    bare = _BARE_PROMPT.fullmatch(next((line for line in lines if line.strip()), "")[:_LONGEST_PROMPT])
    commands = [_command(line, bare[1] if bare else None) for line in lines]
    bounds = [0, *(at for at, command in enumerate(commands) if at and command is not None), len(lines)]
    parts = [SessionPart(commands[begin], "\n".join(lines[begin:end]) + "\n") for begin, end in pairwise(bounds)]
    filled = [part for part in parts if part.text.strip()]
    return filled if 1 < len(filled) <= _MOST_PARTS else []


def _command(line: str, sign: str | None) -> str | None:
    """The command behind a prompt, empty behind an empty one; None when the line is no prompt."""
    if not line or len(line) > _LONGEST_PROMPT:
        return None
    match = _PROMPT.fullmatch(line)
    if match is not None:
        return match[1] or ""
    bare = _BARE_PROMPT.fullmatch(line) if sign else None
    return bare[2] if bare is not None and bare[1] == sign else None


def _question(command: str) -> tuple[str, ...]:
    words = command.removeprefix("sudo ").split()
    return (*words[:1], *(word for word in words[1:] if word.startswith("-")))
