"""Looks at the two ends of a run: CPU loads, what the ports have counted, and whether the servers stood still.

Each is one question: it costs the bench a moment. The sender looks in the very command that sends.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from signal import Signals

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.hosts.counts.load_records import Load
from niclab.run.server import Server
from niclab.run.watching.standstill import StandstillWatch
from niclab.transports.ssh.ssh import Result

_SIGNALLED = 128
"""A shell reports an end by signal N as this and N."""
_SIGNALS = frozenset(Signals)
_BEGINS, _ENDED = "@ client", "@ client ended"


@dataclass(frozen=True)
class EndLook:
    """One look at one end. ``at``: s of the controller's monotonic clock; ``told``: all standstills until then."""

    at: float
    load: Load
    told: tuple[int, ...]


class Looks:
    """Looks at servers, each at its interface.

    Args:
        watch: Of both servers.
        interfaces: The interface of each server whose counters are read.
    """

    def __init__(self, watch: StandstillWatch, interfaces: Mapping[Role, str]) -> None:
        self._watch, self._interfaces = watch, interfaces

    def at(self, server: Server) -> EndLook:
        """EndLook at a server.

        Args:
            server: The server.

        Raises:
            BenchFault: It does not answer, or its watch for standstills has ended.
        """
        answer = server.ssh.run(self._asking(server))
        return self._read(server, time.monotonic(), answer)

    def around(self, server: Server, command: str, timeout_s: float) -> tuple[Result, EndLook, EndLook]:
        """Run a command on a server, which looks just before it and just after it.

        Args:
            server: The server.
            command: The command.
            timeout_s: Deadline in seconds.

        Returns:
            How the command ended, and both looks.

        Raises:
            BenchFault: As :meth:`at`.
        """
        began, ask = time.monotonic(), self._asking(server)
        ended = server.ssh.run(surrounded(command, ask), timeout_s=timeout_s)
        first, result, last = parts_of(server.name, command, ended)
        return result, self._read(server, began, first), self._read(server, began + ended.seconds, last)

    def _asking(self, server: Server) -> str:
        return self._watch.asking(server.role, self._load_command(server))

    def _read(self, server: Server, at: float, answer: Result) -> EndLook:
        told, shown = self._watch.read(server.role, self._load_command(server), answer)
        return EndLook(at, server.host.counts.read_load(self._interfaces[server.role], shown), told)

    def _load_command(self, server: Server) -> str:
        return server.host.counts.load_command(self._interfaces[server.role])


def surrounded(command: str, ask: str) -> str:
    """Return the shell text that asks, runs a command whatever the answer was, and asks again.

    Args:
        command: The command.
        ask: The question.
    """
    return f'{ask}\necho "{_BEGINS} $?"\n{command}\nprintf \'\\n{_ENDED} %s\\n\' "$?"\n{ask}'


def parts_of(name: str, command: str, ended: Result) -> tuple[Result, Result, Result]:
    """Divide the result of :func:`surrounded` into those of its three commands. What they wrote to stderr is in each.

    Args:
        name: Of the server, for the message.
        command: The command.
        ended: How all of it ended.

    Raises:
        BenchFault: It ended before the last question.
    """
    first, _, rest = ended.stdout.partition(f"{_BEGINS} ")
    asked, _, rest = rest.partition("\n")
    said, _, rest = rest.rpartition(f"\n{_ENDED} ")
    status, _, last = rest.partition("\n")
    if not asked.isdecimal() or not status.isdecimal():
        raise BenchFault(f"{name}: `{command}`: {ended.ending}: {ended.stderr.strip()[-200:]}")
    number = int(status)
    by_signal = Signals(number - _SIGNALLED).name.removeprefix("SIG") if number - _SIGNALLED in _SIGNALS else None
    return (
        replace(ended, exit_status=int(asked), signal=None, stdout=first),
        replace(ended, command=command, exit_status=None if by_signal else number, signal=by_signal, stdout=said),
        replace(ended, stdout=last),
    )
