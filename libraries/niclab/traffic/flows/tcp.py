"""TCP that is just kept flowing over one path of the bench, with the bench's traffic tool."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from niclab.bench.records import BenchPath, Role
from niclab.core.verdict import BenchFault, CardFailure, fail_with
from niclab.core.wait import persistent_problems, until
from niclab.run.run import Run
from niclab.traffic.runs import endpoints, line_rate, measuring, traffic_run
from niclab.traffic.tools.tool import Order, Route
from niclab.traffic.tools.tool_choice import tool_of
from niclab.transports.ssh.ssh import Job

FLOW_WITHIN_S = 10.0
FLOW_BYTES = 100_000
"""So much is more than what a connection that is stuck sends again and again in that time."""


@contextmanager
def steady(run: Run, path: BenchPath, sender: Role, at_most_s: int = 600, route: Route | None = None) -> Iterator[Job]:
    """Keep TCP flowing over ``path`` inside the ``with`` block; ends when the block does.

    Args:
        run: The qualification run.
        path: The path.
        sender: The server that sends.
        at_most_s: The client ends by itself after this time in s.
        route: Addresses of both ends, where they are not those of the bench.

    Raises:
        BenchFault: It does not start to flow, or has stopped by the end of the block, whatever was found inside.
    """
    ends, tool = endpoints.ends(run, path, sender), tool_of(run.bench.traffic)
    route = route or endpoints.route(run, ends)
    limit_s = at_most_s + tool.omitted_s + endpoints.SLACK_S
    others = {str(run.bench.address(port).ip) for port in run.ports(ends.receiver.role)} - {route.receiver}
    with endpoints.listening(ends.receiver, tool, route.receiver, limit_s, others):
        job = ends.sender.start(tool.client_command(route, Order(duration_s=at_most_s)), limit_s=limit_s)
        try:
            iface = run.interface(ends.from_port)
            start = ends.sender.host.counts.statistics(iface).tx_bytes
            until(
                lambda: ends.sender.host.counts.statistics(iface).tx_bytes - start > FLOW_BYTES,
                within=FLOW_WITHIN_S,
                what=f"traffic from {ends.name} to flow",
            )
            with blaming_the_tool(ends.sender.name, job):
                yield job
        finally:
            job.stop()


@contextmanager
def blaming_the_tool(sender: str, job: Job) -> Iterator[None]:
    """Charge nobody with what a check inside the ``with`` block misses because the traffic has ended.

    Args:
        sender: Name of the server that sends.
        job: The client of the traffic tool.

    Raises:
        BenchFault: The client has ended by the end of the block.
    """
    failure = None
    try:
        yield
    except CardFailure as error:
        failure = error
    if (status := job.poll()) is not None:
        said = job.output().strip()[-300:]
        raise BenchFault(f"{sender}: `{job.command}` ended early with status {status}: {said}") from failure
    if failure is not None:
        raise failure


def require_flow(run: Run, receiver: Role) -> None:
    """See that traffic arrives at a server, over whichever of its ports.

    Args:
        run: The qualification run.
        receiver: The server.

    Raises:
        CardFailure: No more than :data:`FLOW_BYTES` arrive in time.
        BenchFault: The server does not answer.
    """
    server = run.server(receiver)
    ifaces = [run.interface(port) for port in run.ports(receiver)]

    def received() -> int:
        return sum(server.host.counts.statistics(iface).rx_bytes for iface in ifaces)

    start = received()

    def missing() -> list[str]:
        if (arrived := received() - start) > FLOW_BYTES:
            return []
        return [
            f"{server.name}: {', '.join(ifaces)} have received {arrived} bytes in {FLOW_WITHIN_S:g} s, while TCP is "
            f"sent to it; expected more than {FLOW_BYTES}"
        ]

    fail_with(persistent_problems(missing, within=FLOW_WITHIN_S, every=0.5))


def send(run: Run, sender: Role, seconds: int, say: Callable[[str], object]) -> None:
    """Send TCP over every path, one after the other, and require that it arrived. The rate is not judged.

    Args:
        run: The current run.
        sender: The server that sends.
        seconds: Time in s over each path.
        say: Takes what was measured over each path.

    Raises:
        BenchFault: A run fails or is worthless.
    """
    for path in run.bench.paths:
        line_mbps = line_rate.line_mbps(run, endpoints.ends(run, path, sender), path)
        found = measuring.measure(run, path, sender, Order(duration_s=seconds), line_mbps)
        say(f"{found.sender.port} to {found.receiver.port}: {traffic_run.described(found)}")
