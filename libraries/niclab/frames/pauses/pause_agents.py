"""The pause programs of both servers: a stream from the dut, and the peer that asks it to pause."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Any

from niclab.bench.records import BenchPath, Port, Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import ended_by
from niclab.frames.frame_agents import port_addresses
from niclab.frames.pauses import pause_program
from niclab.frames.pauses.pause_judging import Heard
from niclab.frames.server_agent import StepAgent, running
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.run.server import Server

PER_S = 500.0
"""Frames a second from each port: a hundredth of what the slowest path carries, and hundreds in a pause."""
QUANTUM_BITS, MOST_QUANTA = 512, 0xFFFF
"""IEEE 802.3-2018, 31B.2."""
LONGEST_PAUSE_S = 0.4
"""The most that one frame asks for: a slower path needs fewer quanta for it than a frame can name."""
MOST_EVERY_S = 0.05
LEAD_S, HOLD_S = 0.25, 0.7
"""Without pause frames, and with them. Assumption: no driver takes a port that pauses for so long for one that hangs
(Linux: 5 s, dev_watchdog() of sch_generic.c; e1000e and igb 1 s, and then look whether it pauses)."""
BACK_WITHIN_S = 1.0
"""Assumption: frames come again so long after the end of the pause: a server that is slow has them by then."""
BEGIN_WITHIN_S = 5.0
STREAM_S = 90.0
"""The stream ends by itself after this, whatever becomes of the controller."""


@dataclass(frozen=True)
class PausedEnd:
    """A port of the dut, its partner, and what a pause frame asks it for.

    Attributes:
        port: The port of the dut.
        partner: The port of the peer that sends the pause frames.
        quanta: In each frame.
        pause_s: Seconds that so many quanta last on this path.
    """

    port: Port
    partner: Port
    quanta: int
    pause_s: float

    @classmethod
    def of(cls, run: Run, path: BenchPath, mbps: float) -> PausedEnd:
        """Make the end of a path.

        Args:
            run: The current run.
            path: The path.
            mbps: Its rate in Mbit/s.
        """
        port, quantum_s = run.bench.end(path, Role.DUT), QUANTUM_BITS / (mbps * 1e6)
        quanta = min(MOST_QUANTA, ceil(LONGEST_PAUSE_S / quantum_s))
        return cls(port, run.bench.partner(port), quanta, quanta * quantum_s)


class PauseAgents:
    """The programs of a run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._running: dict[Role, _Agent] = {}
        self._token = secrets.randbits(32)

    @contextmanager
    def streaming(self, ends: Sequence[PausedEnd]) -> Iterator[None]:
        """Let each port of the dut send numbered frames to its partner inside the ``with`` block.

        Args:
            ends: The ports.

        Raises:
            BenchFault: A program does not begin, or fails; its words are in the message.
            NotApplicable: A server does not run Linux.
        """
        dut, _ = side_by_side(self._on, Role)
        macs = port_addresses(self._run, [port for end in ends for port in (end.port, end.partner)])
        streams = [
            {"iface": self._run.interface(end.port), "source": macs[end.port], "destination": macs[end.partner]}
            for end in ends
        ]
        dut.do({"do": "stream", "streams": streams, "token": self._token, "per_s": PER_S, "seconds": STREAM_S})
        with ended_by(lambda: dut.do({"do": "end"})):
            yield

    def hold(self, ends: Sequence[PausedEnd]) -> list[Heard]:
        """Let the peer send pause frames to ports of the dut for a while, and listen to what they send.

        Args:
            ends: The ports, all at once.

        Returns:
            When pause frames were sent and frames came, for each port.

        Raises:
            BenchFault: The program fails; its words are in the message.
        """
        macs = port_addresses(self._run, [end.partner for end in ends])
        every_s = min(MOST_EVERY_S, *(end.pause_s / 3 for end in ends))
        ifaces = [self._run.interface(end.partner) for end in ends]
        plan = {
            "do": "hold",
            "token": self._token,
            "ends": [
                {"iface": iface, "source": macs[end.partner], "quanta": end.quanta, "pause_s": end.pause_s}
                for iface, end in zip(ifaces, ends, strict=True)
            ],
            "every_s": every_s,
            "lead_s": LEAD_S,
            "hold_s": HOLD_S,
            "begin_within_s": BEGIN_WITHIN_S,
            "back_within_s": BACK_WITHIN_S,
        }
        said = self._on(Role.PEER).do(plan)
        return [Heard.read(said.get(iface, {}), f"peer: pause program: {iface}") for iface in ifaces]

    def blocked_s(self, ends: Sequence[PausedEnd]) -> dict[PausedEnd, float]:
        """Ask for how long the dut could not send a frame from ports, at the longest since the last question.

        Args:
            ends: The ports.

        Returns:
            The time of each in s.

        Raises:
            BenchFault: The program fails, or says something else.
        """
        said: Mapping[str, Any] = self._on(Role.DUT).do({"do": "blocked"})
        ifaces = {end: self._run.interface(end.port) for end in ends}
        try:
            return {end: float(said[iface]) for end, iface in ifaces.items()}
        except (KeyError, TypeError, ValueError) as error:
            expected = f"a time for each of {', '.join(ifaces.values())}"
            raise ReadError(f"it said {str(said)[:200]}; expected {expected}", "dut: pause program") from error

    def _on(self, role: Role) -> _Agent:
        return running(self._run, self._running, role, _Agent)


class _Agent(StepAgent):
    """The pause program on one server."""

    def __init__(self, server: Server) -> None:
        super().__init__(server, "pause program", pause_program)
