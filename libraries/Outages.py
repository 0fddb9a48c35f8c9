"""Outages of traffic over bonds when a link fails or returns."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.links.failure import Cause
from niclab.traffic.outage.failover import Failover
from niclab.traffic.outage.outage import Over


@library(scope="GLOBAL")
class Outages(BenchLibrary):
    """Keywords about outages of traffic over bonds, measured in milliseconds in both directions.

    The allowed outage is the sheet's ``limits.failover_within_ms``, and what the driver of a bond takes by itself. A
    measurement is repeated, at most twice, only where it proves nothing and a server stall may hide a longer outage.
    Each keyword begins with whole bonds; the link that it lets fail stays down. Why it is down is concluded from both
    ends (carrier, interface, driver, switch port, kernel log): another cause than ``by`` is a BenchFault.
    Checks of an outage raise Undecided where a server stall may hide a longer one in each of three measurements.

    | `Losing The Active Link Should Cost At Most The Allowed Outage` | by=switch-port | over=vlan-on-bond |
    | `Losing The Backup Link Should Cost Nothing` | by=cable |
    | `Losing Each Link Should Cost At Most The Allowed Outage` | by=own-link |
    | `Losing Each Link Should Cost Nothing` | by=cable-or-link |
    | `Return Of The Primary Link Should Cost At Most The Allowed Outage` | by=switch-port |
    """

    @keyword
    def losing_the_active_link_should_cost_at_most_the_allowed_outage(
        self, by: Cause = Cause.CABLE, over: Over = Over.BOND
    ) -> None:
        """Lose the active link: another one is used, the outage is within the limit, and nothing arrives twice.

        Args:
            by: The way in which the link fails.
            over: What is measured over: the bonds, or the VLANs on them.

        Raises:
            CardFailure: The outage is proven longer, packets arrived twice, or the bond stays on the lost link.
            NotApplicable: The bench cannot let the link fail in this way.
            SheetSilent: The sheet has no limit.
        """
        self._failover(by).active_link(over)

    @keyword
    def losing_the_backup_link_should_cost_nothing(self, by: Cause = Cause.CABLE) -> None:
        """Lose a backup link: no packet is lost, late or duplicated, and the active link is unchanged.

        Args:
            by: The way in which the link fails.

        Raises:
            CardFailure: A packet was lost for sure, or arrived twice, or a bond uses another link.
            Undecided: Each of three measurements lost packets while the receiver stood still, or had none for long.
            NotApplicable: The bench cannot let the link fail in this way.
        """
        self._failover(by).backup_link()

    @keyword
    def losing_each_link_should_cost_at_most_the_allowed_outage(self, by: Cause = Cause.CABLE) -> None:
        """Lose the link of each path, one when all are back from the one before: each outage is within the limit.

        Packets lost one by one count as well, and nothing arrives twice.

        Args:
            by: The way in which the links fail.

        Raises:
            CardFailure: The outage is proven longer, too many packets were lost, or packets arrived twice.
            NotApplicable: The bench cannot let a link fail in this way.
            SheetSilent: The sheet has no limit.
        """
        self._failover(by).each_link()

    @keyword
    def losing_each_link_should_cost_nothing(self, by: Cause = Cause.CABLE) -> None:
        """Lose the link of each path of a broadcast bond, one after the other: no packet is lost or late.

        Args:
            by: The way in which the links fail.

        Raises:
            CardFailure: A packet was lost for sure.
            Undecided: Each of three measurements lost packets while the receiver stood still, or had none for long.
            NotApplicable: The bench cannot let a link fail in this way.
        """
        self._failover(by).each_link_for_nothing()

    @keyword
    def return_of_the_primary_link_should_cost_at_most_the_allowed_outage(self, by: Cause = Cause.CABLE) -> None:
        """Lose the primary link and restore it: it is used again, and the outage is within the limit.

        Args:
            by: The way in which the link fails.

        Raises:
            CardFailure: The outage is proven longer, packets arrived twice, or the primary link is not used again.
            NotApplicable: The bench cannot let the link fail in this way.
            SheetSilent: The sheet has no limit.
        """
        self._failover(by).return_of_the_primary()

    def _failover(self, by: Cause) -> Failover:
        return Failover(self.run, by, logger.info, logger.warn)
