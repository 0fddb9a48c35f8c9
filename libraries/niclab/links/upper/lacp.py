"""Is a bond one aggregation (802.3ad)? Asked of both sides, since either may be ahead of the other.

Over a switch its partner is the switch; over cables it is the other server's bond.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from niclab.bench.records import Port, Role, Wiring
from niclab.core.verdict import Collected, Trouble, blame
from niclab.core.wait import persistent_problems
from niclab.hosts.bonds.bond_records import Bond
from niclab.hosts.bonds.bond_settings import LacpRate
from niclab.links import switch_ports
from niclab.links.upper.upper_devices import Stack
from niclab.run.run import Run
from niclab.switch.switch_records import LacpPort

AGGREGATED_WITHIN_S = 40.0
"""Assumption: with the slow rate a partner may hear of the other only after 30 s (IEEE 802.1AX-2014, 6.4.4)."""
LOOK_EVERY_S = 1.0
_CARRIES, _STATE_OF_INTEREST = 0x38, 0xF8
"""Bits of an LACP state (IEEE 802.1AX, 6.4.2.3): in sync, collecting, distributing; besides them defaulted, expired."""


def require_aggregated(run: Run, stacks: Sequence[Stack]) -> None:
    """Wait until every bond has all its members in one aggregation: with the switch, or over cables with each other.

    The switch must report the same: on each of its ports the partner is that bond, in sync, and both sides carry
    frames.

    Args:
        run: The qualification run.
        stacks: The bonds of both servers.

    Raises:
        CardFailure: What is missing when the time is over, of the dut's bond among others.
        BenchFault: What is missing is of the switch or of the peer's bond; or one of them does not answer.
    """
    over_cables = all(path.through is Wiring.DIRECT for path in run.bench.paths)

    def look() -> list[Trouble]:
        if over_cables:
            return problems_over_cables(stacks)
        return [problem for stack in stacks for problem in problems(run, stack)]

    found = persistent_problems(
        look,
        within=AGGREGATED_WITHIN_S,
        every=LOOK_EVERY_S,
    )
    if found:
        blame([*found, Trouble(f"after {AGGREGATED_WITHIN_S:g} s", of_card=False)])


def require_rate(run: Run, stacks: Sequence[Stack], rate: LacpRate, say: Callable[[str], object]) -> None:
    """See that every member asks the switch for LACPDUs at a rate.

    Args:
        run: The qualification run.
        stacks: The bonds.
        rate: The rate.
        say: Takes the rate of each member.

    Raises:
        CardFailure: Naming the members that ask at the other rate, one of the dut among them.
        BenchFault: Only members of the peer's bond do, or the switch does not answer.
    """
    judged = Collected()
    for port in (each for stack in stacks for each in stack.below):
        with judged.one():
            partner = _reported_at(run, port).partner
            found = LacpRate.FAST if partner.short_timeout else LacpRate.SLOW
            say(f"{port.name}: the switch is asked at the rate {found.value}")
            if found is not rate:
                blame([port.trouble(f"asks for LACPDUs at the rate {found.value}; expected {rate.value}")])
    judged.end()


def require_too_few_links(run: Run, stack: Stack) -> None:
    """Wait until a bond has no carrier although it has a link: fewer than its ``min_links``.

    Args:
        run: The qualification run.
        stack: The bond, of which a link has failed.

    Raises:
        CardFailure: The dut's keeps its carrier within twice the sheet's ``carrier_loss_within_ms``, or has no link.
        BenchFault: The peer's does.
    """
    limit_ms = run.card.known(run.card.limits.carrier_loss_within_ms, "limits.carrier_loss_within_ms")
    gone = stack.server.host.links.await_carrier(stack.name, False, within_s=2 * limit_ms / 1000)
    seen = stack.server.host.bonds.bond(stack.name)
    if not gone or not seen.slaves_up:
        state = "still carrier" if not gone else "no carrier"
        text = (
            f"{stack.server.name}: {stack.name} has {state} with {seen.slaves_up} links; expected no carrier, and one "
            "link at least, since it was given min_links"
        )
        blame([Trouble(text, stack.server.role is Role.DUT)])


def _reported(run: Run, stack: Stack) -> list[tuple[Port, LacpPort]]:
    """Return the switch's report on each member's port."""
    return [(port, _reported_at(run, port)) for port in stack.below]


def _reported_at(run: Run, port: Port) -> LacpPort:
    return run.switch.tables.lacp(switch_ports.switch_port(run, port))


def problems_over_cables(stacks: Sequence[Stack]) -> list[Trouble]:
    """Find what keeps two bonds from being one aggregation with each other.

    Args:
        stacks: The bonds of both servers.

    Returns:
        The problems; empty when there is none. They are the card's where the dut's bond reports them.
    """
    addresses = [stack.server.host.links.interface(stack.name).mac for stack in stacks]
    found = list[Trouble]()
    for stack, partner in zip(stacks, reversed(addresses), strict=True):
        name, bond = stack.server.name, stack.server.host.bonds.bond(stack.name)
        said = _of_bond(bond, name, {str(partner)}, "the other bond")
        said += [
            f"{name}: {member.name} hears LACPDUs of {member.partner_mac}; expected {partner}, the other bond"
            for member in bond.slaves
            if member.partner_mac != partner
        ]
        said += [
            f"{name}: {member.name}: {side} has LACP state {state:#04x}; expected in sync, collecting and distributing"
            for member in bond.slaves
            for side, state in (("the bond", member.actor_state), ("the other bond", member.partner_state))
            if state is not None and state & _STATE_OF_INTEREST != _CARRIES
        ]
        if bond.aggregator is not None and bond.aggregator.ports != len(stack.below):
            said.append(f"{name}: {bond.aggregator.ports} members are aggregated; expected all {len(stack.below)}")
        found += [Trouble(text, stack.server.role is Role.DUT) for text in said]
    return found


def problems(run: Run, stack: Stack) -> list[Trouble]:
    """Find what keeps the members of a bond from being one aggregation with the switch.

    Args:
        run: The qualification run.
        stack: The bond.

    Returns:
        The problems, of the bond and of the switch; empty when there is none. They are the card's where the bond is
        the dut's and the switch is not what keeps it from being one.
    """
    server = stack.server
    bond = server.host.bonds.bond(stack.name)
    by_port = _reported(run, stack)
    found = _of_bond(bond, server.name, {port.actor_system for _, port in by_port})
    address = server.host.links.interface(stack.name).mac
    aggregators = {port.aggregator for _, port in by_port}
    if len(aggregators) != 1 or None in aggregators:
        found.append(
            f"{run.switch.name}: the ports of {server.name} are in aggregations {sorted(map(str, aggregators))}"
        )
    for port, lacp in by_port:
        subject = f"{run.switch.name}: {lacp.port} ({port.name})"
        if lacp.partner_system != address:
            found.append(f"{subject} has partner {lacp.partner_system}; expected {address}, the bond of {server.name}")
        for side, flags in (("the switch", lacp.actor), ("the bond", lacp.partner)):
            if not (flags.in_sync and flags.collecting and flags.distributing) or flags.expired or flags.defaulted:
                found.append(f"{subject}: {side} is {flags}; expected in sync, collecting and distributing")
    cause = _fault_of_switch([lacp for _, lacp in by_port], address)
    if found and cause is not None:
        found.insert(0, f"{run.switch.name}: {cause}")
    return [Trouble(text, stack.server.role is Role.DUT and cause is None) for text in found]


def _fault_of_switch(ports: Sequence[LacpPort], address: str | None) -> str | None:
    """Return what at the switch alone keeps its ports from being one aggregation with the bond of the ``address``."""
    for port in ports:
        if not port.actor.aggregatable:
            return f"LACP is off at {port.port}"
    systems, keys = ({getattr(port, name) for port in ports} for name in ("actor_system", "partner_key"))
    if len(systems) != 1:
        return f"calls itself {', '.join(sorted(systems))} at ports of one bond; expected one name"
    heard = all(
        port.partner_system == address and port.partner.in_sync and not (port.partner.expired or port.partner.defaulted)
        for port in ports
    )
    if not heard or len(keys) != 1:
        return None
    for port in ports:
        carries = port.partner.collecting and port.partner.distributing
        if not port.actor.in_sync or (carries and not (port.actor.collecting and port.actor.distributing)):
            return f"{port.port} does not join, although its partner is ready"
    aggregators = {port.aggregator for port in ports}
    if len(aggregators) != 1 or None in aggregators:
        return "keeps the links of one bond apart, although their partner is ready"
    return None


def _of_bond(bond: Bond, server: str, systems: set[str], partner: str = "the switch") -> list[str]:
    """Return the problems that the bond itself reports.

    ``systems``: the identifiers by which its ``partner`` calls itself at its members' ports.
    """
    members = {member.name: member.aggregator_id for member in bond.slaves}
    active = bond.aggregator
    if active is None:
        return [f"{server}: the bond has no active aggregator; expected one with {partner}"]
    problems = [
        f"{server}: {name} is in aggregator {number}; expected {active.id}, the active one"
        for name, number in members.items()
        if number != active.id
    ]
    if systems != {active.partner_mac}:
        found = ", ".join(sorted(systems))
        problems.append(f"{server}: the bond's partner is {active.partner_mac}, {partner} calls itself {found}")
    return problems
