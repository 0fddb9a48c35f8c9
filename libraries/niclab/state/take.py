"""Taking the state of a server or of the switch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from niclab.bench.records import OperatingSystem
from niclab.core.verdict import NotApplicable
from niclab.hosts.errors import ReadError
from niclab.state.read import Table, read_state
from niclab.state.snapshot import Depth, Snapshot
from niclab.state.state_program import freebsd_program, linux_program
from niclab.switch.switch import Switch

if TYPE_CHECKING:
    from niclab.run.server import Server

WITHIN_S = 60.0
"""Assumption: a server that is much slower than any that was measured has answered by then."""
SWITCH = "switch"


def take(server: Server, depth: Depth, ports: Sequence[str]) -> Snapshot:
    """Take the state of a server by one command, and the power that its BMC reports with a full one.

    Args:
        server: The server.
        depth: How much is taken.
        ports: PCI addresses of its test ports.

    Returns:
        The state.

    Raises:
        BenchFault: The server or its BMC does not answer, or the answer cannot be read.
    """
    is_bsd = server.description.os is OperatingSystem.FREEBSD
    program = freebsd_program(depth) if is_bsd else linux_program(depth, ports)
    try:
        table = read_state(server.run(program, timeout_s=WITHIN_S).stdout)
    except ReadError as error:
        raise error.about(f"{server.name}: state") from error
    if depth is Depth.FULL:
        table |= _bmc(server)
    return Snapshot(server.name, depth, table)


def take_switch(switch: Switch, ports: Mapping[str, str], depth: Depth) -> Snapshot:
    """Take the state of the switch's ports: open or shut, and with a full one their VLANs.

    Args:
        switch: The switch.
        ports: Port of the bench -> port of the switch.
        depth: How much is taken.

    Raises:
        BenchFault: It does not answer.
    """
    table: Table = {}
    for port in ports.values():
        table[port] = {"admin": switch.ports.state(port).admin.name}
        if depth is Depth.FULL:
            table[port] |= _vlans(switch, port)
    return Snapshot(SWITCH, depth, table)


def _vlans(switch: Switch, port: str) -> dict[str, str]:
    try:
        return {"vlans": str(switch.vlans.of(port))}
    except NotApplicable:
        return {}


def _bmc(server: Server) -> Table:
    try:
        return {"bmc": {"power": server.bmc.power_status().value}}
    except NotApplicable:
        return {}
