"""The PCI Express links above the card: width, speed and error counters."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.checks import pcie
from niclab.links.returning.starts import SeenAtStart, Start, Starts


@library(scope="GLOBAL")
class Pcie(BenchLibrary):
    """Checks of the PCI Express links from the root ports to the dut's ports.

    | `PCIe Link Should Have Come Up As On The Sheet` | COLD |
    """

    @keyword
    def pcie_link_should_be_as_on_the_sheet(self) -> None:
        """Compare the narrowest and slowest link from the root port to every port with the sheet.

        The negotiated state (LnkSta) of both ends counts, never what the slot looks like or could do (EMX-01, CARD-03).

        Raises:
            CardFailure: A path is narrower, wider, slower or faster than the sheet says.
            BenchFault: Only because a slot, riser or bridge can do no more.
            NotApplicable: The card is on conventional PCI.
            Undecided: No link above a port can be read, or a kernel may have set a slot to 2.5 GT/s that did not train.
        """
        pcie.require_link(self.run, logger.info)

    @keyword
    def pcie_link_should_have_come_up_as_on_the_sheet(self, start: Start) -> None:
        """Compare the PCI Express links as they were right after `Start The Dut Once` with the sheet.

        Args:
            start: ``WARM`` or ``COLD``.

        Raises:
            CardFailure: A path was narrower, wider, slower or faster than the sheet says.
            NotApplicable: The card is on conventional PCI.
            Undecided: No link above a port could be read.
            BenchFault: The dut has not been started that way.
        """
        self.run.part(Starts).require(start, SeenAtStart.PCIE_LINK, logger.info)

    @keyword
    def remember_pcie_errors(self) -> None:
        """Keep the error counters (AER) of every device from the root ports to the dut's ports.

        Raises:
            NotApplicable: The card has no PCI Express link, or nothing counts errors of the dut's ports.
        """
        self.run.part(pcie.PcieErrorCounters).keep()

    @keyword
    def pcie_errors_should_not_have_grown(self) -> None:
        """Compare all error counters with those of `Remember PCIe Errors`, correctable errors included.

        Raises:
            CardFailure: A counter of the card's own link grew, or is gone.
            Undecided: Only one above that link; or the dut has booted since.
            BenchFault: No counters were kept, or a device cannot be read.
            NotApplicable: None grew, and nobody counts errors of one end of the card's own link, or not all.
        """
        self.run.part(pcie.PcieErrorCounters).require_no_growth(logger.info)
