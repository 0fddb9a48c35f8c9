"""Do both servers keep running while traffic is measured? A program on each of them tells when it was kept from it.

A server that others take the processors from (a virtual one on a host that is shared, firmware that works in system
management mode) stalls for a while, and what flows meanwhile is no figure of the card.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.hosts.errors import ReadError
from niclab.run import program, standstill_program
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.transports.ssh import Job

PERIOD_MS = 20
LEAST_MS = 250
"""House rule: an eighth of the shortest run. An emulated server under full load misses up to 0.1 s now and then."""
LEAST_OF_PINGS_MS = 150
"""House rule: less than the 0.2 s that ping waits for the last answer."""
LIMIT_S = 2 * 3600.0
"""The program ends by itself after this; no session has a larger budget than an hour and a half."""


@dataclass(frozen=True)
class Stood:
    """A server did not run for ``ms``."""

    server: str
    ms: int

    def __str__(self) -> str:
        return f"{self.server} stood still for {self.ms} ms"


Told = tuple[tuple[int, ...], ...]
"""How long each server stood still, one time after the other, in ms."""


class StandstillWatch:
    """What the programs on both servers have written until now. ``files``: where."""

    def __init__(self, servers: tuple[Server, Server], files: Sequence[str]) -> None:
        self._servers, self._files = servers, tuple(files)

    def told(self) -> Told:
        """One question to each server, side by side.

        Raises:
            BenchFault: When a program has ended, or has written something else.
        """
        return tuple(side_by_side(lambda each: _ask(*each), zip(self._servers, self._files, strict=True)))

    def between(self, before: Told, after: Told) -> tuple[Stood, ...]:
        """What has come from one of :meth:`told` to another."""
        return tuple(
            Stood(server.name, ms)
            for server, early, late in zip(self._servers, before, after, strict=True)
            for ms in late[len(early) :]
        )


@contextmanager
def watched(servers: tuple[Server, Server], least_ms: int = LEAST_MS) -> Iterator[StandstillWatch]:
    """Watch both servers inside the ``with`` block. Nothing of it stays on them.

    Args:
        servers: The servers.
        least_ms: Shortest standstill that counts, in milliseconds.

    Yields:
        The watch.

    Raises:
        BenchFault: When a program does not begin in time (its own words are in the message).
    """
    jobs: list[Job] = []
    with ExitStack() as undoing:

        def begun(server: Server) -> str:
            source = program.placed(undoing, server, standstill_program)
            file = f"{source}.told"
            command = program.command(source, file, PERIOD_MS, least_ms, LIMIT_S)
            jobs.append(server.start(command, limit_s=LIMIT_S + 60))
            program.wait_until_ready(server, jobs[-1], "watch for standstills")
            return file

        try:
            yield StandstillWatch(servers, side_by_side(begun, servers))
        finally:
            side_by_side(lambda job: job.stop(), jobs)


@contextmanager
def blameless(run: Run, least_ms: int = LEAST_OF_PINGS_MS) -> Iterator[None]:
    """Blame the card for what fails inside the ``with`` block only if both servers kept running.

    For checks that a short standstill of a server fails by itself, such as pings that must all be answered.

    Args:
        run: The qualification run.
        least_ms: Shortest standstill that counts, in milliseconds.

    Raises:
        CardFailure: As the block raises it, when neither server stood still.
        Undecided: In place of a CardFailure, when a server stood still meanwhile.
        BenchFault: When a server cannot be watched.
    """
    with watched((run.server(Role.DUT), run.server(Role.PEER)), least_ms) as watch:
        before = watch.told()
        try:
            yield
        except CardFailure as error:
            if not (stood := watch.between(before, watch.told())):
                raise
            raise Undecided(f"{error}\nmeanwhile {', '.join(map(str, stood))}; expected: both keep running") from error


def _ask(server: Server, file: str) -> tuple[int, ...]:
    name = shlex.quote(file)
    # all of it built into the shell: a process more costs an emulated server as much as the answer
    show = f'while read -r line; do printf "%s\\n" "$line"; done < {name}'
    told = server.ssh.run(f'{show} && read -r _ pid < {name} && kill -0 "$pid"')
    if not told.succeeded:
        raise BenchFault(
            f"{server.name}: the watch for standstills is gone: {told.ending}: {told.stderr.strip()[-200:]}"
        )
    try:
        return read_told(told.stdout)
    except ReadError as error:
        raise error.about(f"{server.name}: watch for standstills") from error


def read_told(text: str) -> tuple[int, ...]:
    """The standstills in what the program has written until now, in ms; its last line may not be whole yet.

    Raises:
        ReadError: When it is something else.
    """
    whole = text[: text.rfind("\n") + 1]
    if re.fullmatch(r"pid [0-9]+\n(?:stood [0-9]+\n)*", whole) is None:
        raise ReadError(f"{text[-200:]!r}; wanted: pid and a number, then lines of stood and a number")
    return tuple(map(int, re.findall(r"^stood ([0-9]+)$", whole, re.MULTILINE)))
