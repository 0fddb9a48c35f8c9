"""Ports of the dut whose PCI function is taken away and given back: each comes back as it was."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from niclab.bench.records import Port, Role
from niclab.checks.driver import RELOAD_DEADLINE_S
from niclab.core.parallel import at_once
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, Blamed, Charge, NotApplicable, blame_charged, fail_with, require_judged
from niclab.hosts.errors import NoDevice, NoInterface
from niclab.hosts.host import Host
from niclab.links import carrier, link_checks
from niclab.links.returning.inventory import Inventories
from niclab.run.run import Run
from niclab.run.temporary import put_back
from niclab.run.watching.standstill import blameless
from niclab.transports import CommandTimeout, ConnectionLost

ROUNDS: Mapping[Profile, int] = {Profile.QUICK: 2, Profile.FULL: 20}
PINGS = 50
"""Over another port meanwhile: a second, in which the function comes back."""
LEAST_ANSWERED = 0.5
"""Assumption: a server that is busy with its bus loses less. A port that works with its neighbour alone loses all."""


class Taking(Enum):
    """The ways in which ports are taken away and given back, in words for what has happened to them."""

    REBIND = "the driver of {} was unbound and bound"
    RESCAN = "the function of {} was removed from the bus and found again"
    FUNCTION_RESET = "the function of {} was reset"
    DRIVER_RESET = "the driver has reset {}"


class TakenBy(Enum):
    """The ways that are judged together: one that the dut cannot do is left out."""

    REBIND = (Taking.REBIND,)
    RESCAN = (Taking.RESCAN,)
    RESET = (Taking.FUNCTION_RESET, Taking.DRIVER_RESET)


def require_return(run: Run, ways: Sequence[Taking], rounds: int, say: Callable[[str], object]) -> None:
    """Remove every function of the dut in turn, give it back, and see that its ports are as they were.

    They have the same inventory, their link within the sheet's time, and carry traffic. Meanwhile another port carries
    traffic, where there is one, and no other port loses its carrier.

    Args:
        run: The qualification run.
        ways: How functions are taken away, one after the other.
        rounds: How often each way, all functions together; each function at least once.
        say: Takes what was seen of each port.

    Raises:
        CardFailure: A port does not come back, is another one than before, has no link in time or carries no traffic,
            or another port was disturbed.
        BenchFault: Only a port of the peer has no link, or the function could not be taken away.
        Undecided: An answer came too late to decide, a server stood still while pings were lost, or one function can
            be taken in a way and another one cannot.
        NotApplicable: The dut can do none of it, or the sheet does not know the limit.
    """
    link_checks.require_up(run, say)
    functions = dict[str, list[Port]]()
    for port in run.ports(Role.DUT):
        functions.setdefault(port.pci, []).append(port)
    differing, without, some = list[str](), list[str](), False
    for way in ways:
        reasons = _rounds(run, list(functions.values()), way, rounds, say)
        (differing if len(reasons) < len(functions) else without).extend(reasons)
        some |= len(reasons) < len(functions)
    require_judged(differing if some else without, some=some)


def _rounds(
    run: Run, functions: Sequence[Sequence[Port]], way: Taking, rounds: int, say: Callable[[str], object]
) -> list[str]:
    """Take the functions in turn.

    Returns:
        The reason of each function that cannot be taken in this way.
    """
    without = dict[int, str]()
    for number in range(max(rounds, len(functions))):
        if (which := number % len(functions)) not in without:
            try:
                _round(run, functions[which], way, say)
            except NotApplicable as reason:
                say(str(reason))
                without[which] = str(reason)
    return list(without.values())


def _round(run: Run, ports: Sequence[Port], way: Taking, say: Callable[[str], object]) -> None:
    """Take one function, with all its ports, and give it back."""
    inventories, paths = run.part(Inventories), [run.bench.path_of(port) for port in ports]
    done = way.value.format(" and ".join(port.name for port in ports))
    others = [port for port in run.ports(Role.DUT) if port not in ports]
    before, counted = {port: inventories.look(port) for port in ports}, _carrier_changes(run, others)
    with blameless(run):
        lost, gone = at_once(lambda: _lost_elsewhere(run, ports, done), lambda: _take(run, ports, way, done, say))
        fail_with([] if gone else lost)
    fail_with(gone)
    ends = [run.bench.port(end) for path in paths for end in path.ends]
    carrier.expect(run, ends, up=True, began=time.monotonic(), say=say)
    found = [trouble for port in ports for trouble in inventories.differences(port, before[port], done)]
    for port, changes in _carrier_changes(run, others).items():
        if more := changes - counted[port]:
            text = f"{port.place} counted {more} changes of carrier while {done}; expected none"
            found.append(Charge(text, Blamed.CARD))
    blame_charged(found)
    link_checks.require_answers(run, ends)
    say(f"{done}: all is as before")


def _carrier_changes(run: Run, ports: Sequence[Port]) -> dict[Port, int]:
    host = run.server(Role.DUT).host
    return {port: host.counts.carrier_changes(run.interface(port)).changes for port in ports}


def _take(run: Run, ports: Sequence[Port], way: Taking, done: str, say: Callable[[str], object]) -> list[str]:
    """Take and give back, by the undo of the journal.

    Returns:
        The ports that are not back; empty when all are.
    """
    server, reason, refused = run.server(Role.DUT), None, None
    try:
        with contextlib.ExitStack() as back:
            for port in ports:
                iface = run.interface(port)
                undo = server.host.undo.driver(port.pci, iface)
                back.enter_context(put_back(run, server, port.name, done, undo, iface, RELOAD_DEADLINE_S))
            server.require_lease()
            try:
                refused = _away(server.host, way, ports[0].pci, run.interface(ports[0]))
            except NotApplicable as error:
                reason = error
    except (ConnectionLost, CommandTimeout):
        raise
    except BenchFault as error:
        say(str(error))
        return _not_back(run, ports, done, error)
    if reason is not None:
        raise reason
    return [f"{ports[0].place}: its function does not reset: {refused}"] if refused else []


def _away(host: Host, way: Taking, address: str, iface: str) -> str | None:
    """Take a function away.

    Returns:
        The words of a refusal; None when it was done.
    """
    match way:
        case Taking.RESCAN:
            host.pci.remove_function(address)
        case Taking.DRIVER_RESET:
            host.drivers.reset_interface(iface)
        case Taking.REBIND:
            host.pci.detach_driver(address)
        case Taking.FUNCTION_RESET:
            if not host.pci.can_reset_function(address):
                raise NotApplicable(f"{host.name}: the kernel knows no way to reset {address} alone")
            host.pci.detach_driver(address)
            return host.pci.reset_function(address)
    return None


def _not_back(run: Run, ports: Sequence[Port], done: str, error: BenchFault) -> list[str]:
    """Ask which ports are not there after an undo that failed; an error that no port explains is the bench's."""
    server, problems = run.server(Role.DUT), list[str]()
    for port in ports:
        try:
            found = server.interface(port)
        except (NoDevice, NoInterface) as reason:
            problems.append(f"{port.place} is not back after {done}: {reason}")
            continue
        if found == run.interface(port) and not server.host.links.interface(found).admin_up:
            problems.append(f"{port.place} is down after {done}, and cannot be set up; expected up, as before")
    if not problems:
        raise error
    return problems


def _lost_elsewhere(run: Run, ports: Sequence[Port], done: str) -> list[str]:
    """Ping over a port of another function of the dut, if there is one.

    Returns:
        The problem; empty when enough is answered.
    """
    others = [port for port in run.ports(Role.DUT) if port.pci != ports[0].pci]
    if not others:
        return []
    mine, theirs = others[0], run.bench.partner(others[0])
    source, destination = (str(run.bench.address(port).ip) for port in (mine, theirs))
    result = run.server_of(mine).host.links.ping(destination, source=source, count=PINGS)
    if result.received >= LEAST_ANSWERED * result.sent:
        return []
    return [
        f"{mine.place} to {theirs.name}: {result.received} of {result.sent} pings answered while {done}; "
        f"expected at least {LEAST_ANSWERED:.0%} of them"
    ]
