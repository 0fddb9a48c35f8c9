"""A program on a server that waits for signals between exchanges. Begun once a run, and again after a boot."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from types import ModuleType
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from niclab.bench.records import OperatingSystem, Role
from niclab.core.verdict import BenchFault, NotApplicable, ended_by
from niclab.core.wait import Deadline
from niclab.hosts.errors import ReadError
from niclab.run import program, step_program
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.transports.ssh.ssh_job import FIRST_LINE

R = TypeVar("R", bound=BaseModel)

LASTS_S = 4 * 3600.0
"""The program ends by itself after this, and is begun again where the run lasts longer."""
BEGINS_WITHIN_S = 20.0
STEP_WITHIN_S = 60


class Agent:
    """A program on one server.

    Args:
        server: The server.
        name: What it is called in messages, such as ``frame program``.
        module: The program: it takes its folder and how long it may last, and prints ``ready`` and its PID.
        imported: Modules of niclab that it imports.

    Attributes:
        folder: Where it finds what it is to do.
        pid: Of its process, for signals.

    Raises:
        BenchFault: It does not begin in time; its words are in the message.
        NotApplicable: The server's system has no packet sockets.
    """

    def __init__(self, server: Server, name: str, module: ModuleType, *imported: ModuleType) -> None:
        require_packet_sockets(server, name)
        self._server, self.name = server, f"{server.name}: {name}"
        self._undoing = ExitStack()
        self._boots, self._age = server.boots_seen, Deadline(LASTS_S)
        with ExitStack() as on_error:
            on_error.callback(self.end)
            file = program.placed(self._undoing, server, module, *imported)
            self.folder = file.rpartition("/")[0]
            job = server.start(program.command(file, self.folder, LASTS_S), limit_s=LASTS_S + 60)
            self._undoing.callback(job.stop)
            said = job.await_begin(FIRST_LINE, f"{name} to begin", BEGINS_WITHIN_S)
            found = re.fullmatch(r"ready ([0-9]+)\n", said)
            if found is None:
                raise BenchFault(f"{self.name}: it said {said[:200]!r}; expected ready and its PID")
            self.pid = found[1]
            on_error.pop_all()

    @property
    def is_over(self) -> bool:
        """Has the server booted since, or is the program's own time over? It does not run then."""
        return self._boots != self._server.boots_seen or self._age.expired

    def end(self) -> None:
        """End it and remove its files; a server that has booted since has none of it."""
        with suppress(BenchFault):
            self._undoing.close()


class StepAgent(Agent):
    """A program that works in steps (:mod:`niclab.run.step_program`) on one server."""

    def __init__(self, server: Server, name: str, module: ModuleType, *imported: ModuleType) -> None:
        super().__init__(server, name, module, step_program, *imported)

    def do(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Let it do a step.

        Args:
            plan: The step.

        Returns:
            What it says of it.

        Raises:
            BenchFault: It fails; its words are in the message.
        """
        return self.said(self._server.run(self.command(plan), timeout_s=STEP_WITHIN_S + 10).stdout)

    @contextmanager
    def going_on(self, plan: Mapping[str, object], what: str) -> Iterator[Callable[[], dict[str, Any]]]:
        """Let it do a step that goes on until it is ended, or until the ``with`` block is; yields what ends it.

        Args:
            plan: The step, without the file while which it lasts.
            what: What begins, for the message.

        Raises:
            BenchFault: It does not begin in time, or fails; its words are in the message.
        """
        marker = f"{self.folder}/goes-on"
        command = self.command({**plan, "marker": marker, "seconds": STEP_WITHIN_S})
        job = self._server.start(command, limit_s=2 * STEP_WITHIN_S)

        def end() -> dict[str, Any]:
            self._server.run(f"rm -f {marker}")
            return self.said(job.wait(STEP_WITHIN_S).stdout)

        with ended_by(job.stop), ended_by(lambda: self._server.run(f"rm -f {marker}")):
            job.await_begin(f"[ -e {marker} ]", f"{what} to begin", BEGINS_WITHIN_S)
            yield end

    def command(self, plan: Mapping[str, Any], lasts_s: int = 0) -> str:
        """Return the command that lets it do a step, and prints what it says of it.

        Args:
            plan: The step.
            lasts_s: Time in s that the step lasts at least: until then nobody looks, as each look takes processor time.
        """
        wait = f"n=0; until [ -s result ]; do n=$((n+1)); [ $n -le {10 * STEP_WITHIN_S} ] || exit 1; sleep 0.1; done"
        begin = f"rm -f result && printf %s {shlex.quote(json.dumps(plan))} > plan && kill -USR1 {self.pid}"
        rest = f"sleep {lasts_s}; " if lasts_s else ""
        return f"cd {shlex.quote(self.folder)} && {begin} && {{ {rest}{wait}; cat result; }}"

    def said(self, text: str) -> dict[str, Any]:
        """Read what it says of a step.

        Args:
            text: What the command of the step has printed.

        Raises:
            BenchFault: It is something else, or the step failed; its words are in the message.
        """
        try:
            said = json.loads(text)
        except ValueError as error:
            raise ReadError(f"{text[:200]!r}; expected JSON", self.name) from error
        if not isinstance(said, dict) or "error" in said:
            raise BenchFault(f"{self.name}: {text[:400].strip()}")
        return said


def record_of(kind: type[R], said: Mapping[str, Any], expected: str) -> R:
    """Read what a program says of a step as a record.

    Args:
        kind: The record.
        said: Its words.
        expected: What they are to be, for the message.

    Raises:
        ReadError: They are something else.
    """
    try:
        return kind(**said)
    except ValidationError as error:
        raise ReadError(f"{str(said)[:200]}: {error.errors()[0]['msg']}; expected {expected}") from error


A = TypeVar("A", bound=Agent)


def running(run: Run, agents: dict[Role, A], role: Role, begin: Callable[[Server], A]) -> A:
    """Return the program that runs on a server, begun where none does.

    Args:
        run: The current run, at whose end it is ended.
        agents: Those that were begun; a new one is added.
        role: The server.
        begin: Begins one.
    """
    found = agents.get(role)
    if found is None or found.is_over:
        found = agents[role] = begin(run.server(role))
        run.ending.callback(found.end)
    return found


def require_packet_sockets(server: Server, name: str = "frame program") -> None:
    """Require that a program of packet sockets can run on a server.

    Args:
        server: The server.
        name: The program.

    Raises:
        NotApplicable: Its system has no packet sockets.
    """
    if server.description.os is not OperatingSystem.LINUX:
        system = server.description.os.value
        raise NotApplicable(f"{server.name} runs {system}: the {name} needs packet sockets of Linux")
