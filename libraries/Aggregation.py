"""Link aggregation (802.3ad) of both servers, with the switch or over cables with each other."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.bench.records import Role
from niclab.hosts.bonds.bond_settings import LacpRate
from niclab.links.upper import lacp
from niclab.links.upper.bonds import Bonds


@library(scope="GLOBAL")
class Aggregation(BenchLibrary):
    """Keywords about link aggregation.

    | `Bond With Too Few Links Should Have No Carrier` | role=dut |
    | `Switch Should Be Asked For LACPDUs` | rate=slow |
    """

    @keyword
    def every_member_should_be_aggregated(self) -> None:
        """Wait until both bonds have all their members in one aggregation, by either side's report.

        Over a switch it is one with the switch, over cables one with each other.

        Raises:
            CardFailure: The dut's bond is not for 40 s.
            BenchFault: Only the peer's bond is not, or the switch keeps a bond from it.
        """
        lacp.require_aggregated(self.run, self.run.part(Bonds).both)

    @keyword
    def switch_should_be_asked_for_lacpdus(self, rate: LacpRate) -> None:
        """See that every member asks the switch for LACPDUs at this rate.

        Args:
            rate: ``fast`` (each second) or ``slow`` (each 30 s).

        Raises:
            CardFailure: A member of the dut asks at the other rate (BenchFault: of the peer alone).
        """
        lacp.require_rate(self.run, self.run.part(Bonds).both, rate, logger.info)

    @keyword
    def bond_with_too_few_links_should_have_no_carrier(self, role: Role) -> None:
        """Wait until the bond of a server has no carrier although it has a link: fewer than its ``min_links``.

        Args:
            role: ``dut`` or ``peer``, of whose bond a link has failed.

        Raises:
            CardFailure: The dut's bond keeps its carrier, or has no link (BenchFault: the peer's).
        """
        lacp.require_too_few_links(self.run, self.run.part(Bonds).stack(role))
