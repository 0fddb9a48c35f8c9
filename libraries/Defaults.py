"""Settings of the dut's ports as the card is delivered, against the sheet."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.settings import coalescing, mtu, pause, queues, tunables
from niclab.settings.offloads import offloads
from niclab.settings.rings import ring_sizes


@library(scope="GLOBAL")
class Defaults(BenchLibrary):
    """Checks of settings as delivered. They change nothing.

    Each raises CardFailure where a port of the dut shows something else, and NotApplicable where the sheet says nothing
    of it.
    """

    @keyword
    def offloads_should_be_as_delivered(self) -> None:
        """Check that every offload is on or off as delivered, and fixed if and only if the sheet says so.

        Raises:
            BenchFault: A port does not show an offload of the table.
        """
        offloads.as_delivered(self.run)

    @keyword
    def rings_should_be_as_delivered(self) -> None:
        """Check that size and maximum of every ring are those of the sheet."""
        ring_sizes.as_delivered(self.run)

    @keyword
    def coalescing_should_be_as_delivered(self) -> None:
        """Check that adaptive coalescing and every parameter with a value on the sheet are as on the sheet."""
        coalescing.as_delivered(self.run)

    @keyword
    def pause_should_be_as_delivered(self) -> None:
        """Check that flow control of every port is as on the sheet: negotiation, pause frames received and sent."""
        pause.as_delivered(self.run)

    @keyword
    def queues_should_be_as_delivered(self) -> None:
        """Check that number and maximum of the queues (ethtool's channels) of every port are as on the sheet."""
        queues.as_delivered(self.run)

    @keyword
    def mtu_should_be_as_delivered(self) -> None:
        """Check that the MTU of every port is the one on the sheet."""
        mtu.as_delivered(self.run)

    @keyword
    def tunables_should_be_as_on_the_sheet(self) -> None:
        """Check that every tunable of the driver has the default that the sheet knows it to have.

        Where the manual promises another one, the log says so: the sheet decides which of the two is right (EMX-05).
        """
        tunables.as_on_the_sheet(self.run, logger.info)
