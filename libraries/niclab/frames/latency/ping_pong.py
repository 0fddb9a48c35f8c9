"""The ping-pong programs of both servers, and exchanges with them. Begun once a run, and again after a boot."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from niclab.bench.records import BenchPath, Port, Role
from niclab.core.parallel import side_by_side
from niclab.frames.frame_agents import port_addresses
from niclab.frames.latency import ping_pong_program
from niclab.frames.latency.round_trip_times import RoundTrips, read_round_trips
from niclab.frames.server_agent import StepAgent, running
from niclab.run.run import Run
from niclab.run.server import Server

PORT = 7113
OWN = "127.0.0.1"
LATE_S = 0.5
"""Assumption: a round trip that lasts longer is a stall. A driver that looks for lost interrupts does so every 2 s
(Linux: e1000e, igb and ixgbe, watchdog timer), others never; an emulated server that keeps running answers in a tenth.
"""
RESTS_S = (0.0002, 0.002)
"""An interrupt is lost when it comes as its queue is being switched back: at any moment after the last frame."""


@dataclass(frozen=True)
class Trips:
    """The round trips over one path, asked for by the dut."""

    path: BenchPath
    found: RoundTrips


class PingPong:
    """The programs of a run.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._running: dict[Role, _Agent] = {}

    def exchange(self, paths: Sequence[BenchPath], seconds: float) -> list[Trips]:
        """Let the dut ask the peer over each path, one after the other.

        Args:
            paths: The paths.
            seconds: Time in s over each.

        Returns:
            What became of the datagrams.

        Raises:
            BenchFault: A program does not begin, or fails; its words are in the message.
            NotApplicable: A server does not run Linux.
        """
        bench = self._run.bench
        agents = dict(zip(Role, side_by_side(self._on, Role), strict=True))
        ends = [{role: str(bench.address(bench.end(path, role)).ip) for role in Role} for path in paths]
        asker = agents[Role.DUT]
        with agents[Role.PEER].answering([each[Role.PEER] for each in ends]):
            return [Trips(path, asker.ask(each, seconds)) for path, each in zip(paths, ends, strict=True)]

    def inside(self, role: Role, seconds: float) -> RoundTrips:
        """Let a server ask itself, without any card: the measure of its own pace.

        Args:
            role: The server.
            seconds: Time in s.

        Raises:
            BenchFault: The program does not begin, or fails; its words are in the message.
            NotApplicable: The server does not run Linux.
        """
        agent = self._on(role)
        with agent.answering([OWN]):
            return agent.ask(dict.fromkeys(Role, OWN), seconds)

    def past(self, sender: Port, receiver: Port, seconds: float) -> RoundTrips:
        """Let the peer send frames from one of its ports to another one, with rests as between round trips.

        Args:
            sender: The port of the peer that sends.
            receiver: The other one, which the frames reach past the card.
            seconds: Time in s.

        Returns:
            Their times from sending to arrival; late is one that comes no sooner than the next one is sent.

        Raises:
            BenchFault: The program does not begin, or fails; its words are in the message.
            NotApplicable: The peer does not run Linux.
        """
        macs = port_addresses(self._run, [sender, receiver])
        here, there = map(self._run.interface, (sender, receiver))
        return self._on(Role.PEER).passing(here, there, macs[receiver] + macs[sender], seconds)

    def _on(self, role: Role) -> _Agent:
        return running(self._run, self._running, role, _Agent)


class _Agent(StepAgent):
    """The ping-pong program on one server."""

    def __init__(self, server: Server) -> None:
        super().__init__(server, "ping-pong program", ping_pong_program)

    @contextmanager
    def answering(self, addresses: Sequence[str]) -> Iterator[None]:
        """Let it answer at addresses inside the ``with`` block."""
        self.do({"do": "answer", "at": addresses, "port": PORT})
        try:
            yield
        finally:
            self.do({"do": "answer", "at": [], "port": PORT})

    def ask(self, addresses: Mapping[Role, str], seconds: float) -> RoundTrips:
        """Let it ask from the address of the dut at that of the peer."""
        return self._round(
            {"do": "ask", "from": addresses[Role.DUT], "to": addresses[Role.PEER], "port": PORT}, seconds
        )

    def passing(self, sender: str, receiver: str, macs: str, seconds: float) -> RoundTrips:
        """Let it send frames from one of its interfaces to another one; MACs of the receiver, then of the sender."""
        return self._round({"do": "pass", "from": sender, "to": receiver, "macs": macs}, seconds)

    def _round(self, step: Mapping[str, object], seconds: float) -> RoundTrips:
        plan = {
            **step,
            "seconds": seconds,
            "rest_s": RESTS_S,
            "late_s": LATE_S,
            "seed": secrets.randbits(32),
        }
        return read_round_trips(self.do(plan), LATE_S, self.name)
