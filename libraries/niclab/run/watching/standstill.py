"""Do both servers keep running while traffic is measured? A program on each of them tells when it was kept from it.

The programs are begun once a run: to begin one takes an emulated server two seconds, to ask it a hundredth of that.

A server that others take the processors from (a virtual one on a host that is shared, firmware that works in system
management mode) stalls for a while, and what flows meanwhile is no figure of the card.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, CardFailure, KernelFailure, Undecided
from niclab.core.wait import Deadline
from niclab.hosts.errors import ReadError
from niclab.run import program
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.watching import standstill_program
from niclab.transports.ssh.ssh import Result

PERIOD_MS = 20
LEAST_MS = 250
"""Assumption: an eighth of the shortest run. An emulated server under full load misses up to 0.1 s now and then."""
LEAST_OF_PINGS_MS = 150
"""Assumption: half the time for which the answer of a ping is waited for (``hosts.linux.ping.LAST_ANSWER_S``)."""
_THEN = "@ then"
LIMIT_S = 4 * 3600.0
"""The program ends by itself after this, and is begun again where the run lasts longer."""
LONGEST_S = 2 * 3600.0
"""No watch lasts longer: no measurement has a larger budget."""


@dataclass(frozen=True)
class Stood:
    """A server did not run for ``ms``."""

    server: str
    ms: int

    def __str__(self) -> str:
        return f"{self.server} stood still for {self.ms} ms"


Told = tuple[tuple[int, ...], ...]
"""Durations of each server's standstills, one after the other, in ms."""


class StandstillWatch:
    """The watch for standstills: the programs on both servers and their output so far.

    Args:
        programs: One on each server.
        least_ms: Shortest standstill that counts, in milliseconds.
    """

    def __init__(self, programs: Sequence[_Program], least_ms: int) -> None:
        self._programs, self._least_ms = tuple(programs), least_ms

    def told(self) -> Told:
        """One question to each server, side by side.

        Raises:
            BenchFault: When a program has ended, or has written something else.
        """
        return tuple(side_by_side(_Program.told, self._programs))

    def asking(self, role: Role, show: str) -> str:
        """Return the command that asks one server, and has it run another command in the same round trip.

        Args:
            role: The server.
            show: The other command, which must succeed.
        """
        return self._of(role).asking(show)

    def read(self, role: Role, command: str, answer: Result) -> tuple[tuple[int, ...], str]:
        """Read what :meth:`asking` printed.

        Args:
            role: The server.
            command: The other command.
            answer: The answer.

        Returns:
            What the program has written, and what the other command has printed.

        Raises:
            BenchFault: As :meth:`told`, or when the other command has failed.
        """
        return self._of(role).read(answer, command)

    def by_role(self, told: Mapping[Role, tuple[int, ...]]) -> Told:
        """Return what each program has written as :meth:`told` does.

        Args:
            told: Server -> what its program has written.
        """
        return tuple(told[each.server.role] for each in self._programs)

    def _of(self, role: Role) -> _Program:
        return next(each for each in self._programs if each.server.role is role)

    def between(self, before: Told, after: Told) -> tuple[Stood, ...]:
        """Return the standstills between two answers of :meth:`told`."""
        return tuple(
            Stood(program.server.name, ms)
            for program, early, late in zip(self._programs, before, after, strict=True)
            for ms in late[len(early) :]
            if ms >= self._least_ms
        )


