"""A scripted shell: exact commands, captured answers."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from niclab.hosts.host_commands import _ASKING


@dataclass(frozen=True)
class Answer:
    """The result of a command; ``raises`` is raised instead."""

    stdout: str = ""
    exit_status: int | None = 0
    stderr: str = ""
    raises: Exception | None = None


Script = str | Answer | list["str | Answer"] | Callable[[str], "str | Answer"]


_CHANGED, _SUM = '; echo "@ changed, status $?"; ', " && echo '@ checksum' && "
"""Between the two commands of one round trip: a change and what it left, settings and their checksum."""


class FakeShell:
    """Answers each command of the script; any other command fails the test.

    The script's key is the command without ``export LC_ALL=C;``, or its beginning when the key ends with ``...``. A
    list is used up one answer a call; a function gets the command.
    """

    def __init__(self, script: dict[str, Script]) -> None:
        self.script = script
        self.commands: list[str] = []
        self.timeouts_s: dict[str, float] = {}

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Answer:
        assert not check, "the host class tests the exit status itself"
        assert command.startswith("export LC_ALL=C; "), command
        command = command.removeprefix("export LC_ALL=C; ")
        self.commands.append(command)
        self.timeouts_s[command] = timeout_s
        if command.startswith(_ASKING):
            return Answer("".join(map(self._section, asked_in(command))))
        if _CHANGED in command:
            change, show = map(self._answer, command.split(_CHANGED))
            if change.exit_status is None:
                return change
            said = f"{change.stdout}@ changed, status {change.exit_status}\n{show.stdout}"
            return Answer(said, show.exit_status, change.stderr + show.stderr)
        if _SUM in command:
            shown, checksum = map(self._answer, command.split(_SUM))
            return Answer(f"{shown.stdout}@ checksum\n{checksum.stdout}", shown.exit_status, shown.stderr)
        return self._answer(command)

    def _section(self, command: str) -> str:
        answer = self._answer(command)
        return f"{answer.stdout}\n@ said\n{answer.stderr}\n@ ended {answer.exit_status}\n"

    def _answer(self, command: str) -> Answer:
        reply = self.script[self._key(command)]
        if isinstance(reply, list):
            assert reply, f"one answer too few for {command}"
            reply = reply.pop(0)
        elif callable(reply):
            reply = reply(command)
        answer = Answer(reply) if isinstance(reply, str) else reply
        if answer.raises is not None:
            raise answer.raises
        return answer

    def _key(self, command: str) -> str:
        if command in self.script:
            return command
        beginnings = [key for key in self.script if key.endswith("...") and command.startswith(key.removesuffix("..."))]
        assert len(beginnings) == 1, f"{len(beginnings)} scripted answers for {command!r}"
        return beginnings[0]


def asked_in(script: str) -> list[str]:
    """The commands of a script that runs several."""
    words = list(shlex.shlex(script.removeprefix(_ASKING), posix=True, punctuation_chars=";{}"))
    return [after for word, after in pairwise(words) if word == "niclab_ask"]


def failed(stderr: str, exit_status: int | None = 1) -> Answer:
    return Answer(exit_status=exit_status, stderr=stderr)


def lines(*values: object) -> str:
    return "".join(f"{value}\n" for value in values)
