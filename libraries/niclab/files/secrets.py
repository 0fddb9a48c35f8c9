"""Secrets by name: from the environment, else from a file outside the repository that only its owner can read.

A message names the secret and the places it was looked for, never a value.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from niclab.core.verdict import BenchFault

SHORTEST_SECRET = 6
"""Characters. A shorter secret cannot be masked: it is part of innocent words and numbers."""

_USED_BY_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITTEN_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_HANDED_OUT: dict[str, None] = {}


def handed_out() -> tuple[str, ...]:
    """Return every secret that this process has given out so far: what its log must mask, whichever bench it is of."""
    return tuple(_HANDED_OUT)


class Secrets:
    """The secrets of one bench.

    The file holds ``KEY=VALUE`` lines; blank lines and lines that begin with ``#`` are skipped; the value is everything
    after the first ``=``, as it is. It is read when a secret is first wanted that the environment does not have.

    Args:
        file: The ``secrets_file`` of the bench; None when there is none, then the environment must have them all.
        environment: Instead of the process environment.
    """

    def __init__(self, file: Path | None, environment: Mapping[str, str] | None = None) -> None:
        self._file = file
        self._environment = os.environ if environment is None else environment
        self._in_file: dict[str, str] | None = None
        self._handed_out: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Secrets(file={str(self._file)!r})"

    @property
    def handed_out(self) -> tuple[str, ...]:
        """Every value given out so far: what logs and evidence must mask."""
        return tuple(dict.fromkeys(self._handed_out.values()))

    def get(self, name: str) -> str:
        """Find the secret called ``name``; the environment wins.

        Args:
            name: Name of the secret, as in the bench file.

        Returns:
            The value.

        Raises:
            BenchFault: It is nowhere, empty or shorter than 6 characters, or the file is open to others or malformed.
        """
        value = self._environment.get(name)
        if value is None:
            value = self._from_file(name)
        elif not value:
            raise BenchFault(
                f"secret {name}: the environment variable is empty; expected the secret, or no such variable"
            )
        if len(value) < SHORTEST_SECRET:
            raise BenchFault(
                f"secret {name}: {len(value)} characters; expected at least {SHORTEST_SECRET}: "
                f"a shorter one cannot be masked in logs"
            )
        self._handed_out[name] = value
        _HANDED_OUT[value] = None
        return value

    def _from_file(self, name: str) -> str:
        if self._file is None:
            raise BenchFault(
                f"secret {name} is missing; expected an environment variable {name} "
                f"(the bench file names no secrets_file to look in)"
            )
        if self._in_file is None:
            self._in_file = _read(self._file, name)
        if name not in self._in_file:
            raise BenchFault(
                f"secret {name} is missing; expected an environment variable {name}, "
                f"or a line {name}=... in {self._file}"
            )
        return self._in_file[name]


def without_secrets(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Copy an environment for a program that needs no secret.

    Args:
        environment: The environment to copy, as a rule ``os.environ``.
        names: Names of the secrets, as a rule the ``secret_names`` of the bench.

    Returns:
        The environment without these variables.
    """
    secret = set(names)
    return {name: value for name, value in environment.items() if name not in secret}


def refuse_shared(file: Path, status: os.stat_result, what: str) -> None:
    """Make sure that a file with a secret belongs to this user (or root), who alone may use it.

    Args:
        file: The file, for the message.
        status: Its status; of the open file, where its content is read.
        what: The kind of file, for the message, like ``"key file"``.

    Raises:
        BenchFault: It belongs to another user, or group or others may use it.
    """
    _refuse_others(file, status, what, _USED_BY_OTHERS, "use", "chmod 600")


def refuse_writable(file: Path, status: os.stat_result, what: str) -> None:
    """Make sure that nobody else may change a file by which a server is recognized.

    Args:
        file: The file, for the message.
        status: Its status.
        what: The kind of file, for the message.

    Raises:
        BenchFault: It belongs to another user, or group or others may write it.
    """
    _refuse_others(file, status, what, _WRITTEN_BY_OTHERS, "write", "chmod go-w")


def _refuse_others(file: Path, status: os.stat_result, what: str, forbidden: int, use: str, mend: str) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        raise BenchFault(
            f"{file}: this {what} belongs to user {status.st_uid}; expected user {os.geteuid()}, who runs this, or root"
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & forbidden:
        raise BenchFault(
            f"{file}: group or others may {use} this {what} (mode {mode:04o}); expected nobody else: {mend} '{file}'"
        )


def _read(file: Path, name: str) -> dict[str, str]:
    """All secrets of a file. ``name`` is the secret it is read for."""
    try:
        with file.open(encoding="utf-8") as stream:
            refuse_shared(file, os.fstat(stream.fileno()), "secrets file")
            lines = stream.read().split("\n")
    except OSError as error:
        raise BenchFault(
            f"secret {name} is missing: {file} cannot be read ({error.strerror}); "
            f"expected an environment variable {name}, or a line {name}=... in that file"
        ) from error
    except UnicodeDecodeError:
        raise BenchFault(f"{file}: is not UTF-8 text; expected KEY=VALUE lines in UTF-8") from None  # it holds the text
    return _parse(file, lines)


def _parse(file: Path, lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    problems = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        if not equals or not re.fullmatch(r"[A-Z][A-Z0-9_]*", key):
            problems.append(f"{file}:{number}: not a secret (not shown); expected KEY=VALUE, KEY in capitals")
        elif key in found:
            problems.append(f"{file}:{number}: {key} is given again; expected each secret once")
        elif not value or value != value.strip() or (len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"):
            problems.append(
                f"{file}:{number}: {key} is empty, or in blanks or quotes; expected the bare secret after the ="
            )
        else:
            found[key] = value
    if problems:
        raise BenchFault("\n".join(problems))
    return found
