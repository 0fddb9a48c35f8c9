"""The recommended configuration of the card."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.settings.recommended import RecommendedConfiguration


@library(scope="GLOBAL")
class Recommendation(BenchLibrary):
    """Keywords about the configuration that the sheet recommends."""

    @keyword
    def make_the_recommended_configuration_persistent(self) -> None:
        """Write what the sheet recommends into files that the dut reads at each start.

        `Remove The Recommended Configuration` undoes it.

        Raises:
            BenchFault: A file cannot be written.
            NotApplicable: The sheet recommends nothing that can be written.
        """
        self.run.part(RecommendedConfiguration).make_persistent(logger.info)

    @keyword
    def recommended_configuration_should_be_in_force(self) -> None:
        """Check that every port of the dut, and its kernel, show every recommended value.

        Raises:
            CardFailure: A port shows another value.
            BenchFault: The dut's udev did not set it, or a setting of its kernel has another value.
            NotApplicable: The sheet recommends nothing that can be written.
        """
        self.run.part(RecommendedConfiguration).require_in_force()

    @keyword
    def remove_the_recommended_configuration(self) -> None:
        """Remove the files and put the settings back. Does nothing when there are no files.

        Where the MTU was changed, both ends of the path go down and up (EMX-08).

        Raises:
            BenchFault: Something could not be undone.
        """
        self.run.part(RecommendedConfiguration).remove()
