"""Looks into the card: the EEPROM and registers that its driver shows, and the light that says which port is which."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.links.returning import eeprom, undisturbed
from niclab.links.returning.undisturbed import LookInside


@library(scope="GLOBAL")
class Looks(BenchLibrary):
    """Checks that a look into a port shows what is there, and leaves the port as it is.

    | `Every Link Should Stay` | REGISTERS |
    """

    @keyword
    def every_eeprom_should_be_read_right(self) -> None:
        """Read the first bytes of the EEPROM of every port twice, and compare; add them up where the sheet has a sum.

        Raises:
            CardFailure: Two reads differ, one fails, or the sum is not that of the sheet (`eeprom`).
            NotApplicable: The system or the driver shows no EEPROM (`ethtool -e`).
            Undecided: It shows that of some ports, and of others none.
        """
        eeprom.require_right(self.run, logger.info)

    @keyword
    def every_link_should_stay(self, look: LookInside) -> None:
        """Look into every port of the dut in turn: no link goes meanwhile, and pings are answered afterwards.

        Args:
            look: ``REGISTERS``: dump them, and compare nothing (`ethtool -d`). ``IDENTIFY``: let the light of the port
                blink for 1 s, which nobody sees here (`ethtool -p`).

        Raises:
            CardFailure: A look fails, a port of the dut lost its link, or pings are not answered.
            BenchFault: Only ports of the peer lost their link.
            Undecided: An answer came too late to decide, a server stood still while pings were lost, or some ports
                offer the look and others not.
            NotApplicable: The system or the driver offers no such look, or the sheet does not know the limit of a link.
        """
        undisturbed.require_undisturbed(self.run, look, logger.info)
