"""Bonds and VLANs over the test ports: made with their undo in the journal first, and the ports left as they were."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Interface

from niclab.bench.records import Port, Role
from niclab.core.names import UPPER_DEVICES
from niclab.core.undo import Action, ActionKind, Entry
from niclab.core.verdict import BenchFault, Trouble
from niclab.hosts.bonds.bond_settings import BondSettings, VlanTag
from niclab.hosts.host_records import Interface
from niclab.run.run import Run
from niclab.run.server import Server

BOND = f"{UPPER_DEVICES}0"
"""Name of the bond on each server."""


@dataclass
class Stack:
    """A bond or VLAN on one server, and how it is removed again, newest change last."""

    server: Server
    name: str
    address: IPv4Interface
    below: dict[Port, Interface]
    """The ports it lies on, as they were before."""
    entries: list[Entry] = field(default_factory=list)


def bonded_ports(run: Run, role: Role) -> list[Port]:
    """List the ports of one server that lie on a path, in the order of the paths."""
    ends = [run.bench.port(end) for path in run.bench.paths for end in path.ends]
    return [port for port in ends if port.role is role]


def bond(run: Run, role: Role, settings: BondSettings, *, first_is_primary: bool = False) -> Stack:
    """Bond all ports of a server; the bond gets the address of the first one.

    A bond with ARP monitoring asks for the other server's bond.

    Args:
        run: The qualification run.
        role: The server.
        settings: Settings of the bond.
        first_is_primary: Is the first port the primary?

    Returns:
        The bond.

    Raises:
        BenchFault: It cannot be made, or does not read back as asked. What was changed is undone.
    """
    server, ports = run.server(role), bonded_ports(run, role)
    members = [run.interface(port) for port in ports]
    if first_is_primary:
        settings = replace(settings, primary=members[0])
    if settings.arp_interval_ms is not None:
        other = run.bench.address(run.bench.partner(ports[0]))
        settings = replace(settings, arp_ip_target=(str(other.ip),))
    stack = Stack(server, BOND, run.bench.address(ports[0]), _before(run, ports))
    with _whole(run, stack):
        _register_module(run, stack, server.host.bonds.modules()[0])
        for port, was in stack.below.items():
            _register_port(run, stack, port, was)
        _register(run, stack, server.name, f"bond {BOND} of {', '.join(members)} is made", server.host.undo.upper(BOND))
        server.host.bonds.create(BOND, settings, members)
        server.host.links.add_address(BOND, str(stack.address))
    return stack


def vlan_on_port(run: Run, port: Port, vlan_id: int) -> Stack:
    """Make a VLAN on a port and move the port's address to it, so that only tagged frames can answer.

    Args:
        run: The qualification run.
        port: The port.
        vlan_id: VLAN id.

    Returns:
        The VLAN.

    Raises:
        BenchFault: It cannot be made. What was changed is undone.
    """
    server, iface, address = run.server_of(port), run.interface(port), run.bench.address(port)
    stack = Stack(server, f"{iface}.{vlan_id}", address, _before(run, [port]))
    with _whole(run, stack):
        _register_module(run, stack, stack.server.host.bonds.modules()[1])
        was = stack.below[port]
        _register_port(run, stack, port, was)
        has_address = str(address.ip) in [entry.address for entry in was.addresses]
        _add_vlan(run, stack, iface, vlan_id, moved=has_address)
    return stack


def vlans_without_addresses(run: Run, port: Port, vlan_ids: Sequence[int]) -> Stack:
    """Make VLANs on a port, which keeps its address: the port takes frames of these VLANs as well.

    Args:
        run: The qualification run.
        port: The port.
        vlan_ids: VLAN ids.

    Returns:
        All of them, to be removed together.

    Raises:
        BenchFault: One cannot be made. What was changed is undone.
    """
    server, iface = run.server_of(port), run.interface(port)
    stack = Stack(server, f"VLANs of {iface}", run.bench.address(port), _before(run, [port]))
    with _whole(run, stack):
        _register_module(run, stack, server.host.bonds.modules()[1])
        _register_lost_offload(run, stack, port, stack.below[port])
        for vlan_id in vlan_ids:
            name = f"{UPPER_DEVICES}.{vlan_id}"
            _register(run, stack, port.name, f"VLAN {name} is made", server.host.undo.upper(name))
            server.host.bonds.create_vlan(name, iface, vlan_id)
    return stack


def vlan_in_vlan(run: Run, port: Port, outer: int, inner: int) -> list[Stack]:
    """Make a VLAN of 802.1ad on a port, and in it one of 802.1Q that gets the port's address.

    Args:
        run: The qualification run.
        port: The port.
        outer: VLAN id of the outer tag.
        inner: VLAN id of the inner tag.

    Returns:
        Both VLANs, the outer one first.

    Raises:
        NotApplicable: The system has no such tags.
        BenchFault: They cannot be made. What was changed is undone.
    """
    server, iface = run.server_of(port), run.interface(port)
    below = Stack(server, f"{iface}.{outer}", run.bench.address(port), _before(run, [port]))
    above = Stack(server, f"{UPPER_DEVICES}.{outer}.{inner}", below.address, {})
    with _whole(run, below):
        _register_module(run, below, server.host.bonds.modules()[1])
        _register_port(run, below, port, below.below[port])
        _register(run, below, server.name, f"VLAN {below.name} is made", server.host.undo.upper(below.name))
        server.host.links.remove_address(iface, str(below.address))
        server.host.bonds.create_vlan(below.name, iface, outer, VlanTag.SERVICE)
        with _whole(run, above):
            _add_vlan(run, above, below.name, inner)
    return [below, above]


def vlan_on_bond(run: Run, below: Stack, vlan_id: int) -> Stack:
    """Make a VLAN on a bond; its address is that of the server's second port, which is free while it is bonded.

    Args:
        run: The qualification run.
        below: The bond.
        vlan_id: VLAN id.

    Returns:
        The VLAN.

    Raises:
        BenchFault: There is no second port, or it cannot be made. What was changed is undone.
    """
    ports = list(below.below)
    if len(ports) < 2:
        raise BenchFault(f"{below.server.name}: a VLAN on a bond takes the second path's address; there is one path")
    stack = Stack(below.server, f"{below.name}.{vlan_id}", run.bench.address(ports[1]), {})
    with _whole(run, stack):
        _register_module(run, stack, stack.server.host.bonds.modules()[1])
        _add_vlan(run, stack, below.name, vlan_id)
    return stack


def remove(run: Run, stack: Stack) -> list[Trouble]:
    """Remove a bond or VLAN.

    Args:
        run: The qualification run.
        stack: The bond or VLAN.

    Returns:
        What is not as it was before, a port of the dut by the card's fault; empty when all is well.

    Raises:
        BenchFault: It cannot be removed; the rest is left to the journal.
    """
    run.undoing.undo_newest_first(stack.entries)
    problems = []
    for (port, was), now in zip(stack.below.items(), _as_they_are(stack), strict=True):
        for what, before, after in zip(
            ("MAC", "MTU", "up", "master", "addresses"), _state(was), _state(now), strict=True
        ):
            if before != after:
                text = f"{port.place}: {was.name} has {what} {after} after {stack.name}, it had {before}"
                problems.append(Trouble(text, of_card=port.role is Role.DUT))
    return problems


@contextmanager
def _whole(run: Run, stack: Stack) -> Iterator[None]:
    """A stack that cannot be made whole is removed again; what cannot be is left to the journal."""
    with ExitStack() as undoing:
        undoing.callback(remove, run, stack)
        yield
        undoing.pop_all()


def _state(interface: Interface) -> tuple[object, ...]:
    return interface.mac, interface.mtu, interface.admin_up, interface.master, sorted(interface.ipv4)


def _as_they_are(stack: Stack) -> tuple[Interface, ...]:
    names = [was.name for was in stack.below.values()]
    return stack.server.host.links.interfaces(names) if names else ()


def _before(run: Run, ports: list[Port]) -> dict[Port, Interface]:
    found = run.shown(ports)
    for port, interface in found.items():
        if interface.master is not None:
            raise BenchFault(
                f"{port.name}: {interface.name} belongs to {interface.master} already; expected it to belong to nothing"
            )
    return found


def _add_vlan(run: Run, stack: Stack, below: str, vlan_id: int, *, moved: bool = False) -> None:
    """``moved``: what it lies on has its address."""
    host = stack.server.host
    _register(run, stack, stack.server.name, f"VLAN {stack.name} is made", host.undo.upper(stack.name))
    if moved:
        host.links.remove_address(below, str(stack.address))
    host.bonds.create_vlan(stack.name, below, vlan_id)
    host.links.add_address(stack.name, str(stack.address))


def _register(run: Run, stack: Stack, subject: str, what: str, command: str, iface: str = "") -> None:
    action = Action(ActionKind.SHELL, stack.server.name, command, iface=iface)
    stack.entries.append(run.journal.register(subject, what, action))


def _register_module(run: Run, stack: Stack, module: str) -> None:
    """A module that is part of the kernel is in no list of loaded ones, and cannot be unloaded."""
    host = stack.server.host
    if host.drivers.loaded_module(module) is None and not host.drivers.modinfo(module).built_in:
        _register(run, stack, stack.server.name, f"{module} is loaded", host.undo.unload_driver(module))


def _register_lost_offload(run: Run, stack: Stack, port: Port, was: Interface) -> None:
    """Register the return of features that the system switches off below a bond or VLAN."""
    command = stack.server.host.bonds.lost_below(was.name)
    if command is not None:
        _register(run, stack, port.name, f"{was.name} loses LRO below {stack.name}", command, was.name)


def _register_port(run: Run, stack: Stack, port: Port, was: Interface) -> None:
    """The port is free again, with its state, addresses and offloads. Each step may have been done already."""
    _register_lost_offload(run, stack, port, was)
    command = stack.server.host.undo.port(was.name, bool(was.admin_up), was.ipv4)
    _register(run, stack, port.name, f"{was.name} joins {stack.name}", command, was.name)
