"""Proof, while traffic runs, that TCP is the card's: its connections are counted, and the buffers that they took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from niclab.bench.records import BenchPath, Role
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.core.wait import persistent_problems
from niclab.run.run import Run
from niclab.settings import tcp_offload
from niclab.settings.tcp_offload import Mode, TcpEngine
from niclab.traffic.runs import endpoints
from niclab.traffic.runs.measuring import Session
from niclab.traffic.runs.traffic_run import TrafficRun
from niclab.traffic.tools.tool import Order
from niclab.traffic.tools.tool_choice import tool_of
from niclab.transports.ssh.ssh import Job

EVERY_S = 0.5
PLACED = 0.5
"""Assumption: where data are placed, at least half of them are; what comes before a program reads is not."""
_END, _LIMIT_S = "@", 600.0


@dataclass(frozen=True)
class CardTcpProof:
    """Counts of the card in one run. ``connections``: the most that it had at once, without those of before.

    ``buffers_bytes``: the most that the receive buffers have held that its connections took; None: not asked.
    """

    run: TrafficRun
    connections: int
    buffers_bytes: int | None

    @property
    def placed(self) -> float | None:
        """The least part of the received bytes that was placed directly, 0..1; None: not asked."""
        received = self.run.result.received_bytes
        if self.buffers_bytes is None or not received:
            return None
        return max(0.0, 1 - self.buffers_bytes / received)

    @property
    def text(self) -> str:
        """The proof in words."""
        placed = "" if self.placed is None else f", at least {self.placed:.0%} of the data placed directly"
        return f"{self.connections} connections were the card's, those of control included{placed}"


@contextmanager
def receiving(run: Run, path: BenchPath, mode: Mode, read_bytes: int) -> Iterator[TcpEngine | None]:
    """Let the dut receive over a path in a mode for the ``with`` block; sessions of traffic begin in it.

    Args:
        run: The current run.
        path: The path.
        mode: The mode.
        read_bytes: Bytes that the receiver asks for in one read.

    Returns:
        The port whose card does TCP; None in the mode ``nic``.

    Raises:
        NotApplicable: The card, its driver or the system has no such mode.
        CardFailure: The driver refuses it, or does not show it on.
        BenchFault: The server cannot have it, or it could not be put back.
    """
    port = endpoints.ends(run, path, Role.PEER).to_port
    if mode is Mode.NIC:
        tcp_offload.require_off(run, port)
        yield None
        return
    engine = tcp_offload.engine_of(run, port, mode, read_bytes)
    with tcp_offload.switched_on(engine, mode, read_bytes):
        yield engine


def prove(engine: TcpEngine, mode: Mode, session: Session, order: Order) -> CardTcpProof:
    """Make a run, and require that each of its connections is the card's, and that data are placed where they are to.

    Args:
        engine: The port that receives.
        mode: ``toe`` or ``toe-ddp``.
        session: Runs over the port's path, begun after TCP offload was switched on.
        order: What is sent.

    Raises:
        CardFailure: Fewer connections were the card's than there were, or too little was placed.
        Undecided: Fewer were, and connections of others went meanwhile, which were counted before.
        BenchFault: The card's counts cannot be read, or the run fails.
    """
    asked = engine.run.server_of(engine.port).host.engine
    before, buffers = _connections(engine), asked.buffers(engine.iface)
    with _sampled(engine) as job:
        made = session.measure(order)
        most = _most(engine, job.output())
    taken = asked.buffers(engine.iface) - buffers
    placement = engine.facts.placement if mode is Mode.TOE_DDP else None
    proof = CardTcpProof(made, most - before, None if placement is None else taken * placement.buffer_bytes)
    place, source = engine.port.place, engine.facts.source
    expected = tool_of(engine.run.bench.traffic).tcp_connections(order)
    if proof.connections < expected:
        if most >= expected and _go(engine, before):
            raise Undecided(
                f"{place}: {most} connections were the card's at most, {before} were before the run, and not all of "
                f"those have stayed; expected {expected} and those of before"
            )
        raise CardFailure(
            f"{place}: TCP offload is on and shown on: {max(0, proof.connections)} of {expected} connections "
            f"were the card's, those of control included; expected all ({source})"
        )
    if placement is not None and (proof.placed or 0) < PLACED:
        raise CardFailure(
            f"{place}: direct placement is on and shown on: at least {proof.placed or 0:.0%} of the data were placed, "
            f"{taken} buffers of the driver were taken; expected at least {PLACED:.0%} ({placement.source})"
        )
    return proof


def _go(engine: TcpEngine, before: int) -> bool:
    """Return whether connections go that were there before the run: they may have gone while traffic ran."""
    within_s = tcp_offload.UNLOADED_WITHIN_S if before else 0.0
    return not persistent_problems(
        lambda: [count] if (count := _connections(engine)) >= before else [], within=within_s, every=EVERY_S
    )


def _connections(engine: TcpEngine) -> int:
    server = engine.run.server_of(engine.port)
    asked = server.host.engine
    return asked.read_connections(server.run(asked.connections_command(engine.iface)).stdout)


@contextmanager
def _sampled(engine: TcpEngine) -> Iterator[Job]:
    """Show the card's connections again and again, on the server: questions from outside would be a load."""
    server = engine.run.server_of(engine.port)
    command = f"while :; do {server.host.engine.connections_command(engine.iface)}; echo {_END}; sleep {EVERY_S}; done"
    job = server.start(command, limit_s=_LIMIT_S)
    try:
        yield job
    finally:
        job.stop()


def _most(engine: TcpEngine, text: str) -> int:
    """The largest number among the samples; the last one may not be whole."""
    server = engine.run.server_of(engine.port)
    counts = [server.host.engine.read_connections(each) for each in text.split(f"{_END}\n")[:-1]]
    if not counts:
        raise BenchFault(f"{server.name}: the card's connections were not shown once while traffic ran")
    return max(counts)
