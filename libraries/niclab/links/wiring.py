"""Proof that the cables are connected as the bench file says, before anything is judged by them.

A path is broken at one place and both of its ends, and no other port, must lose carrier; mended, both must get it back.
A path with a ``pull`` command is broken by it; without one, by taking the dut's end down, which the peer must see.
A path through the switch is not broken: the switch must have learned the address of each end at the port that the bench
file says, and at no other.
"""

from __future__ import annotations

from niclab.bench.records import BenchPath, Port, Role, Wiring
from niclab.core.undo import Action, ActionKind, Entry
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import NotInTime, until
from niclab.links.switch_ports import switch_port
from niclab.run.run import Run

LOSS_WITHIN_S = 10.0
RETURN_WITHIN_S = 30.0
"""Assumption: autonegotiation takes a few seconds; this proves wiring, not speed (the sheet's limits do)."""
LEARNED_WITHIN_S = 10.0
"""Assumption: some switches tell what they have learned only every few seconds, and spanning tree holds a
port back that came up just now, unless it is an edge port."""
PINGS = 10


def prove(run: Run) -> list[str]:
    """Prove every path of the bench.

    Args:
        run: The qualification run.

    Returns:
        One line of proof per path.

    Raises:
        BenchFault: Naming the path, the ports that should have changed and those that did.
    """
    ports = [run.bench.port(end) for path in run.bench.paths for end in path.ends]
    _wait(run, ports, up=True, within_s=RETURN_WITHIN_S, doing="before the wiring proof")
    return [
        _prove_switched(run, path) if path.through is Wiring.SWITCH else _prove_path(run, path, ports)
        for path in run.bench.paths
    ]


def _prove_switched(run: Run, path: BenchPath) -> str:
    """Both ends are heard by the switch where the bench file says, and each by the other."""
    ends = [run.bench.port(end) for end in path.ends]
    for port in ends:
        _let_be_heard(run, port)
    proven = [f"{port.name} at {require_learned(run, port)}" for port in ends]
    return f"path {path.name}: {run.switch.name} has learned {' and '.join(proven)}, and at no other port"


def _let_be_heard(run: Run, port: Port) -> None:
    """Frames both ways between the two ends of a path."""
    partner = run.bench.partner(port)

    def answered() -> bool:
        result = run.server_of(port).host.links.ping(
            str(run.bench.address(partner).ip),
            source=str(run.bench.address(port).ip),
            count=PINGS,
        )
        return result.received > 0

    until(answered, within=LEARNED_WITHIN_S, what=f"{port.name} reaches {partner.name} through {run.switch.name}")


def require_learned(run: Run, port: Port) -> str:
    """See that the switch has learned the address of a port where the bench file says, and only there.

    Args:
        run: The qualification run.
        port: The server's port.

    Returns:
        The port of the switch.

    Raises:
        NotApplicable: ``port`` is cabled to no switch.
        BenchFault: The address is elsewhere, or the switch does not answer.
    """
    wanted = switch_port(run, port)
    address = mac_of(run, port)
    found: frozenset[str] = frozenset()

    def learned() -> bool:
        nonlocal found
        found = run.switch.tables.ports_of_mac(address)
        return found == {wanted}

    try:
        until(learned, within=LEARNED_WITHIN_S, what="learned", every=0.2, error=NotInTime)
    except NotInTime as error:
        where = ", ".join(sorted(found)) or "no port"
        whole = run.switch.tables.aggregation(wanted)
        where += f", of which {wanted} is a member" if whole in found else ""
        raise BenchFault(
            f"{run.switch.name}: the address {address} of {port.name} is at {where}; expected {wanted} alone; "
            f"check the cables against switch.ports of the bench file {run.bench.file}"
        ) from error
    return wanted


