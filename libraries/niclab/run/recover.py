"""Servers that do not answer are recovered by their BMCs."""

from __future__ import annotations

from collections.abc import Iterable

from niclab.core.parallel import side_by_side
from niclab.run.server import Server


def ensure_ready(servers: Iterable[Server]) -> list[str]:
    """Make sure that servers answer; recover those that do not.

    Args:
        servers: The servers; all are asked side by side.

    Returns:
        Names of the servers that were recovered.

    Raises:
        BenchFault: One cannot be recovered.
    """
    asked = list(servers)
    lost = [server for server, up in zip(asked, side_by_side(Server.answers, asked), strict=True) if not up]
    side_by_side(Server.recover, lost)
    return [server.name for server in lost]
