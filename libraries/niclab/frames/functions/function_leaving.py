"""Virtual functions that go while they are in use: under their own frames, and with the driver of their port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import BaseModel

from niclab.bench.records import Port, Role
from niclab.checks import driver
from niclab.checks.asked import Say, dut
from niclab.core.verdict import CardFailure, Undecided, ended_by
from niclab.frames.exchange import exchange
from niclab.frames.frame_agents import FrameAgents, port_addresses
from niclab.frames.functions import function_sender
from niclab.frames.functions.function_checks import BEGINS_WITHIN_S, Sending, few, first_port, over_other_ports
from niclab.frames.functions.function_ports import made, made_again, require_links
from niclab.frames.server_agent import StepAgent, record_of, running
from niclab.run.acquiring import ready
from niclab.run.run import Run
from niclab.run.server import Server


class SentFrames(BaseModel):
    """Frames of one interface; ``ended``: the error that has ended it."""

    frames: int
    ended: str


class FunctionSenders:
    """The sending program of a run, on the dut."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._running: dict[Role, _Agent] = {}

    def begin(self, port: Port, functions: Sequence[Port]) -> None:
        """Let functions send to the partner of their port.

        Args:
            port: The port.
            functions: Its functions, whose interfaces are up.

        Raises:
            BenchFault: The program fails.
        """
        peer = self._run.bench.partner(port)
        macs = port_addresses(self._run, [peer, *functions])
        streams = [
            {"iface": self._run.interface(each), "source": macs[each], "destination": macs[peer]} for each in functions
        ]
        self._agent.do({"do": "send", "streams": streams})

    def end(self) -> Mapping[str, SentFrames]:
        """End it.

        Returns:
            Interface -> what it sent.

        Raises:
            BenchFault: The program fails.
        """
        said = self._agent.do({"do": "end"})
        return {iface: record_of(SentFrames, each, "frames and ended") for iface, each in said.items()}

    @property
    def _agent(self) -> _Agent:
        return running(self._run, self._running, Role.DUT, _Agent)


class _Agent(StepAgent):
    def __init__(self, server: Server) -> None:
        super().__init__(server, "function sender", function_sender)


@dataclass
class _Removal:
    """The functions of a port are removed while they send."""

    run: Run
    port: Port
    say: Say

    def while_others_flow(self) -> None:
        self.run.part(FrameAgents).gaps(BEGINS_WITHIN_S)
        self.make()

    def make(self) -> None:
        attempt = dut(self.run).functions.set_count(self.port.pci, 0)
        if attempt.refused is not None or attempt.now.now:
            why = f", refused: {attempt.refused}" if attempt.refused else ""
            said = f"{self.port.place}: no virtual function was asked for, it has {attempt.now.now}{why}"
            raise CardFailure(f"{said}; expected them to go while they send")


def leave_under_traffic(run: Run, say: Say) -> None:
    """Remove the functions of a port while they send, and frames flow over every other port; make them again.

    The port itself may lose its link: igb starts it again when functions go (Linux 6.1, igb_main.c,
    igb_disable_sriov(), igb_sriov_reinit()). Its frames must arrive afterwards.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: Functions do not go or come again, or carry no frames then, or a frame of another port is lost.
        Undecided: A function did not send until it was removed.
    """
    port = first_port(run)
    count, flowing = few(run, port), over_other_ports(run, port)
    remove = _Removal(run, port, say)
    with made(run, port, count, say) as functions:
        with _sending(run, port, functions, say):
            if flowing:
                exchange(run, flowing, say, meanwhile=remove.while_others_flow)
            else:
                remove.make()
        _carry_again(run, port, count, say)


@contextmanager
def _sending(run: Run, port: Port, functions: Sequence[Port], say: Say) -> Iterator[None]:
    """The functions send, and are gone at the end."""
    senders, places = run.part(FunctionSenders), {run.interface(each): each.place for each in functions}
    senders.begin(port, functions)
    sent = dict[str, SentFrames]()
    with ended_by(lambda: sent.update(senders.end())):
        yield
    for iface, each in sent.items():
        say(f"{places[iface]}: {each.frames} frames sent until {each.ended or 'told to end'}")
    idle = [places[iface] for iface, each in sent.items() if not each.frames or not each.ended]
    if idle:
        raise Undecided(f"{', '.join(idle)}: sent no frames when removed; expected frames until then")


def return_after_reload(run: Run, say: Say) -> None:
    """Load the driver of the dut again while a port has functions: the port works, and can have functions.

    Args:
        run: The current run.
        say: Takes what was seen of each.

    Raises:
        CardFailure: The driver is not loaded again without a complaint of the kernel, a link does not return, functions
            cannot be made, or frames do not pass.
    """
    port = first_port(run)
    count = few(run, port)
    with made(run, port, count, say):
        driver.reload(run, Role.DUT)
        ready.make_ready(run, say)
        _carry_again(run, port, count, say)


def _carry_again(run: Run, port: Port, count: int, say: Say) -> None:
    require_links(run, port, [], say)
    exchange(run, Sending(run, port, []).both_ways(), say)
    with made_again(run, port, count, say) as functions:
        exchange(run, Sending(run, port, functions).both_ways(), say)
