"""TCP that is just kept flowing over one path of the bench, with the bench's traffic tool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from niclab.bench import BenchPath, Role
from niclab.lab import Lab
from niclab.traffic import serving
from niclab.traffic.tool import Order
from niclab.traffic.tools import tool_of
from niclab.transports.ssh import Job
from niclab.verdict import BenchFault
from niclab.wait import until

FLOW_WITHIN_S = 10.0


@contextmanager
def steady(lab: Lab, path: BenchPath, sender: Role, at_most_s: int = 600) -> Iterator[Job]:
    """Keep TCP flowing over ``path`` inside the ``with`` block; ends when the block does.

    :raises BenchFault: when it does not start to flow, or has stopped by the end of the block.
    """
    run, tool = serving.ends(lab, path, sender), tool_of(lab.bench.traffic)
    route = serving.route(lab, run)
    with serving.listening(run, tool, route.receiver):
        job = run.sender.ssh.start(tool.client_command(route, Order(duration_s=at_most_s)))
        try:
            iface = run.sender.interface(run.from_port)
            start = run.sender.host.statistics(iface).tx_bytes
            until(
                lambda: run.sender.host.statistics(iface).tx_bytes - start > 100_000,
                within=FLOW_WITHIN_S,
                what=f"traffic from {run.name} to flow",
            )
            yield job
            if (status := job.poll()) is not None:
                said = job.output().strip()[-300:]
                raise BenchFault(f"{run.sender.name}: `{job.command}` ended early with status {status}: {said}")
        finally:
            job.stop()
