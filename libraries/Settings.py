"""Rings, coalescing, pause frames, queues and MTU of the dut's ports over the range of the sheet."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.links import carrier
from niclab.settings import coalescing, mtu, pause, queues
from niclab.settings.rings import ring_memory, ring_sizes


@library(scope="GLOBAL")
class Settings(BenchLibrary):
    """Checks that change settings of the dut's ports. Each puts back what it changes, and fails when it cannot.

    | `Ring Should Take Its Range` | rx |
    | `Coalescing Parameter Should Be Settable` | rx-usecs |
    """

    @keyword
    def ring_should_take_its_range(self, ring: str) -> None:
        """Check that a ring takes its least and largest size and no more, and that the link returns in time.

        Where the sheet says that rings cannot be set, every attempt must be refused or have no effect.

        Args:
            ring: ``rx``, ``tx``, ``rx_mini``, ``rx_jumbo``, or ``every`` for all rings of the sheet.

        Raises:
            CardFailure: A ring does not keep to the sheet, does not come back, or costs the link.
            BenchFault: A size could not be put back, or peer or switch keep a link down.
            NotApplicable: The sheet names no such ring, or knows no size of one that the driver does not offer.
            SheetUnknown: The sheet does not know its largest size.
        """
        ring_sizes.over_range(self.run, ring, logger.info, carrier.not_back)

    @keyword
    def largest_rings_should_fit_in_memory(self) -> None:
        """Check that the dut has memory for the largest receive rings, and gets it back when they become smaller.

        The memory of all ports at the largest MTU is estimated: descriptors times MTU for receiving; for sending with
        segmentation, descriptors times 64 KiB. What the ring of each port takes is measured, and shown only.

        Raises:
            CardFailure: Each change of a ring loses memory that does not come back.
            BenchFault: The dut has less memory available than estimated, or a ring could not be put back.
            Undecided: Memory goes while no ring is changed as well, or a port does not take the sizes to measure with.
            NotApplicable: The sheet knows no rings of a driver that does not offer them either.
            SheetUnknown: The sheet does not know the largest rings or the largest MTU.
        """
        ring_memory.fit_in_memory(self.run, logger.info)

    @keyword
    def coalescing_parameter_should_be_settable(self, parameter: str) -> None:
        """Check that a coalescing parameter takes another value where the sheet says that it can be set.

        Args:
            parameter: Name of a parameter of the sheet such as ``rx-usecs``, or ``every`` for all of them.

        Raises:
            CardFailure: A parameter does not keep to the sheet, or does not come back.
            BenchFault: It could not be put back.
            NotApplicable: The sheet does not name the parameter.
        """
        coalescing.set_parameter(self.run, parameter)

    @keyword
    def unsupported_coalescing_should_be_refused(self) -> None:
        """Check that coalescing parameters that the sheet does not list are refused.

        Raises:
            CardFailure: A port takes one, or a value does not come back.
            BenchFault: The parameters could not be put back.
            NotApplicable: The sheet lists no parameter, or all that are tried.
        """
        coalescing.refuse_unsupported(self.run)

    @keyword
    def pause_should_be_settable(self) -> None:
        """Check that pause frames go off and on in each direction; where the sheet says no, nothing may change.

        Raises:
            CardFailure: A port does not keep to the sheet, or its pause frames do not come back.
            BenchFault: They could not be put back.
            NotApplicable: The sheet says nothing about them.
        """
        pause.switched(self.run)

    @keyword
    def queues_should_be_settable(self) -> None:
        """Check that combined queues (ethtool's channels) go down to one and up to the most the port shows.

        Where the sheet says that queues cannot be set, no attempt may change them.

        Raises:
            CardFailure: A port does not keep to the sheet, or its queues do not come back.
            BenchFault: They could not be put back.
            NotApplicable: The sheet names no combined queues.
        """
        queues.over_range(self.run, logger.info)

    @keyword
    def mtu_should_take_its_range(self) -> None:
        """Check that every port takes the least and the largest MTU of the sheet, and refuses one byte less or more.

        Both ends of the path go down and up after every change and after the restore (EMX-08).

        Raises:
            CardFailure: A port does not keep to the sheet, or does not get its MTU back.
            BenchFault: An MTU could not be put back, or a link does not return.
            NotApplicable: The sheet does not know the largest MTU.
        """
        mtu.over_range(self.run, logger.info)
