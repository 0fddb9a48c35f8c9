"""TCP over IPv6 on one path: both ends get an address of their own for it, besides the one that they have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import IPv6Interface

from niclab.bench.records import BenchPath, Port, Role
from niclab.core.wait import until
from niclab.run.run import Run
from niclab.run.temporary import put_back
from niclab.traffic.flows import tcp
from niclab.traffic.tools.tool import Route
from niclab.transports.ssh.ssh import Job

NETWORK = 0xFD6E_6963_6C61
"""The first 48 bits of the networks: unique local addresses (RFC 4193), which nobody routes."""
USABLE_WITHIN_S = 10.0
"""Assumption: a system looks for duplicates of an address for a second or two before it uses it (RFC 4862, 5.4)."""


def address(run: Run, port: Port) -> IPv6Interface:
    """Return the address of a port: that of the dut is the first of its path's network, the peer's the second.

    Args:
        run: The current run.
        port: The port.
    """
    number = [path.name for path in run.bench.paths].index(run.bench.path_of(port).name)
    return IPv6Interface(((NETWORK << 80) | (number << 64) | (1 if port.role is Role.DUT else 2), 64))


@contextmanager
def steady(run: Run, path: BenchPath, sender: Role) -> Iterator[Job]:
    """Keep TCP flowing over IPv6 on a path inside the ``with`` block.

    Args:
        run: The current run.
        path: The path.
        sender: The server that sends.

    Raises:
        BenchFault: An address cannot be set, used or removed, or the traffic does not flow.
    """
    mine, theirs = (run.bench.end(path, role) for role in (sender, Role.PEER if sender is Role.DUT else Role.DUT))
    route = Route(str(address(run, mine).ip), str(address(run, theirs).ip))
    with addressed(run, path), tcp.steady(run, path, sender, route=route) as job:
        yield job


@contextmanager
def addressed(run: Run, path: BenchPath) -> Iterator[None]:
    """Give both ends of a path their IPv6 addresses for the ``with`` block.

    Args:
        run: The current run.
        path: The path.

    Raises:
        BenchFault: An address cannot be set, used or removed.
    """
    ends = [run.bench.end(path, role) for role in Role]
    with ExitStack() as undoing:
        for port in ends:
            undoing.enter_context(_addressed(run, port))
        for port in ends:
            until(
                lambda port=port: _is_usable(run, port),  # type: ignore[misc]
                within=USABLE_WITHIN_S,
                what=f"{port.name} to use {address(run, port)}",
            )
        yield


@contextmanager
def _addressed(run: Run, port: Port) -> Iterator[None]:
    server, iface, cidr = run.server_of(port), run.interface(port), str(address(run, port))
    removing = server.host.undo.address(iface, cidr)
    with put_back(run, server, port.name, f"{iface} gets address {cidr}", removing, iface):
        server.host.links.add_address(iface, cidr)
        yield


def _is_usable(run: Run, port: Port) -> bool:
    shown = run.server_of(port).host.links.interface(run.interface(port)).addresses
    return any(each.address == str(address(run, port).ip) and not each.tentative for each in shown)
