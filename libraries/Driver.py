"""The driver of the card: which one drives the ports, its version, its origin, loading it again."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.bench.records import Role
from niclab.checks import driver, driver_memory
from niclab.checks.packages import DriverPackage
from niclab.links.returning.starts import SeenAtStart, Start, Starts


@library(scope="GLOBAL")
class Driver(BenchLibrary):
    """Checks of the driver on the dut. Each asks every port and names all that fail.

    | `Driver Should Have Been Loaded` | COLD |
    | `Package Should Be As On The Sheet` | server=peer |
    | `Reload Driver` | peer |
    """

    @keyword
    def every_port_should_be_driven_by_the_driver_on_the_sheet(self) -> None:
        """Compare the driver bound to every port, by its interface and by PCI, with the sheet.

        Raises:
            CardFailure: Another driver drives a port.
        """
        driver.require_driver(self.run)

    @keyword
    def driver_version_should_be_as_on_the_sheet(self) -> None:
        """Judge the driver version that every port reports; a driver of the kernel has the kernel's.

        Raises:
            CardFailure: A version is forbidden, or neither required nor allowed.
            NotApplicable: The driver reports none of its own.
            SheetUnknown: The sheet names no versions.
            Undecided: A port reports no version, or one that cannot be compared.
        """
        driver.require_version(self.run)

    @keyword
    def loaded_driver_should_be_the_installed_one(self) -> None:
        """Compare the build of the driver in memory with the module file that the next boot will load.

        Raises:
            CardFailure: They are of different builds, or the driver is not loaded.
            Undecided: The driver shows neither build id nor version.
        """
        driver.require_loaded_is_installed(self.run, logger.info)

    @keyword
    def driver_should_be_loaded(self) -> None:
        """Check after a boot that the driver on the sheet is in memory and bound to every port.

        Raises:
            CardFailure: It is not loaded, the lab had to load it, or a port has another driver.
        """
        driver.require_loaded(self.run)

    @keyword
    def driver_should_have_been_loaded(self, start: Start) -> None:
        """Check that the driver was in memory and bound to every port right after `Start The Dut Once`.

        Args:
            start: ``WARM`` or ``COLD``.

        Raises:
            CardFailure: It was not loaded, the lab had to load it, or a port had another driver.
            BenchFault: The dut has not been started that way.
        """
        self.run.part(Starts).require(start, SeenAtStart.DRIVER, logger.info)

    @keyword
    def driver_should_be_the_systems_own(self) -> None:
        """Check that the driver came with the system, drives every port, and nobody had to load it (CHE-03).

        Raises:
            CardFailure: The module is not the system's own, had to be loaded, or does not drive a port.
            NotApplicable: The sheet names a package of it, or no driver that comes with the system.
        """
        driver.require_own_of_system(self.run)

    @keyword
    def reload_driver(self, server: Role = Role.DUT) -> None:
        """Unload the driver of a server and load it again. Links and addresses are lost; see `Ready The Bench`.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            CardFailure: Loading the dut's driver makes the kernel complain or stop.
            BenchFault: The driver cannot be loaded again, and the kernel does not blame it.
        """
        driver.reload(self.run, server)

    @keyword
    def reloaded_driver_should_give_its_memory_back(self) -> None:
        """Load the driver of the dut again and again, and see that memory comes back. Links and addresses are lost.

        Raises:
            CardFailure: Every five reloads lose 4 MiB or more (Undecided: without reloads as well).
        """
        driver_memory.require_returned(self.run, logger.info)

    @keyword
    def package_should_be_as_on_the_sheet(self, server: Role = Role.DUT) -> None:
        """Check that the package that was found is complete, and of a version and architecture of the sheet.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            CardFailure: It is not.
            NotApplicable: The driver comes with the kernel and needs no package.
        """
        DriverPackage(self.run, server).require_as_on_sheet()
