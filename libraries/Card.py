"""The card under test, the one in the dut: identity and firmware version."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.checks import firmware, identity
from niclab.checks.firmware_with_driver import require_fits_driver


@library(scope="GLOBAL")
class Card(BenchLibrary):
    """Checks of what the card is. Each asks every port and names all that fail."""

    @keyword
    def every_port_should_be_the_card_on_the_sheet(self) -> None:
        """Compare IDs, PCI class and vital product data (VPD) of every port with the sheet.

        Raises:
            CardFailure: A port has other IDs, another class or other product data, or is gone from the bus.
        """
        identity.require_ids(self.run, logger.info)

    @keyword
    def dut_should_show_as_many_ports_as_the_sheet_says(self) -> None:
        """Count the PCI functions of the card that the dut shows.

        Raises:
            CardFailure: The dut shows more or fewer than the sheet says.
        """
        identity.require_port_count(self.run)

    @keyword
    def every_port_should_have_a_mac_address_of_its_own(self) -> None:
        """Check that every port has a unicast MAC address that no other has, and the one in the bench file if given.

        The address of a port of the card is of a maker on the sheet.

        Raises:
            CardFailure: A port of the dut has not (BenchFault: of the peer alone, or the bench file says another).
        """
        identity.require_own_mac_addresses(self.run)

    @keyword
    def no_serial_number_should_be_on_both_servers(self) -> None:
        """Compare the cards' serial numbers, device serial number and product data (VPD), of both servers.

        Raises:
            CardFailure: A serial number is on both servers.
            NotApplicable: The card of the dut shows none, or that of the peer.
        """
        identity.require_own_serial_numbers(self.run, logger.info)

    @keyword
    def every_port_should_offer_the_speeds_on_the_sheet(self) -> None:
        """Compare the speeds that every port offers with the sheet.

        A module in a cage offers fewer; a port for twisted pair alone offers all.

        Raises:
            CardFailure: A port offers a speed that is not on the sheet, or does not offer one that it must.
            NotApplicable: No port shows what it offers.
            Undecided: Some ports show it, and another one does not, which is no cage without a link.
        """
        identity.require_speeds(self.run, logger.info)

    @keyword
    def every_port_should_have_a_medium_on_the_sheet(self) -> None:
        """Compare what every port connects to with the sheet: twisted pair, fibre, direct attach.

        Raises:
            CardFailure: A port connects to another medium.
            NotApplicable: The system or the driver names no medium.
            Undecided: It names that of some ports, and not that of another one, which is no cage without a link.
        """
        identity.require_media(self.run, logger.info)

    @keyword
    def firmware_should_be_as_on_the_sheet(self) -> None:
        """Judge the firmware version that every port reports.

        Raises:
            CardFailure: A version is forbidden, or neither required nor allowed.
            NotApplicable: The sheet names no versions.
            Undecided: A port reports none, or one that cannot be compared.
        """
        firmware.require_version(self.run)

    @keyword
    def all_ports_should_run_the_same_firmware(self) -> None:
        """Compare the firmware of all ports of the card.

        Raises:
            CardFailure: They differ.
            Undecided: No port reports a version.
        """
        firmware.require_same_on_all_ports(self.run)

    @keyword
    def firmware_should_fit_the_driver(self) -> None:
        """Judge the firmware of every port by what the sheet pairs with the version of its driver.

        Raises:
            CardFailure: The firmware is none that the sheet pairs with the driver.
            NotApplicable: The sheet has no pairs for the driver, or the driver does not show the firmware.
            SheetUnknown: No pair is of the version that runs.
            Undecided: A port reports no version, or one that cannot be compared, or the sheet does not want the driver.
            BenchFault: The run qualifies the vendor's package, and the kernel's driver is in its place.
        """
        require_fits_driver(self.run, logger.info)
