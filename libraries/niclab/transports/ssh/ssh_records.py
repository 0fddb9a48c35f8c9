"""what an SSH connection needs and what a command gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

_TAIL_CHARACTERS = 300


@dataclass(frozen=True)
class SshEndpoint:
    """The address and the login of a host.

    ``name`` is the subject of every message ("dut"). At least one of ``key_file`` and ``password`` is needed.
    ``known_hosts`` is an OpenSSH known_hosts file; a host whose key is not in it is refused. ``jump`` is logged in to
    first, with its own key and known_hosts file. ``sudo``: ``user`` becomes root by sudo for every command and file.
    """

    name: str
    address: str
    port: int
    user: str
    key_file: Path | None
    known_hosts: Path
    jump: SshEndpoint | None = None
    password: str | None = field(default=None, repr=False)
    sudo: bool = False

    @property
    def place(self) -> str:
        """``address:port``, for messages."""
        return f"{self.address}:{self.port}"


@dataclass(frozen=True)
class Result:
    """The result of a command that ended.

    ``exit_status`` is None when a signal ended it; ``signal`` is then the name without SIG ("KILL"), else None.
    Output that is not UTF-8 has U+FFFD in place of each wrong byte. ``seconds`` is the run time without the time it
    took to connect.
    """

    command: str
    exit_status: int | None
    signal: str | None
    stdout: str
    stderr: str
    seconds: float

    @property
    def succeeded(self) -> bool:
        """Exit status 0 and no signal."""
        return self.exit_status == 0

    @property
    def ending(self) -> str:
        """In words: ``exit status 2`` or ``killed by SIGSEGV``."""
        return f"exit status {self.exit_status}" if self.signal is None else f"killed by SIG{self.signal}"


def tail(output: str) -> str:
    """The end of ``output``, quoted and short enough for a message."""
    text = output.strip()
    if not text:
        return "nothing"
    return repr(text if len(text) <= _TAIL_CHARACTERS else "..." + text[-_TAIL_CHARACTERS:])
