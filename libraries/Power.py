"""The servers' power: cycles, restarts, and recovery."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.bench.records import Role
from niclab.checks.flash.cut_writes import CutWrites
from niclab.checks.packages import DriverPackage
from niclab.links.returning.starts import Start, Starts


@library(scope="GLOBAL")
class Power(BenchLibrary):
    """Keywords about power. ``server`` is ``dut`` or ``peer``.

    | `Start The Dut Once` | COLD |
    | `Make The Driver Load At Boot` | peer |
    | `Reboot` | dut |
    | `Power Cycle` | peer |
    | `Reset By BMC` | dut |
    """

    @keyword(tags=["boots"])
    def power_cycle(self, server: Role) -> None:
        """Cut the power, restore it, wait until the server runs again.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            BenchFault: The BMC does not answer, or the server does not come back in its time.
        """
        self.run.server(server).power_cycle()

    @keyword(tags=["boots"])
    def reboot(self, server: Role) -> None:
        """Restart the operating system in an orderly way, wait until it runs again.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            BenchFault: The server does not come back in its time.
        """
        self.run.server(server).reboot()

    @keyword
    def make_the_driver_load_at_boot(self, server: Role = Role.DUT) -> None:
        """Write the entry for the boot that the driver's manual asks for, in place of any that is there.

        `Start The Dut Once` starts the dut again afterwards, also where this run has done so before.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            NotApplicable: The sheet asks for none.
            BenchFault: It cannot be written.
        """
        DriverPackage(self.run, server).set_to_load()
        if server is Role.DUT:
            self.run.part(Starts).forget()

    @keyword(tags=["boots-the-dut-once"])
    def start_the_dut_once(self, start: Start) -> None:
        """Start the dut again unless this run has done so that way; afterwards its links are up as they were.

        What a start shows is looked at right after it, and kept for every test that asks: the driver, the PCIe links.

        Args:
            start: ``WARM``: a restart in an orderly way. ``COLD``: the BMC cuts the power and restores it.

        Raises:
            NotApplicable: ``COLD``, and the dut has no BMC.
            BenchFault: The dut does not come back in its time.
        """
        if not self.run.part(Starts).once(start, logger.warn):
            logger.info(f"this run has made a {start.value} of the dut already; what it showed is kept")

    @keyword(tags=["boots"])
    def firmware_should_be_writable_after_power_loss(self) -> None:
        """Cut the dut's power while an image is written into a port, and write again; one port after the other.

        It may destroy a card: nothing is done unless the sheet says that the card survives it. Afterwards every port
        holds the other image of the sheet, which need not run yet; `Put Firmware Back` goes back.

        Raises:
            CardFailure: A port is gone afterwards, cannot be set up, or refuses an image of the sheet.
            Undecided: Each write was over before the power was gone, or ended by itself with an error; or a port runs a
                firmware that nobody wrote.
            NotApplicable: The sheet does not say that the card survives it, firmware is written in another way, or the
                dut has no BMC.
            SheetUnknown: The sheet says that nobody knows.
            BenchFault: An image or a program is missing, or the dut does not come back in its time.
        """
        CutWrites(self.run).require_writable(logger.info)

    @keyword(tags=["boots"])
    def reset_by_bmc(self, server: Role) -> None:
        """Press the reset button by the BMC, wait until the server runs again. For a server that hangs.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            BenchFault: The BMC does not answer, or the server does not come back in its time.
        """
        self.run.server(server).reset()
