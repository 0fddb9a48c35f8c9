"""Is a bond one aggregation (802.3ad) with the switch? Asked of both, since either may be ahead of the other."""

from __future__ import annotations

from collections.abc import Sequence

from niclab.bench.records import Port
from niclab.core.verdict import BenchFault, CardFailure
from niclab.core.wait import until
from niclab.hosts.link_records import Bond
from niclab.links import switch_ports
from niclab.links.upper import Stack
from niclab.run.run import Run
from niclab.switch.records import LacpPort

AGGREGATED_WITHIN_S = 40.0
"""House rule: with the slow rate a partner may hear of the other only after 30 s (IEEE 802.1AX-2014, 6.4.4)."""
LOOK_EVERY_S = 1.0


def wait(run: Run, stacks: Sequence[Stack]) -> None:
    """Wait until every bond has all its members in one aggregation whose partner is the switch, and the switch says so
    too: on each of its ports the partner is that bond, in sync, and both sides carry frames.

    :raises CardFailure: when that is not so in time, with what is missing.
    """
    found: list[str] = []

    def aggregated() -> bool:
        found[:] = [problem for stack in stacks for problem in problems(run, stack)]
        return not found

    try:
        until(aggregated, within=AGGREGATED_WITHIN_S, what="every member aggregated", every=LOOK_EVERY_S)
    except BenchFault as error:
        raise CardFailure("\n".join([*found, f"after {AGGREGATED_WITHIN_S:g} s"])) from error


def told(run: Run, stack: Stack) -> list[tuple[Port, LacpPort]]:
    """What the switch says of each member's port."""
    return [(port, run.switch.tables.lacp(switch_ports.switch_port(run, port))) for port in stack.below]


def problems(run: Run, stack: Stack) -> list[str]:
    """What keeps the members of a bond from being one aggregation with the switch."""
    server = stack.server
    bond = server.host.bond(stack.name)
    by_port = told(run, stack)
    found = _of_bond(bond, server.name, {port.actor_system for _, port in by_port})
    address = server.host.interface(stack.name).mac
    aggregators = {port.aggregator for _, port in by_port}
    if len(aggregators) != 1 or None in aggregators:
        found.append(
            f"{run.switch.name}: the ports of {server.name} are in aggregations {sorted(map(str, aggregators))}"
        )
    for port, lacp in by_port:
        subject = f"{run.switch.name}: {lacp.port} ({port.name})"
        if lacp.partner_system != address:
            found.append(f"{subject} has partner {lacp.partner_system}; wanted: {address}, the bond of {server.name}")
        for side, flags in (("the switch", lacp.actor), ("the bond", lacp.partner)):
            if not (flags.in_sync and flags.collecting and flags.distributing) or flags.expired or flags.defaulted:
                found.append(f"{subject}: {side} is {flags}; wanted: in sync, collecting and distributing")
    return found


def _of_bond(bond: Bond, server: str, systems: set[str]) -> list[str]:
    """What the bond itself says. ``systems``: how the switch calls itself at its members' ports."""
    members = {member.name: member.aggregator_id for member in bond.slaves}
    active = bond.aggregator
    if active is None:
        return [f"{server}: the bond has no active aggregator; wanted: one with the switch"]
    problems = [
        f"{server}: {name} is in aggregator {number}; wanted: {active.id}, the active one"
        for name, number in members.items()
        if number != active.id
    ]
    if systems != {active.partner_mac}:
        found = ", ".join(sorted(systems))
        problems.append(f"{server}: the bond's partner is {active.partner_mac}, the switch calls itself {found}")
    return problems