def mac_of(run: Run, port: Port) -> str:
    """Return the MAC address that a port has now.

    Args:
        run: The qualification run.
        port: The port.

    Raises:
        BenchFault: Its interface has none.
    """
    address = run.server_of(port).host.links.interface(run.interface(port)).mac
    if address is None:
        raise BenchFault(f"{port.place}: its interface has no MAC address; expected one, to look for on the switch")
    return address


def _prove_path(run: Run, path: BenchPath, ports: list[Port]) -> str:
    ends = [run.bench.port(end) for end in path.ends]
    entry = break_path(run, path)
    try:
        watched = ends if path.pull else [end for end in ends if end.role.value == "peer"]
        _wait(run, watched, up=False, within_s=LOSS_WITHIN_S, doing=f"path {path.name} broken")
        lost = run.without_carrier([port for port in ports if port not in ends])
        if lost:
            names = ", ".join(port.name for port in lost)
            raise BenchFault(f"path {path.name} broken: {names} lost carrier too; the bench file says otherwise")
    finally:
        mend_path(run, entry)
    _wait(run, ends, up=True, within_s=RETURN_WITHIN_S, doing=f"path {path.name} mended")
    return f"path {path.name}: {' and '.join(path.ends)} lost and regained carrier together, no other port did"


def break_path(run: Run, path: BenchPath) -> Entry:
    """Break a path: by the bench file's command, else by taking the dut's end down. The journal has the undo first.

    Args:
        run: The qualification run.
        path: The path.

    Returns:
        The entry of the journal that mends it.

    Raises:
        BenchFault: The command fails.
    """
    if path.pull and path.plug:
        entry = run.journal.register(
            f"path {path.name}", "cable is pulled", Action(ActionKind.LOCAL, "controller", path.plug)
        )
        run.controller.check(path.pull)
        return entry
    return take_down(run, run.bench.end(path, Role.DUT))


def take_down(run: Run, port: Port) -> Entry:
    """Take the interface of a port down. The journal has the undo first.

    Args:
        run: The qualification run.
        port: The port.

    Returns:
        The entry of the journal that takes it up.
    """
    server = run.server_of(port)
    iface = run.interface(port)
    undo = Action(ActionKind.SHELL, server.name, server.host.undo.link(iface, up=True), iface=iface)
    entry = run.journal.register(port.name, f"{iface} is taken down", undo)
    server.host.links.set_link(iface, False)
    return entry


def take_driver(run: Run, port: Port) -> Entry:
    """Take the driver from the PCI function of a port. The journal has the undo first.

    Args:
        run: The qualification run.
        port: The port.

    Returns:
        The entry of the journal that gives it back.

    Raises:
        NotApplicable: That cannot be done to this port alone.
    """
    server = run.server_of(port)
    shared = [other.name for other in run.ports(port.role) if other.name != port.name and other.pci == port.pci]
    if shared:
        raise NotApplicable(f"{port.place} shares its PCI function with {', '.join(shared)}: both lose the driver")
    iface = run.interface(port)
    undo = Action(ActionKind.SHELL, server.name, server.host.undo.driver(port.pci, iface), iface=iface)
    entry = run.journal.register(port.name, f"{iface} loses its driver", undo)
    server.host.pci.detach_driver(port.pci)
    return entry


def mend_path(run: Run, entry: Entry) -> None:
    """Undo the failure of a link, for example that of :func:`break_path`.

    Args:
        run: The qualification run.
        entry: The entry of the journal.

    Raises:
        BenchFault: The undo fails; the journal keeps it.
    """
    run.journal.undo(entry, run.undo)


def _wait(run: Run, ports: list[Port], *, up: bool, within_s: float, doing: str) -> None:
    """Wait until all ``ports`` have carrier, or none has."""
    if late := run.await_carrier(ports, up=up, within_s=within_s):
        state = "no carrier" if up else "still carrier"
        raise BenchFault(
            f"{doing}: {state} at {', '.join(port.name for port in late)} after {within_s:g} s; "
            f"check the cables against the bench file {run.bench.file}"
        )
