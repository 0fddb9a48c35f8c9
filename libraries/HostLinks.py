"""The links between the servers' ports: carrier, speed, cables pulled and plugged, packets across."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.links import link_checks
from niclab.links.cable import Cable


@library(scope="GLOBAL")
class HostLinks(BenchLibrary):
    """Keywords about links, as the servers see them.

    Checks raise Undecided where an answer comes too late for a time of the sheet, or either end may make a link slow.

    | `Every Link Should Stay Up` | seconds=10 |
    """

    @keyword
    def every_link_should_be_up(self) -> None:
        """See that every port of both servers gets carrier within the sheet's ``carrier_return_within_ms``.

        Raises:
            CardFailure: A port of the dut has no carrier (BenchFault: of the peer alone).
            NotApplicable: The sheet does not know the limit.
        """
        link_checks.require_up(self.run, logger.info)

    @keyword
    def every_link_should_run_as_on_the_sheet(self) -> None:
        """See that every port runs at the sheet's speed, duplex and autonegotiation, those of them that it knows.

        Raises:
            CardFailure: A port of the dut runs otherwise (BenchFault: of the peer alone, or a partner offers less).
            NotApplicable: The sheet knows none of the three.
        """
        link_checks.require_sheet_settings(self.run)

    @keyword
    def every_link_should_carry_traffic(self) -> None:
        """Send ten pings over every path from both ends, and see every one answered once.

        Raises:
            CardFailure: A ping was not answered, or twice.
            Undecided: A server stood still while pings were lost.
        """
        link_checks.require_traffic(self.run)

    @keyword
    def every_link_should_stay_up(self, seconds: float = 3) -> None:
        """See that every port of both servers has carrier, and counts no change of it for a time.

        Args:
            seconds: The time in s.

        Raises:
            CardFailure: A port of the dut has no carrier, or counted a change (BenchFault: of the peer alone).
        """
        link_checks.require_stable(self.run, seconds, logger.info)

    @keyword
    def frames_of_the_largest_mtu_should_arrive(self) -> None:
        """Ping over every path, from both ends, with packets of the sheet's largest MTU in one piece.

        Both ends of a path get that MTU, and then their own back; both go down and up each time (EMX-08).

        Raises:
            CardFailure: A port of the dut does not take the MTU, has no link in time, or frames are lost.
            BenchFault: A port of the peer does not take it, or a link does not return after the restore.
            Undecided: A server stood still while frames were lost.
            NotApplicable: The sheet does not know the largest MTU, or the bench declares that its model deviates.
        """
        link_checks.require_largest_mtu(self.run, logger.info)

    @keyword
    def pull_a_cable(self) -> None:
        """Pull the first cable of a direct path that a command can pull; `Plug The Cable` or the journal plugs it.

        Raises:
            NotApplicable: No command of the bench pulls a cable of a direct path.
        """
        self.run.part(Cable).pull(logger.info)

    @keyword
    def plug_the_cable(self) -> None:
        """Plug the cable that `Pull A Cable` pulled. Does nothing when it is plugged."""
        self.run.part(Cable).plug()

    @keyword
    def both_ends_should_lose_carrier_in_time(self) -> None:
        """See that both ends of the pulled cable lose carrier within the sheet's ``carrier_loss_within_ms``.

        Raises:
            CardFailure: The dut still has carrier (BenchFault: the peer alone).
            BenchFault: No cable is pulled.
        """
        self.run.part(Cable).require_loss(logger.info)

    @keyword
    def both_ends_should_get_carrier_back_in_time(self) -> None:
        """See that both ends of the plugged cable have carrier within the sheet's ``carrier_return_within_ms``.

        Raises:
            CardFailure: The dut has no carrier (BenchFault: the peer alone).
            BenchFault: No cable was plugged.
        """
        self.run.part(Cable).require_return(logger.info)

    @keyword
    def other_links_should_have_kept_their_carrier(self) -> None:
        """See that no port of another path has counted a change of carrier since the cable was pulled.

        Raises:
            CardFailure: A port of the dut has (BenchFault: of the peer alone).
            BenchFault: No cable is pulled.
        """
        self.run.part(Cable).require_others_unaffected()
