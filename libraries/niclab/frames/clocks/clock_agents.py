"""The clock programs of both servers. Begun once a run, and again after a boot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from niclab.bench.records import Port, Role
from niclab.frames.clocks import clock_calls, clock_program
from niclab.frames.clocks.clock_records import Frames, PortClock, SetTime, StampedFrame, Switched, Watched
from niclab.frames.server_agent import StepAgent, record_of, running
from niclab.run.run import Run
from niclab.run.server import Server, quoted

R = TypeVar("R", bound=BaseModel)
SENDING, RECEIVING = 1 | 64, 4 | 64
"""SOF_TIMESTAMPING_ of linux/net_tstamp.h: stamps by the hardware of frames sent, each with the frame, or received."""


class _Agent(StepAgent):
    """The clock program on one server."""

    def __init__(self, server: Server) -> None:
        super().__init__(server, "clock program", clock_program, clock_calls)


class ClockAgents:
    """The programs of a run.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._running: dict[Role, _Agent] = {}

    def look(self, port: Port) -> PortClock:
        """Look what the driver of a port offers, and how its clock is set.

        Raises:
            BenchFault: The program fails, as of every method.
            NotApplicable: The server does not run Linux.
        """
        return self._said(PortClock, port, "look")

    def watch(self, port: Port, clock: int, seconds: float) -> Watched:
        """Read a clock of a port's server for some time.

        Args:
            port: The port.
            clock: The number of the clock.
            seconds: Time in s.
        """
        return self._said(Watched, port, "watch", clock=clock, seconds=seconds)

    def set_time(self, port: Port, clock: int, by_ns: int) -> SetTime:
        """Set a clock by so many ns forward, or back."""
        return self._said(SetTime, port, "set", clock=clock, by_ns=by_ns)

    def tune(self, port: Port, clock: int, ppb: int) -> Switched:
        """Change the rate of a clock to so many ppb above its own."""
        return self._said(Switched, port, "tune", clock=clock, ppb=ppb)

    def stamp(self, port: Port, sends: int, passes: int) -> Switched:
        """Switch the stamps of a port: kind of sending and filter, as numbers of linux/net_tstamp.h."""
        return self._said(Switched, port, "stamp", sends=sends, passes=passes)

    def exchange(self, port: Port, clock: int, ways: int, count: int) -> tuple[StampedFrame, ...]:
        """Send frames from a port, one after the other, each answered by the other end of its path.

        Args:
            port: The port.
            clock: The number of its clock.
            ways: The stamps that are asked for: ``SENDING`` or ``RECEIVING``.
            count: How many frames.
        """
        with self._answering(self._run.bench.partner(port)):
            return self._said(Frames, port, "exchange", clock=clock, ways=ways, count=count).frames

    @contextmanager
    def _answering(self, port: Port) -> Iterator[None]:
        agent = self._on(port.role)
        agent.do({"do": "answer", "at": [self._run.interface(port)]})
        try:
            yield
        finally:
            agent.do({"do": "answer", "at": []})

    def _said(self, kind: type[R], port: Port, does: str, **plan: object) -> R:
        said = self._on(port.role).do({"do": does, "iface": self._run.interface(port), **plan})
        return record_of(kind, said, f"the answer of step {does}")

    def _on(self, role: Role) -> _Agent:
        return running(self._run, self._running, role, _Agent)


def restoring(iface: str, was: PortClock) -> str:
    """Return the command that gives a clock its rate and distance from the system's time, and stamps as they were.

    Args:
        iface: The interface of the port.
        was: What was seen before.
    """
    source = Path(clock_calls.__file__).read_text()
    call = "import sys\nput_back(sys.argv[1], *map(int, sys.argv[2:]))\n"
    return quoted("python3", "-c", source + call, iface, *map(str, (was.ahead_ns, was.scaled, *was.stamping)))
