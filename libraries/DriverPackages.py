"""The vendor's driver package: installed, upgraded, rolled back, removed, and the driver that runs afterwards."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.bench.records import Role
from niclab.checks.chosen_driver import ChosenDriver
from niclab.checks.packages import DriverPackage, Release


@library(scope="GLOBAL")
class DriverPackages(BenchLibrary):
    """Keywords about the driver package of a server. ``server`` is ``dut`` or ``peer``.

    The state of the package before the first change is in the journal, and comes back at the end of the run at the
    latest; `Restore The Driver Package` restores it at once. Each change and each check raises CardFailure where
    package or driver is not as it says.

    | `Install The Driver Package` | PREVIOUS | dut |
    | `Driver Package Should Be Installed` | PREVIOUS | dut |
    | `Driver Should Be Of The Package` | PREVIOUS | dut |
    | `Kernel Should Bring The Driver` | dut |
    | `Remove The Driver Package` | dut |
    | `Driver Package Should Be Gone` | dut |
    | `Driver Should Be Of The Kernel` | dut |
    | `Restore The Driver Package` | dut |
    """

    @keyword
    def install_the_driver_package(self, release: Release, server: Role = Role.DUT) -> None:
        """Install a version of the package over what is there; the driver in memory stays what it is.

        Args:
            release: ``REQUIRED`` or ``PREVIOUS`` version of the sheet.
            server: ``dut`` or ``peer``.

        Raises:
            CardFailure: The package is refused, is of another architecture than the sheet's, or DKMS cannot build it.
            BenchFault: The server lacks what DKMS builds it with.
            NotApplicable: The sheet names no such version.
        """
        DriverPackage(self.run, server).install(release)

    @keyword
    def remove_the_driver_package(self, server: Role = Role.DUT) -> None:
        """Remove the package and its configuration; the driver in memory stays what it is.

        Args:
            server: ``dut`` or ``peer``.
        """
        DriverPackage(self.run, server).remove()

    @keyword
    def driver_package_should_be_installed(self, release: Release, server: Role = Role.DUT) -> None:
        """Check that the package is there, complete, in that version and the sheet's architecture.

        Args:
            release: ``REQUIRED`` or ``PREVIOUS`` version of the sheet.
            server: ``dut`` or ``peer``.
        """
        DriverPackage(self.run, server).require_installed(release)

    @keyword
    def driver_package_should_be_gone(self, server: Role = Role.DUT) -> None:
        """Check that no version of the package is installed.

        Args:
            server: ``dut`` or ``peer``.
        """
        DriverPackage(self.run, server).require_gone()

    @keyword
    def driver_should_be_of_the_package(self, release: Release, server: Role = Role.DUT) -> None:
        """Check that the module is not the kernel's own, and that it and every port report the package's version.

        Args:
            release: ``REQUIRED`` or ``PREVIOUS`` version of the sheet.
            server: ``dut`` or ``peer``.
        """
        DriverPackage(self.run, server).require_driver_of_package(release, logger.info)

    @keyword
    def kernel_should_bring_the_driver(self, server: Role = Role.DUT) -> None:
        """Skip the test where the kernel has no driver that is left when the package is removed.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            NotApplicable: The sheet names no driver that comes with the kernel.
        """
        DriverPackage(self.run, server).require_kernel_driver_known()

    @keyword
    def driver_should_be_of_the_kernel(self, server: Role = Role.DUT) -> None:
        """Check that module on disk and in memory came with the kernel, and every port reports the kernel's version.

        Args:
            server: ``dut`` or ``peer``.
        """
        DriverPackage(self.run, server).require_driver_of_kernel()

    @keyword
    def restore_the_driver_package(self, server: Role = Role.DUT) -> None:
        """Bring package, driver and boot back to what they were before the first change. Does nothing without one.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            BenchFault: They do not come back, or the server has another driver than the one that the run qualifies.
        """
        DriverPackage(self.run, server).restore()
        self.run.part(ChosenDriver).require_back(server)
