"""Sender and receiver on a path, and the tool's server at the receiver while a run lasts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from niclab.bench.records import BenchPath, Port, Role
from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.traffic.tools.tool import Route, TrafficTool
from niclab.transports.ssh.ssh import Result

SLACK_S = 20.0
"""A run that takes this much longer than its duration is ended."""
LISTEN_WITHIN_S = 10.0


@dataclass(frozen=True)
class Ends:
    """Sender and receiver of a run, each with its port."""

    sender: Server
    receiver: Server
    from_port: Port
    to_port: Port

    @property
    def name(self) -> str:
        """``dut.p0 to peer.p0``."""
        return f"{self.from_port.name} to {self.to_port.name}"


def ends(run: Run, path: BenchPath, sender: Role) -> Ends:
    """Return sender and receiver on ``path`` when the server ``sender`` sends."""
    ports = sorted(map(run.bench.port, path.ends), key=lambda port: port.role is not sender)
    return Ends(run.server_of(ports[0]), run.server_of(ports[1]), ports[0], ports[1])


def route(run: Run, ends: Ends) -> Route:
    return Route(str(run.bench.address(ends.from_port).ip), str(run.bench.address(ends.to_port).ip))


@contextmanager
def listening(
    server: Server, tool: TrafficTool, address: str, limit_s: float, others: Collection[str] = ()
) -> Iterator[None]:
    """The tool's server at an ``address`` of ``server``; ended with the block, whatever happens in it.

    It ends by itself after ``limit_s`` seconds. At ``others``, addresses of the same server, another one may listen.

    Raises:
        BenchFault: When its port is taken, or it does not listen in time (its own words are in the message).
    """
    _want_free(server, tool, others)
    program = tool.programs[-1]
    job = server.start(tool.server_command(address), limit_s=limit_s)
    try:
        listens = server.host.links.listening_command(tool.port, address)
        job.await_begin(listens, f"{program} server to listen on {address}:{tool.port}", LISTEN_WITHIN_S)
        yield
    finally:
        job.stop()


@contextmanager
def named(server: Server, command: str, ended: Result) -> Iterator[None]:
    """Report what cannot be read inside the block with the server, the command, how it ended and what it printed."""
    try:
        yield
    except ReadError as error:
        said = f"; {ended.stderr.strip()[-200:]}" if ended.stderr.strip() else ""
        raise error.about(f"{server.name}: `{command}` ({ended.ending}{said})") from error


def _want_free(server: Server, tool: TrafficTool, others: Collection[str]) -> None:
    """Another server on the port would answer in place of ours, or carry somebody else's traffic."""
    ours = tuple(f"{address}:{tool.port}" for address in others)
    found = [line for line in server.host.links.listeners(tool.port) if not set(ours) & set(line.split())]
    listener = "\n".join(found)
    if listener:
        raise BenchFault(f"{server.name}: port {tool.port} is taken already; expected free: {listener[:300]}")
