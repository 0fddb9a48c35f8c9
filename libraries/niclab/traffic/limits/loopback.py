"""The throughput of a server with itself, over its loopback: no card, no cable, only its CPU, memory and the tool.

A bench whose servers carry less than the line that way may be what a missed limit comes from.
"""

from __future__ import annotations

from niclab.run.server import Server
from niclab.run.watching.standstill import StandstillWatch
from niclab.traffic import WorthlessResult
from niclab.traffic.runs import endpoints
from niclab.traffic.runs.discarded import DiscardedRun, DiscardedRuns
from niclab.traffic.tools.tool import Order, Route, TrafficTool

LOOPBACK = "127.0.0.1"
RUN_S = 2


def loopback_bps(server: Server, tool: TrafficTool, watch: StandstillWatch) -> float:
    """TCP from ``server`` to itself with one connection, bit/s of payload; measured once, then remembered.

    A run in which the server stood still says nothing of what it carries, and is made again.

    Raises:
        BenchFault: When the run fails, or its result is worthless.
        Undecided: When the server stood still in each of many runs.
    """
    if server.loopback_bps is None:
        server.loopback_bps = _undisturbed(server, tool, watch)
    return server.loopback_bps


def _undisturbed(server: Server, tool: TrafficTool, watch: StandstillWatch) -> float:
    discarded = DiscardedRuns(f"{server.name} to itself")
    while True:
        before, failure, bps = watch.told(), None, 0.0
        try:
            bps = _measured(server, tool)
        except WorthlessResult as error:
            failure = error
        stood = tuple(each for each in watch.between(before, watch.told()) if each.server == server.name)
        if not stood:
            if failure is not None:
                raise failure
            return bps
        discarded.add(DiscardedRun(str(failure or f"{bps / 1e6:.0f} Mbit/s"), stood))


def _measured(server: Server, tool: TrafficTool) -> float:
    route, order = Route(LOOPBACK, LOOPBACK), Order(duration_s=RUN_S)
    command = tool.client_command(route, order)
    with endpoints.listening(server, tool, LOOPBACK, RUN_S + tool.omitted_s + 2 * endpoints.SLACK_S):
        ended = server.ssh.run(command, timeout_s=RUN_S + tool.omitted_s + endpoints.SLACK_S)
    with endpoints.named(server, command, ended):
        bps = tool.read(ended.stdout, order).throughput_bps
        if not bps:
            raise WorthlessResult(f"worthless result: no throughput to {LOOPBACK}")
    return bps