class _Programs:
    """The programs of a run: begun when they are first needed, and again on a server that has booted."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._running: dict[Role, _Program] = {}

    def running(self) -> list[_Program]:
        """Each program."""
        return side_by_side(self._on, Role)

    def _on(self, role: Role) -> _Program:
        found = self._running.get(role)
        if found is None or found.is_over:
            found = self._running[role] = _Program(self._run.server(role))
            self._run.ending.callback(found.end)
        return found


class _Program:
    """One program on one server.

    Raises:
        BenchFault: It does not begin in time; its own words are in the message.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self._boots, self._age, self._is_gone = server.boots_seen, Deadline(LIMIT_S - LONGEST_S), False
        self._undoing = ExitStack()
        try:
            source = program.placed(self._undoing, server, standstill_program)
            self._file = f"{source}.told"
            command = program.command(source, self._file, PERIOD_MS, LEAST_OF_PINGS_MS, LIMIT_S)
            job = server.start(command, limit_s=LIMIT_S + 60)
            self._undoing.callback(job.stop)
            program.wait_until_ready(server, job, "watch for standstills")
        except BaseException:
            self.end()
            raise

    @property
    def is_over(self) -> bool:
        """Has the server booted since, is the program gone, or is its own time nearly over?"""
        return self._is_gone or self._boots != self.server.boots_seen or self._age.expired

    def told(self) -> tuple[int, ...]:
        return self.read(self.server.ssh.run(self.asking()))[0]

    def asking(self, then: str = "") -> str:
        name = shlex.quote(self._file)
        # all of it built into the shell: a process more costs an emulated server as much as the answer
        show, lives = 'while read -r line; do printf "%s\\n" "$line"; done', 'kill -0 "$pid"'
        ask = f"{show} < {name} && read -r _ pid < {name} && {lives}"
        return f"{ask} && echo '{_THEN}' && export LC_ALL=C && {then}" if then else ask

    def read(self, answer: Result, then: str = "") -> tuple[tuple[int, ...], str]:
        name = self.server.name
        told, separator, shown = answer.stdout.partition(f"{_THEN}\n")
        if not answer.succeeded:
            self._is_gone = not separator
            what = f"`{then}`" if separator else "the watch for standstills is gone"
            raise BenchFault(f"{name}: {what}: {answer.ending}: {answer.stderr.strip()[-200:]}")
        try:
            return read_told(told), shown
        except ReadError as error:
            raise error.about(f"{name}: watch for standstills") from error

    def end(self) -> None:
        """End it and remove its files; a server that has booted since has none of it."""
        with suppress(BenchFault):
            self._undoing.close()


def watch(run: Run, least_ms: int = LEAST_MS) -> StandstillWatch:
    """Watch both servers. The programs keep running until the run ends.

    Args:
        run: The qualification run.
        least_ms: Shortest standstill that counts, in milliseconds.

    Returns:
        The watch.

    Raises:
        BenchFault: When a program does not begin in time (its own words are in the message).
    """
    return StandstillWatch(run.part(_Programs).running(), least_ms)


@contextmanager
def blameless(run: Run, least_ms: int = LEAST_OF_PINGS_MS) -> Iterator[None]:
    """Blame the card for what fails inside the ``with`` block only if both servers kept running.

    For checks that a short standstill of a server fails by itself, such as pings that must all be answered.

    Args:
        run: The qualification run.
        least_ms: Shortest standstill that counts, in milliseconds.

    Raises:
        CardFailure: As the block raises it, when neither server stood still, or a kernel reported trouble.
        Undecided: In place of a CardFailure, when a server stood still meanwhile, or cannot be asked any more.
        BenchFault: When a server cannot be watched before.
    """
    both = watch(run, least_ms)
    before = both.told()
    try:
        yield
    except KernelFailure:
        raise
    except CardFailure as error:
        try:
            stood = both.between(before, both.told())
        except BenchFault as fault:
            raise Undecided(f"{error}\nmeanwhile {fault}; expected to see both keep running") from error
        if not stood:
            raise
        raise Undecided(f"{error}\nmeanwhile {', '.join(map(str, stood))}; expected both to keep running") from error


def read_told(text: str) -> tuple[int, ...]:
    """The standstills in what the program has written until now, in ms; its last line may not be whole yet.

    Raises:
        ReadError: When it is something else.
    """
    whole = text[: text.rfind("\n") + 1]
    if re.fullmatch(r"pid [0-9]+\n(?:stood [0-9]+\n)*", whole) is None:
        raise ReadError(f"{text[-200:]!r}; expected pid and a number, then lines of stood and a number")
    return tuple(map(int, re.findall(r"^stood ([0-9]+)$", whole, re.MULTILINE)))
