"""The flood programs of both servers: the peer sends more than the dut takes, and the dut counts the frames it gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from niclab.bench.records import Port, Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import ended_by
from niclab.frames.frame_agents import port_addresses
from niclab.frames.pauses import flood_program
from niclab.frames.server_agent import StepAgent, running
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.run.server import Server

SENT_WITHIN_S = 4.0
"""Assumption: longer than a receiver of ours takes to hand over what it holds, at the rate of an emulated path."""
PACED_S = 4.0


@dataclass(frozen=True)
class Flooded:
    """One flood: frames that the peer's port took, bytes of them that it has not sent, and frames that the dut got."""

    sent: int
    waiting: int
    heard: int


class FloodAgents:
    """The programs of a run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._running: dict[Role, StepAgent] = {}

    @contextmanager
    def listening(self, ports: Sequence[Port]) -> Iterator[None]:
        """Count the frames that come in at ports of the dut inside the ``with`` block.

        Args:
            ports: The ports.

        Raises:
            BenchFault: A program does not begin, or fails; its words are in the message.
            NotApplicable: A server does not run Linux.
        """
        dut, _ = side_by_side(self._on, Role)
        dut.do({"do": "listen", "ifaces": [self._run.interface(port) for port in ports]})
        with ended_by(lambda: dut.do({"do": "end"})):
            yield

    def flood(self, ports: Sequence[Port], seconds: float) -> dict[Port, Flooded]:
        """Let the partner of each port send as many frames to it as it can.

        Args:
            ports: Ports of the dut, all at once; they are listened at.
            seconds: Time in s.

        Returns:
            What became of the frames, for each port.
        """
        return self._sent(ports, seconds, 0)

    def send(self, ports: Sequence[Port], count: int) -> dict[Port, Flooded]:
        """Let the partner of each port send a number of frames to it, 10 ms apart.

        Args:
            ports: Ports of the dut, all at once; they are listened at.
            count: Number of frames.
        """
        return self._sent(ports, PACED_S, count)

    def _sent(self, ports: Sequence[Port], seconds: float, count: int) -> dict[Port, Flooded]:
        partners = {port: self._run.bench.partner(port) for port in ports}
        macs = port_addresses(self._run, [*partners, *partners.values()])
        ends = [
            {"iface": self._run.interface(partner), "source": macs[partner], "destination": macs[port]}
            for port, partner in partners.items()
        ]
        dut, peer = self._on(Role.DUT), self._on(Role.PEER)
        dut.do({"do": "heard"})
        plan = {"do": "flood", "ends": ends, "seconds": seconds, "count": count, "sent_within_s": SENT_WITHIN_S}
        sent, heard = peer.do(plan), dut.do({"do": "heard"})
        return {port: self._read(sent, heard, port, partner) for port, partner in partners.items()}

    def heard(self, ports: Sequence[Port]) -> dict[Port, int]:
        """Ask for the frames that came in at ports of the dut since the last question.

        Args:
            ports: The ports; they are listened at.
        """
        said = self._on(Role.DUT).do({"do": "heard"})
        return {port: int(said[self._run.interface(port)]) for port in ports}

    def _read(self, sent: Mapping[str, Any], heard: Mapping[str, Any], port: Port, partner: Port) -> Flooded:
        try:
            one = sent[self._run.interface(partner)]
            return Flooded(int(one["sent"]), int(one["waiting"]), int(heard[self._run.interface(port)]))
        except (KeyError, TypeError, ValueError) as error:
            said = f"they said {str(sent)[:150]} and {str(heard)[:150]}; expected numbers of each interface"
            raise ReadError(said, "flood programs") from error

    def _on(self, role: Role) -> StepAgent:
        return running(self._run, self._running, role, _agent)


def _agent(server: Server) -> StepAgent:
    return StepAgent(server, "flood program", flood_program)
