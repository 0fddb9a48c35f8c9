"""Link aggregation (802.3ad) of both servers with the switch: who speaks with whom, and on which links."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

from niclab import lab, switchports
from niclab.bench import Port, Role
from niclab.hosts.bond_settings import LacpRate
from niclab.hosts.link_records import Bond
from niclab.stacks import Stack
from niclab.switch.records import LacpPort
from niclab.verdict import BenchFault, CardFailure, fail_with
from niclab.wait import until

AGGREGATED_WITHIN_S = 40.0
"""House rule: with the slow rate a partner may hear of the other only after 30 s (IEEE 802.1AX-2014, 6.4.4)."""
LOOK_EVERY_S = 1.0


@library(scope="GLOBAL")
class Aggregation:
    """Keywords about link aggregation. Constructing the library connects to nothing."""

    @keyword
    def every_member_should_be_aggregated(self) -> None:
        """Both bonds have all their members in one aggregation whose partner is the switch, and the switch says so too:
        on each of its ports the partner is that bond, in sync, and both sides carry frames."""
        problems: list[str] = []

        def aggregated() -> bool:
            problems[:] = [problem for role in Role for problem in _problems(_stack(role))]
            return not problems

        try:
            until(aggregated, within=AGGREGATED_WITHIN_S, what="every member aggregated", every=LOOK_EVERY_S)
        except BenchFault as error:
            raise CardFailure("\n".join([*problems, f"after {AGGREGATED_WITHIN_S:g} s"])) from error

    @keyword
    def switch_should_be_asked_for_lacpdus(self, rate: LacpRate) -> None:
        """On every port the partner asks the switch for LACPDUs at this rate: each second (fast), or each 30 s."""
        problems = []
        for role in Role:
            for port, told in _told(_stack(role)):
                found = LacpRate.FAST if told.partner.short_timeout else LacpRate.SLOW
                logger.info(f"{port.name}: the switch is asked at the rate {found.value}")
                if found is not rate:
                    problems.append(f"{port.place} asks for LACPDUs at the rate {found.value}; wanted: {rate.value}")
        fail_with(problems)

    @keyword
    def bond_with_too_few_links_should_have_no_carrier(self, role: Role) -> None:
        """The bond of a server, of which a link is lost, has no carrier in time, although it has a link."""
        taken, bond = lab.current(), _stack(role)
        limit_ms = taken.card.known(taken.card.limits.carrier_loss_within_ms, "limits.carrier_loss_within_ms")
        wait = bond.server.host.await_carrier(bond.name, False, within_s=2 * limit_ms / 1000)
        seen = bond.server.host.bond(bond.name)
        if not wait.seen or not seen.slaves_up:
            state = "still carrier" if not wait.seen else "no carrier"
            raise CardFailure(
                f"{role.value}: {bond.name} has {state} with {seen.slaves_up} links; wanted: no carrier, and one link "
                "at least, since it was given min_links"
            )


def _stack(role: Role) -> Stack:
    stack: Stack = BuiltIn().get_library_instance("Bonding").stack(role)
    return stack


def _told(stack: Stack) -> list[tuple[Port, LacpPort]]:
    """What the switch says of each member's port."""
    taken = lab.current()
    return [(port, taken.switch.tables.lacp(switchports.switch_port(taken, port))) for port in stack.below]


def _problems(stack: Stack) -> list[str]:
    """What keeps the members of a bond from being one aggregation with the switch."""
    taken, server = lab.current(), stack.server
    bond = server.host.bond(stack.name)
    told = _told(stack)
    problems = _of_bond(bond, server.name, {port.actor_system for _, port in told})
    address = server.host.interface(stack.name).mac
    aggregators = {port.aggregator for _, port in told}
    if len(aggregators) != 1 or None in aggregators:
        problems.append(
            f"{taken.switch.name}: the ports of {server.name} are in aggregations {sorted(map(str, aggregators))}"
        )
    for port, lacp in told:
        subject = f"{taken.switch.name}: {lacp.port} ({port.name})"
        if lacp.partner_system != address:
            problems.append(
                f"{subject} has partner {lacp.partner_system}; wanted: {address}, the bond of {server.name}"
            )
        for side, flags in (("the switch", lacp.actor), ("the bond", lacp.partner)):
            if not (flags.in_sync and flags.collecting and flags.distributing) or flags.expired or flags.defaulted:
                problems.append(f"{subject}: {side} is {flags}; wanted: in sync, collecting and distributing")
    return problems


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
