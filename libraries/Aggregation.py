"""Link aggregation (802.3ad) of both servers with the switch: who speaks with whom, and on which links."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

from BenchLibrary import BenchLibrary
from niclab.bench.records import Role
from niclab.core.verdict import CardFailure, fail_with
from niclab.hosts.bond_settings import LacpRate
from niclab.links import lacp
from niclab.links.upper import Stack


@library(scope="GLOBAL")
class Aggregation(BenchLibrary):
    """Keywords about link aggregation. Constructing the library connects to nothing."""

    @keyword
    def every_member_should_be_aggregated(self) -> None:
        """Both bonds have all their members in one aggregation whose partner is the switch, and the switch says so too:
        on each of its ports the partner is that bond, in sync, and both sides carry frames."""
        lacp.wait(self.run, [_stack(role) for role in Role])

    @keyword
    def switch_should_be_asked_for_lacpdus(self, rate: LacpRate) -> None:
        """On every port the partner asks the switch for LACPDUs at this rate: each second (fast), or each 30 s."""
        problems = []
        for role in Role:
            for port, told in lacp.told(self.run, _stack(role)):
                found = LacpRate.FAST if told.partner.short_timeout else LacpRate.SLOW
                logger.info(f"{port.name}: the switch is asked at the rate {found.value}")
                if found is not rate:
                    problems.append(f"{port.place} asks for LACPDUs at the rate {found.value}; wanted: {rate.value}")
        fail_with(problems)

    @keyword
    def bond_with_too_few_links_should_have_no_carrier(self, role: Role) -> None:
        """The bond of a server, of which a link is lost, has no carrier in time, although it has a link."""
        run, bond = self.run, _stack(role)
        limit_ms = run.card.known(run.card.limits.carrier_loss_within_ms, "limits.carrier_loss_within_ms")
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
