"""The frame program on both servers, and exchanges with it. Begun once a run, and again on a server that booted."""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from niclab.bench.records import Port, Role
from niclab.core.parallel import at_once, side_by_side
from niclab.core.verdict import BenchFault, ended_by
from niclab.frames import frame_arrivals, frame_content, frame_program, frame_sockets, scattered
from niclab.frames.answers import ServerAnswer, read_answer, read_gaps
from niclab.frames.server_agent import Agent, running
from niclab.frames.spec import FramePlan
from niclab.frames.wire import packet, wire_capture
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.run.server import Server

T = TypeVar("T")

IMPORTED = (frame_content, frame_arrivals, frame_sockets, scattered, packet, wire_capture)
SENDS = ": frame_program;"
"""Marks the command that lasts as long as frames are sent; a shell does nothing for it."""
QUICK_LOOKS = 20
"""A server looks so often each tenth of a second, and each half a second later: under load a look is dear."""
OPENS_WITHIN_S, ENDS_WITHIN_S = 20, 20


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
            What each server said that has ports in the plan.

        Raises:
            BenchFault: A program does not begin, or fails; its words are in the message.
            NotApplicable: A server cannot send frames of its own.
        """
        interfaces = {port: self._run.interface(port) for port in plan.ports}
        agents = side_by_side(self._on, plan.roles)
        token = secrets.randbits(32)
        side_by_side(lambda each: each.open(json.dumps(plan.words(each.role, interfaces.__getitem__, token))), agents)
        try:
            answers = self._carried_out(plan, agents, meanwhile)
        except BenchFault:  # a program that failed knows no more which signal means what
            while self._running:
                self._running.popitem()[1].end()
            raise
        return dict(zip(plan.roles, answers, strict=True))

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
        return running(self._run, self._running, role, _Agent)


def _stopped_after(meanwhile: Callable[[], object], agents: Sequence[_Agent]) -> None:
    with ended_by(lambda: side_by_side(lambda each: each.stop(), agents)):
        meanwhile()


class _Agent(Agent):
    """The frame program on one server."""

    def __init__(self, server: Server) -> None:
        super().__init__(server, "frame program", frame_program, *IMPORTED)
        self.role = server.role

    def open(self, plan: str) -> None:
        """Let it open what a plan names.

        Raises:
            BenchFault: It cannot; its words are in the message.
        """
        self._server.ssh.put_text(plan, f"{self.folder}/plan")
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
        self._server.run(f"kill -USR1 {self.pid}")

    def _step(self, first: str, awaited: str, within_s: float, sent: str = "USR1") -> str:
        """Signal it, and wait on the server for the file that it writes, or for its result, which may be an error."""
        look = f"[ -s {awaited} ] || [ -s result ]"
        looks = QUICK_LOOKS + round(2 * within_s)
        nap = f"if [ $n -le {QUICK_LOOKS} ]; then sleep 0.1; else sleep 0.5; fi"
        wait = f"n=0; until {look}; do n=$((n+1)); [ $n -le {looks} ] || exit 1; {nap}; done"
        show = f"if [ -s {awaited} ]; then cat {awaited}; else cat result; fi"
        command = f"cd {shlex.quote(self.folder)} && {{ {first} kill -{sent} {self.pid}; }} && {{ {wait}; {show}; }}"
        return self._server.run(command, timeout_s=within_s + 10).stdout

    def _read(self, text: str) -> ServerAnswer:
        return self._understood(text, read_answer)

    def _understood(self, text: str, reader: Callable[[str], T]) -> T:
        try:
            return reader(text)
        except ReadError as error:
            raise error.about(self.name) from error


def port_addresses(run: Run, ports: list[Port]) -> dict[Port, str]:
    """The MAC addresses that ports have now.

    Raises:
        BenchFault: A port has none.
    """

    found = {port: shown.mac for port, shown in run.shown(ports).items()}
    if nameless := [port.place for port, mac in found.items() if not mac]:
        raise BenchFault(f"{', '.join(nameless)}: its interface has no MAC address")
    return {port: mac for port, mac in found.items() if mac}
