"""The frame program on both servers, and exchanges with it. Begun once a run, and again on a server that booted."""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import TypeVar

from niclab.bench.records import OperatingSystem, Port, Role
from niclab.core.parallel import at_once, side_by_side
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import Deadline
from niclab.frames import frame_arrivals, frame_content, frame_program, frame_sockets
from niclab.frames.answers import ServerAnswer, read_answer, read_gaps
from niclab.frames.spec import FramePlan
from niclab.frames.wire import packet, wire_capture
from niclab.hosts.errors import ReadError
from niclab.run import program
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.transports.ssh.ssh_job import FIRST_LINE

T = TypeVar("T")

IMPORTED = (frame_content, frame_arrivals, frame_sockets, packet, wire_capture)
LASTS_S = 4 * 3600.0
"""The program ends by itself after this, and is begun again where the run lasts longer."""
SENDS = ": frame_program;"
"""Marks the command that lasts as long as frames are sent; a shell does nothing for it."""
QUICK_LOOKS = 20
"""A server looks so often each tenth of a second, and each half a second later: under load a look is dear."""
OPENS_WITHIN_S, ENDS_WITHIN_S, BEGINS_WITHIN_S = 20, 20, 20.0


class FrameAgents:
    """The programs of a run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._running: dict[Role, _Agent] = {}

    def exchange(self, plan: FramePlan, meanwhile: Callable[[], object] | None = None) -> Mapping[Role, ServerAnswer]:
        """Send and receive as planned.

        Args:
            plan: The plan.
            meanwhile: What is done while frames flow; when it is over, a plan that lasts until then is stopped.

        Returns:
            What each server said.

        Raises:
            BenchFault: A program does not begin, or fails; its words are in the message.
            NotApplicable: A server cannot send frames of its own.
        """
        interfaces = {port: self._run.interface(port) for port in plan.ports}
        agents = side_by_side(self._on, Role)
        token = secrets.randbits(32)
        side_by_side(lambda each: each.open(json.dumps(plan.words(each.role, interfaces.__getitem__, token))), agents)
        try:
            answers = self._carried_out(plan, agents, meanwhile)
        except BenchFault:  # a program that failed knows no more which signal means what
            while self._running:
                self._running.popitem()[1].end()
            raise
        return dict(zip(Role, answers, strict=True))

    @staticmethod
    def _carried_out(
        plan: FramePlan, agents: Sequence[_Agent], meanwhile: Callable[[], object] | None
    ) -> list[ServerAnswer]:
        def carry_out() -> list[ServerAnswer]:
            return side_by_side(lambda each: each.carry_out(plan.limit_s), agents)

        return carry_out() if meanwhile is None else at_once(carry_out, lambda: _stopped_after(meanwhile, agents))[0]

    def gaps(self, within_s: float) -> dict[int, float]:
        """Wait until every flow of the exchange that is going on flows, and look how long each had stood still.

        Args:
            within_s: Seconds to wait at most.

        Returns:
            The longest gap in s of each flow since the last look; of one that does not flow, the gap until now.

        Raises:
            BenchFault: A program fails; its words are in the message.
        """
        found = side_by_side(lambda role: self._running[role].gaps(within_s), Role)
        return {flow: gap_s for gaps in found for flow, gap_s in gaps.items()}

    def _on(self, role: Role) -> _Agent:
        found = self._running.get(role)
        if found is None or found.is_over:
            found = self._running[role] = _Agent(self._run.server(role))
            self._run.ending.callback(found.end)
        return found


def _stopped_after(meanwhile: Callable[[], object], agents: Sequence[_Agent]) -> None:
    try:
        meanwhile()
    finally:
        side_by_side(lambda each: each.stop(), agents)


class _Agent:
    """The program on one server.

    Raises:
        BenchFault: It does not begin in time; its words are in the message.
        NotApplicable: The server's system has no packet sockets.
    """

    def __init__(self, server: Server) -> None:
        require_packet_sockets(server)
        self._server, self.role = server, server.role
        self._undoing = ExitStack()
        self._boots, self._age = server.boots_seen, Deadline(LASTS_S)
        try:
            file = program.placed(self._undoing, server, frame_program, *IMPORTED)
            self._folder = shlex.quote(file.rpartition("/")[0])
            job = server.start(program.command(file, file.rpartition("/")[0], LASTS_S), limit_s=LASTS_S + 60)
            self._undoing.callback(job.stop)
            said = job.await_begin(FIRST_LINE, "frame program to begin", BEGINS_WITHIN_S)
            found = re.fullmatch(r"ready ([0-9]+)\n", said)
            if found is None:
                raise BenchFault(f"{server.name}: frame program: it said {said[:200]!r}; expected: ready and its PID")
            self._pid = found[1]
        except BaseException:
            self.end()
            raise

    @property
    def is_over(self) -> bool:
        """Has the server booted since, or is the program's own time over? It does not run then."""
        return self._boots != self._server.boots_seen or self._age.expired

    def open(self, plan: str) -> None:
        """Let it open what a plan names.

        Raises:
            BenchFault: It cannot; its words are in the message.
        """
        self._server.ssh.put_text(plan, f"{self._folder}/plan")
        said = self._step("rm -f opened result;", "opened", OPENS_WITHIN_S)
        if said != "opened\n":
            self._read(said)

    def carry_out(self, limit_s: float) -> ServerAnswer:
        """Let it send and receive.

        Raises:
            BenchFault: It fails; its words are in the message.
        """
        return self._read(self._step(SENDS, "result", limit_s + ENDS_WITHIN_S))

    def gaps(self, within_s: float) -> dict[int, float]:
        """Let it look whether its flows flow.

        Raises:
            BenchFault: It fails; its words are in the message.
        """
        said = self._step(f"rm -f gaps; echo {within_s} > again;", "gaps", within_s + OPENS_WITHIN_S, "USR2")
        return self._understood(said, read_gaps)

    def stop(self) -> None:
        """Let it end what would last until now."""
        self._server.run(f"kill -USR1 {self._pid}")

    def end(self) -> None:
        """End it and remove its files; a server that has booted since has none of it."""
        with suppress(BenchFault):
            self._undoing.close()

    def _step(self, first: str, awaited: str, within_s: float, sent: str = "USR1") -> str:
        """Signal it, and wait on the server for the file that it writes, or for its result, which may be an error."""
        look = f"[ -s {awaited} ] || [ -s result ]"
        looks = QUICK_LOOKS + round(2 * within_s)
        nap = f"if [ $n -le {QUICK_LOOKS} ]; then sleep 0.1; else sleep 0.5; fi"
        wait = f"n=0; until {look}; do n=$((n+1)); [ $n -le {looks} ] || exit 1; {nap}; done"
        show = f"if [ -s {awaited} ]; then cat {awaited}; else cat result; fi"
        command = f"cd {self._folder} && {{ {first} kill -{sent} {self._pid}; }} && {{ {wait}; {show}; }}"
        return self._server.run(command, timeout_s=within_s + 10).stdout

    def _read(self, text: str) -> ServerAnswer:
        return self._understood(text, read_answer)

    def _understood(self, text: str, reader: Callable[[str], T]) -> T:
        try:
            return reader(text)
        except ReadError as error:
            raise error.about(f"{self._server.name}: frame program") from error


def require_packet_sockets(server: Server) -> None:
    """Require that the frame program can run on a server.

    Args:
        server: The server.

    Raises:
        NotApplicable: Its system has no packet sockets.
    """
    if server.description.os is not OperatingSystem.LINUX:
        name = server.description.os.value
        raise NotApplicable(f"{server.name} runs {name}: the frame program needs packet sockets of Linux")


def port_addresses(run: Run, ports: list[Port]) -> dict[Port, str]:
    """The MAC addresses that ports have now.

    Raises:
        BenchFault: A port has none.
    """

    found = {port: shown.mac for port, shown in run.shown(ports).items()}
    if nameless := [port.place for port, mac in found.items() if not mac]:
        raise BenchFault(f"{', '.join(nameless)}: its interface has no MAC address")
    return {port: mac for port, mac in found.items() if mac}
