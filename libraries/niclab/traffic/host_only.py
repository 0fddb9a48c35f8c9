"""The throughput of a server with itself, over its loopback: no card, no cable, only its CPU, memory and the tool.

A bench whose servers carry less than the line that way may be what a missed limit comes from.
"""

from __future__ import annotations

from niclab.run.server import Server
from niclab.traffic import WorthlessResult, serving
from niclab.traffic.tool import Order, Route, TrafficTool

LOOPBACK = "127.0.0.1"
RUN_S = 2


def host_only_bps(server: Server, tool: TrafficTool) -> float:
    """TCP from ``server`` to itself with one connection, bit/s of payload; measured once, then remembered.

    Raises:
        BenchFault: When the run fails, or its result is worthless.
    """
    if server.host_only_bps is None:
        server.host_only_bps = _measured(server, tool)
    return server.host_only_bps


def _measured(server: Server, tool: TrafficTool) -> float:
    route, order = Route(LOOPBACK, LOOPBACK), Order(duration_s=RUN_S)
    command = tool.client_command(route, order)
    with serving.listening(server, tool, LOOPBACK, RUN_S + tool.omitted_s + 2 * serving.SLACK_S):
        ended = server.ssh.run(command, timeout_s=RUN_S + tool.omitted_s + serving.SLACK_S)
    with serving.named(server, command, ended):
        bps = tool.read(ended.stdout, order).throughput_bps
        if not bps:
            raise WorthlessResult(f"worthless result: no throughput to {LOOPBACK}")
    return bps
