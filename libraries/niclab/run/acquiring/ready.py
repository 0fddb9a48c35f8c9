"""A bench that is ready for a test."""

from __future__ import annotations

from collections.abc import Callable

from niclab.core.parallel import side_by_side
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.acquiring.recover import ensure_ready
from niclab.run.driver_in_use import load_missing
from niclab.run.run import Run


def make_ready(run: Run, warn: Callable[[str], object]) -> None:
    """Make both servers answer, load the driver on the sheet, and prepare the test ports.

    Args:
        run: The current run.
        warn: Is called with every server that was recovered, and every driver that had to be loaded.

    Raises:
        BenchFault: A server cannot be recovered, somebody else has taken it, or a port cannot be set up.
    """
    servers = list(run.servers.values())
    for server in servers:
        if server.description.console is not None:
            server.start_console_log()
    if run.part(PreparedPorts).prepared():
        return
    ports = run.part(PreparedPorts)
    changed = [server for server in servers if server.role not in ports.as_left]
    for server in changed:
        server.require_lease()
    for recovery in ensure_ready(server for server in changed if server.role not in ports.answered):
        warn(str(recovery))
    loaded = side_by_side(lambda server: load_missing(run, server), changed)
    for server, module in zip(changed, loaded, strict=True):
        if module:
            warn(f"{server.name}: driver {module} was not loaded; it is loaded now")
    ports.prepare(server.role for server in changed)
