"""A shell at the other end of a console: logging in, and running commands with their exit status.

A console is one stream: the echo of what is typed, prompts, escape sequences and kernel messages are in it. Commands
are therefore wrapped in two markers that the typed line does not contain in one piece.
"""

from __future__ import annotations

import re
import secrets
import shlex
from dataclasses import dataclass
from typing import Protocol

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.transports import AuthenticationFailed

ESCAPE_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\^_]|\x1b\][^\x07]*\x07")
_LINE_LIMIT = 1000  # of one typed line; the smallest line buffer met: 1024 (FreeBSD's TTYHOG)
_END = r"(?:\x1b\[[0-?]*[ -/]*[@-~])*\Z"
_PASSWORD = (  # "Password: " in English, German, French, Spanish, Portuguese, Polish, Czech, Russian, Chinese, Japanese
    r"(?:[Pp]assword|Passwort|Mot de passe|Contraseña|Senha|Palavra-passe|Hasło|Heslo|Пароль|密码|密碼|パスワード)"
    rf"(?: for \w+)?[ \u00a0\u202f]?[:\uff1a] ?{_END}"
)
_LOGIN = re.compile(
    # banners and messages of the day have all of these words, but neither alone on a line nor waiting behind them
    r"(?P<refused>^[\r ]*(?:Login incorrect|Authentication failure)\.?[\r ]*\n)"
    rf"|(?P<login>^[\r ]*(?:\S+ )?login: ?{_END})"
    rf"|(?P<password>{_PASSWORD})"
    rf"|(?P<prompt>[#$%>] ?{_END})",
    re.MULTILINE,
)
_NAMED = re.compile(
    rf"{_LOGIN.pattern}|^[\r ]*(?P<question>(?![^\n]*{_PASSWORD})[^\s:][^\n]*[:\uff1a]) ?{_END}", re.MULTILINE
)
"""The same once the user is named: what else ends in a colon may ask for the password, in another language."""
_NEXT = re.compile(r"\x1b(?:\[[0-?]*[ -/]*(?:[@-~]|\Z)|\Z)|(?P<word>(?=[^\x1b ]))")
RESTS_S = 0.3
"""Assumption: time in s for which a prompt is the last that was said. Console servers hand over within 0.1 s."""
_WAKE_EVERY_S = 2.0
_PROMPT_TEST_S = 5.0
_INTERRUPT = b"\x03"


class NotSeen(BenchFault):
    """The console did not say what was waited for."""


@dataclass(frozen=True)
class Match:
    """The match of a pattern. ``before`` is what came since the last match; ``groups`` are by name."""

    text: str
    before: str
    groups: dict[str, str | None]


class Terminal(Protocol):
    """The part of a console that talking to a shell needs."""

    @property
    def name(self) -> str: ...

    def expect(self, pattern: str | re.Pattern[str], within_s: float) -> Match: ...

    def skip(self) -> None: ...

    def send_line(self, text: str) -> None: ...

    def write(self, data: bytes) -> None: ...


def run(terminal: Terminal, command: str, within_s: float) -> tuple[int, str]:
    """See :meth:`niclab.transports.console.serial.SerialConsole.run`."""
    token = secrets.token_hex(4)
    script = f'echo nic""lab-{token}-begin; sh -c "$1"; echo nic""lab-{token}-end:$?'
    line = f"sh -c {shlex.quote(script)} run {shlex.quote(command)}"
    if "\n" in command or "\0" in command:
        raise BenchFault(f"{terminal.name}: a command on a console is one line without NUL, this is {command!r}")
    if len(line.encode()) > _LINE_LIMIT:
        raise BenchFault(
            f"{terminal.name}: a command on a console may have {_LINE_LIMIT} bytes with its markers, "
            f"this has {len(line.encode())}: {command[:60]!r}..."
        )
    deadline = Deadline(within_s)
    terminal.send_line(line)
    try:
        terminal.expect(rf"niclab-{token}-begin\r*\n", deadline.left)
        end = terminal.expect(rf"niclab-{token}-end:(?P<status>\d+)\r*\n", deadline.left)
    except NotSeen as error:
        terminal.write(_INTERRUPT)
        raise NotSeen(f"{terminal.name}: {command!r} did not end within {within_s:g} s: {error}") from error
    output = ESCAPE_SEQUENCE.sub("", end.before)
    return int(end.groups["status"] or ""), re.sub(r"\r+\n", "\n", output)


def login(terminal: Terminal, user: str, password: str, within_s: float) -> None:
    """See :meth:`niclab.transports.console.serial.SerialConsole.login`."""
    deadline = Deadline(within_s)
    terminal.skip()  # prompts of the past
    terminal.send_line("")
    named = answered = asked = False
    while not deadline.expired:
        try:
            found = terminal.expect(_NAMED if named and not asked else _LOGIN, min(_WAKE_EVERY_S, deadline.left)).groups
        except NotSeen:
            answered = False
            terminal.send_line("")
            continue
        question = found.get("question")
        if not found["refused"] and not _rests(terminal, deadline, _WAKE_EVERY_S if question else RESTS_S):
            continue
        if question:  # a Return would be an empty password, and pam_faillock counts those
            raise NotSeen(
                f"{terminal.name}: after user {user} it asks {question!r}; expected 'Password:' or a shell; "
                "set the language of the console's getty to English (LANG=C)"
            )
        if asked and not found["prompt"]:  # a second question for the password is a refusal too
            raise AuthenticationFailed(f"{terminal.name}: the login of user {user} was refused")
        if found["login"] and not answered:  # once answered, a further one is the answer to an earlier Return
            named = answered = True
            terminal.send_line(user)
        elif found["password"] and named:
            asked = True
            terminal.send_line(password)
        elif found["prompt"] and _is_shell(terminal, deadline):
            return
    raise NotSeen(f"{terminal.name}: no shell for user {user} within {within_s:g} s")


def greet(terminal: Terminal, within_s: float) -> None:
    """See :meth:`niclab.transports.console.serial.SerialConsole.greet`."""
    terminal.send_line("")
    try:
        terminal.expect(_LOGIN, within_s)
    except NotSeen as missing:
        raise NotSeen(f"{terminal.name}: no prompt within {within_s:g} s") from missing


def _rests(terminal: Terminal, deadline: Deadline, within_s: float) -> bool:
    """Return True if nothing follows what looks like a prompt: on a slow line each word of a banner comes alone."""
    rest = Deadline(min(within_s, deadline.left))
    try:
        while terminal.expect(_NEXT, rest.left).groups["word"] is None:
            pass
    except NotSeen:
        return True
    return False


def _is_shell(terminal: Terminal, deadline: Deadline) -> bool:
    """Return True if what looked like a prompt is one: text that ends in # or > is not always a shell."""
    try:
        return run(terminal, "true", min(_PROMPT_TEST_S, deadline.left)) == (0, "")
    except NotSeen:
        return False
