"""Drivers that a server builds of the source in the vendor's package (DKMS)."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.bench.records import Role
from niclab.checks.packages import DriverPackage


@library(scope="GLOBAL")
class DriverBuilds(BenchLibrary):
    """Keywords about packages that bring the driver's source. `Install The Driver Package` has it built.

    | `Driver Should Be Built For Every Kernel` | dut |
    """

    @keyword
    def driver_should_be_built_for_every_kernel(self, server: Role = Role.DUT) -> None:
        """Let DKMS build the driver as when a kernel is installed, for each that is installed and does not run.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            CardFailure: The source cannot be built, is not built by itself, or the module is of another kernel.
            BenchFault: The server can build no module at all.
            NotApplicable: The package brings its modules built, or no other kernel can be built for.
            Undecided: Nothing names the cause.
        """
        DriverPackage(self.run, server).require_built_for_others(logger.info)
