"""Firmware written to the card: up, back, and images that must be refused."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.card import Activation
from niclab.checks.firmware import FirmwareChange, Which
from niclab.checks.flashing import Writer


@library(scope="GLOBAL")
class Firmware(BenchLibrary):
    """Keywords about writing firmware. The image that brings the former firmware back is in the journal first.

    | `Activation Should Be` | POWER_CYCLE |
    | `Firmware Should Be Written By` | TOOL |
    | `Firmware Should Run` | OTHER |
    """

    @keyword
    def write_other_firmware(self) -> None:
        """Write an image of the sheet that is not what runs, on every port's card. It need not run yet.

        Raises:
            CardFailure: The card refuses it.
            SheetSilent: The sheet names no image to write, or none to come back with.
            Undecided: The vendor's tool fails and does not say that the card refused, or does not support the system.
            BenchFault: A program that the tool needs, or an image, is missing.
        """
        self.run.part(FirmwareChange).write_other()

    @keyword
    def write_firmware_back(self) -> None:
        """Write the image of what ran before `Write Other Firmware`.

        Raises:
            CardFailure: The card refuses it.
            BenchFault: No firmware was written.
        """
        self.run.part(FirmwareChange).write_back()

    @keyword
    def put_firmware_back(self) -> None:
        """Bring back what ran before `Write Other Firmware`, and make it run; nothing where that is so already.

        Raises:
            BenchFault: It cannot be written, or the dut does not come back.
        """
        self.run.part(FirmwareChange).put_back()

    @keyword
    def firmware_should_run(self, which: Which) -> None:
        """Check what every port runs. Before the sheet's way of activation, that is still what ran before.

        Args:
            which: ``OTHER``, written by `Write Other Firmware`, or ``FORMER``, what ran before.

        Raises:
            CardFailure: A port runs another version.
            BenchFault: No firmware was written.
        """
        self.run.part(FirmwareChange).require_running(which)

    @keyword
    def firmware_should_be_written_by(self, writer: Writer) -> None:
        """Skip the test unless the sheet says that this writes the firmware.

        Args:
            writer: ``DRIVER``, asked by ethtool or devlink, or ``TOOL``, of the vendor.

        Raises:
            NotApplicable: The sheet names another way, or the dut's system has none.
        """
        self.run.part(FirmwareChange).require_writer(writer)

    @keyword
    def activation_should_be(self, way: Activation) -> None:
        """Skip the test unless the sheet says that new firmware runs after this.

        Args:
            way: Way of activation, for example ``DRIVER_RELOAD``.

        Raises:
            NotApplicable: The sheet names another way.
            SheetUnknown: It does not know it.
        """
        self.run.part(FirmwareChange).require_activation(way)

    @keyword
    def foreign_image_should_be_refused(self) -> None:
        """Offer an image of another card to every port; what runs and is written stays what it was.

        Raises:
            CardFailure: A port takes it, or shows another firmware afterwards.
            Undecided: A port refuses the image of what it runs as well.
            SheetSilent: The sheet names no such image, or none of what runs.
        """
        self.run.part(FirmwareChange).require_foreign_image_refused(logger.info)

    @keyword
    def damaged_images_should_be_refused(self) -> None:
        """Offer images that are cut short or have a wrong bit to every port; nothing changes.

        They lie with the sheet's first image, with ``-truncated`` and ``-bit-flipped`` before the ending.

        Raises:
            CardFailure: A port takes one, or shows another firmware afterwards.
            Undecided: A port refuses the image of what it runs as well.
            NotApplicable: The servers have the sound image, and no such ones.
            BenchFault: They do not have the sound image, or only one of the damaged ones.
            SheetSilent: The sheet names no image, or none of what runs.
        """
        self.run.part(FirmwareChange).require_damaged_images_refused(logger.info)
