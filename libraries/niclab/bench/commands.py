"""The bench's own commands: run on the controller, from the repository's root."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.files.yaml import REPOSITORY

COMMAND_WITHIN_S = 900.0
"""A bench's own commands may build an image first."""


def local_command(command: str, *, within_s: float = COMMAND_WITHIN_S) -> subprocess.CompletedProcess[str]:
    """Run a command of the bench file on the controller; the folder of this Python is first on its path.

    Args:
        command: The command line; no shell reads it.
        within_s: Deadline in seconds.

    Returns:
        The process that has ended, whatever its exit status.

    Raises:
        BenchFault: It runs past its deadline, or cannot be started.
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    try:
        return subprocess.run(
            shlex.split(command),
            cwd=REPOSITORY,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=within_s,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchFault(f"controller: {command!r}: {error}") from error


def checked_local_command(command: str, *, within_s: float = COMMAND_WITHIN_S) -> str:
    """Run a command that must succeed, like :func:`local_command`.

    Args:
        command: The command line; no shell reads it.
        within_s: Deadline in seconds.

    Returns:
        What it printed on standard output.

    Raises:
        BenchFault: It does not exit with status 0; the message holds the end of what it printed.
    """
    done = local_command(command, within_s=within_s)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-500:]
        raise BenchFault(f"controller: {command!r} failed with exit status {done.returncode}: {said}")
    return done.stdout


def names_in_servers(command: str) -> dict[str, str]:
    """Ask a command of the bench, ``inserted`` or ``systems``, which card or operating system each server has.

    Args:
        command: The command line; it prints the lines ``dut NAME`` and ``peer NAME``.

    Returns:
        Role -> name.

    Raises:
        BenchFault: It fails, or prints something else.
    """
    text = checked_local_command(command)
    rows = [line.split() for line in text.splitlines()]
    roles = [role.value for role in Role]
    if [row[0] for row in rows if len(row) == 2] != roles or len(rows) != len(roles):
        raise BenchFault(f"controller: {command!r} printed {text[:200]!r}, wanted lines 'dut NAME' and 'peer NAME'")
    return {row[0]: row[1] for row in rows}


def in_words(names: dict[str, str]) -> str:
    """Return ``dut NAME, peer NAME`` for messages.

    Args:
        names: Role -> name, as :func:`names_in_servers` returns it.
    """
    return ", ".join(f"{role} {name}" for role, name in names.items())
