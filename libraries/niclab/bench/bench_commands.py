"""The bench's own commands: run on the controller, from the repository's root."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.files.environment import plain_environment
from niclab.files.repository import REPOSITORY

COMMAND_WITHIN_S = 900.0
"""A bench's own commands may build an image first."""
_AGENT = "SSH_AUTH_SOCK"
"""Commands of real benches are calls of SSH."""


class Controller:
    """Runs the bench's own commands: with a plain environment, and within its lock.

    A command that outlives a killed run keeps the bench locked until it ends: no other run undoes while it works.

    Args:
        variables: Names of the variables of the environment that a command gets as well, by the bench file.
        lock: Returns the open file whose lock a command keeps; None when nothing is locked.
    """

    def __init__(self, variables: Iterable[str] = (), lock: Callable[[], int | None] = lambda: None) -> None:
        self._variables, self._lock = (_AGENT, *variables), lock

    def run(self, command: str, *, within_s: float = COMMAND_WITHIN_S) -> subprocess.CompletedProcess[str]:
        """Run a command of the bench file; the folder of this Python is first on its path.

        Args:
            command: The command line; no shell reads it.
            within_s: Deadline in seconds.

        Returns:
            The process that has ended, whatever its exit status.

        Raises:
            BenchFault: It runs past its deadline, or cannot be started.
        """
        environment = plain_environment(self._variables)
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        lock = self._lock()
        try:
            return subprocess.run(
                shlex.split(command),
                cwd=REPOSITORY,
                env=environment,
                capture_output=True,
                text=True,
                timeout=within_s,
                stdin=subprocess.DEVNULL,
                check=False,
                pass_fds=() if lock is None else (lock,),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BenchFault(f"controller: {command!r}: {error}") from error

    def check(self, command: str, *, within_s: float = COMMAND_WITHIN_S) -> str:
        """Run a command that must succeed, like :meth:`run`.

        Args:
            command: The command line; no shell reads it.
            within_s: Deadline in seconds.

        Returns:
            What it printed on standard output.

        Raises:
            BenchFault: It does not exit with status 0; the message holds the end of what it printed.
        """
        done = self.run(command, within_s=within_s)
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-500:]
            raise BenchFault(f"controller: {command!r} failed with exit status {done.returncode}: {said}")
        return done.stdout

    def names_in_servers(self, command: str) -> dict[str, str]:
        """Ask a command of the bench, ``inserted`` or ``systems``, which card or operating system each server has.

        Args:
            command: The command line; it prints the lines ``dut NAME`` and ``peer NAME``.

        Returns:
            Role -> name.

        Raises:
            BenchFault: It fails, or prints something else.
        """
        text = self.check(command)
        rows = [line.split() for line in text.splitlines()]
        roles = [role.value for role in Role]
        if [row[0] for row in rows if len(row) == 2] != roles or len(rows) != len(roles):
            raise BenchFault(
                f"controller: {command!r} printed {text[:200]!r}; expected lines 'dut NAME' and 'peer NAME'"
            )
        return {row[0]: row[1] for row in rows}


def in_words(names: dict[str, str]) -> str:
    """Return ``dut NAME, peer NAME`` for messages.

    Args:
        names: Role -> name, as :meth:`Controller.names_in_servers` returns it.
    """
    return ", ".join(f"{role} {name}" for role, name in names.items())
