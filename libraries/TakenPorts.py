"""Ports of the dut that are taken away and given back: driver unbound, function removed from the bus or reset."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.core.profile import Profile
from niclab.links import taken_ports
from niclab.links.taken_ports import TakenBy


@library(scope="GLOBAL")
class TakenPorts(BenchLibrary):
    """Checks that ports come back as they were when their PCI function was gone for a moment.

    The journal has the way back before the function is taken away. Of a card whose ports share a function, all go and
    come back.

    | `Every Port Should Come Back` | REBIND |
    | `Every Port Should Come Back` | RESET | profile=full |
    """

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
