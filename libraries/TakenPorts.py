"""Ports of the dut that come back as they were: after a start, and when they were taken away."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.core.profile import Profile
from niclab.links.returning import taken_ports
from niclab.links.returning.inventory import Inventories
from niclab.links.returning.starts import SeenAtStart, Start, Starts
from niclab.links.returning.taken_ports import TakenBy


@library(scope="GLOBAL")
class TakenPorts(BenchLibrary):
    """Checks that ports come back as they were when the dut has started, or their PCI function was gone for a moment.

    They have the same PCI ids, PCI Express link, driver, firmware, interface, MAC address, speed and first bytes of the
    EEPROM, and rings and queues as when the driver had first taken them in this run.

    The journal has the way back before a function is taken away. Of a card whose ports share a function, all go and
    come back.

    | `Every Port Should Come Back` | REBIND |
    | `Every Port Should Come Back` | RESET | profile=full |
    | `Every Port Should Have Come Back With The Start` | COLD |
    | `Remember Every Port` |
    | `Every Port Should Be There` | WARM |
    | `Every Port Should Be As Remembered` | WARM |
    """

    @keyword
    def every_port_should_have_come_back_with_the_start(self, start: Start) -> None:
        """Compare every port of the dut, as it was right after `Start The Dut Once`, with what it was before.

        Args:
            start: ``WARM`` or ``COLD``.

        Raises:
            CardFailure: A port was not as before, or had no link within the sheet's ``carrier_return_within_ms``.
            BenchFault: The dut has not been started that way, it runs another kernel, only a port of the peer had no
                link, or a slot or bridge was to blame for a slower link.
            Undecided: An answer came too late to decide, or only a link between two bridges was slower.
            NotApplicable: The sheet does not know the limit.
        """
        self.run.part(Starts).require(start, SeenAtStart.INVENTORY, logger.info)

    @keyword
    def remember_every_port(self) -> None:
        """Keep what every port of the dut is for `Every Port Should Be As Remembered`.

        Raises:
            CardFailure: A port has no link, or its EEPROM cannot be read.
            BenchFault: Only a port of the peer has no link, or the dut does not answer.
            Undecided: An answer came too late to decide.
            NotApplicable: The sheet does not know the limit of a link.
        """
        self.run.part(Inventories).keep(logger.info)

    @keyword
    def every_port_should_be_there(self, start: Start) -> None:
        """Make the bench ready when the dut has started after `Remember Every Port`: no port stays away.

        Args:
            start: How it was started, for the message: ``WARM`` or ``COLD``.

        Raises:
            CardFailure: A port of the dut is missing.
            BenchFault: The bench cannot be made ready.
        """
        self.run.part(Inventories).make_ready(f"a {start.value}", logger.warn)

    @keyword
    def every_port_should_be_as_remembered(self, start: Start) -> None:
        """Compare every port of the dut with `Remember Every Port`, when the dut has started again.

        Args:
            start: How it was started, for the message: ``WARM`` or ``COLD``.

        Raises:
            CardFailure: A port is not as before, or has no link within the sheet's ``carrier_return_within_ms``.
            BenchFault: Nothing was remembered, another kernel runs, only a port of the peer has no link, or a slot or
                bridge is to blame for a slower link.
            Undecided: An answer came too late to decide, or only a link between two bridges is slower.
            NotApplicable: The sheet does not know the limit.
        """
        self.run.part(Inventories).require_as_kept(f"a {start.value}", logger.info)

    @keyword
    def every_port_should_come_back(self, way: TakenBy, profile: Profile | None = None) -> None:
        """Remove the functions of the dut in turn, give each back, and see that its ports are as they were.

        They have the same PCI ids, PCI Express link, driver, firmware, interface, MAC address, rings and queues, get
        their link within the sheet's ``carrier_return_within_ms``, and carry traffic. Meanwhile a port of another
        function carries traffic, if there is one, and no other port loses its carrier.

        Args:
            way: ``REBIND``: the driver is unbound and bound. ``RESCAN``: the function is removed from the bus, and
                found again. ``RESET``: the kernel resets the function while no driver has it, and the driver what is
                the port's own (`ethtool --reset`); what they do not offer is left out.
            profile: ``quick``: twice; ``full``: 20 times; by default that of the run.

        Raises:
            CardFailure: A port does not come back as it was, or another one is disturbed.
            BenchFault: A function cannot be taken away, or only a port of the peer has no link.
            Undecided: An answer came too late to decide, or a server stood still while pings were lost.
            NotApplicable: The dut's system, kernel or driver can do none of it, or the sheet does not know the limit.
        """
        rounds = taken_ports.ROUNDS[self.profile(profile)]
        taken_ports.require_return(self.run, way.value, rounds, logger.info)
