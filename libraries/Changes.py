"""Settings that change under traffic, settings that must be kept, and the card's self test."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.core.profile import Profile
from niclab.frames import changes
from niclab.links import carrier
from niclab.settings import survival


@library(scope="GLOBAL")
class Changes(BenchLibrary):
    """Checks that change settings of the dut. Each puts back what it changes, and fails when it cannot.

    | `Self Test Should Pass` | offline=True |
    | `Traffic Should Survive Changes Of Settings` | profile=full | seed=2718281828 |
    """

    @keyword
    def traffic_should_survive_changes_of_settings(
        self, profile: Profile | None = None, seed: int | None = None
    ) -> None:
        """Change settings in an order drawn from a seed, while numbered frames flow both ways over the first path.

        The log and the certificate name the seed, each setting, and what the port does not offer. After each change
        link and frames have the time of the sheet to return.

        Args:
            profile: How many changes: ``quick`` one of each kind of setting that the port has, ``full`` every one.
            seed: Repeats the draw of an earlier run; without it the draw is another each time.

        Raises:
            CardFailure: A setting is not taken, frames stay away for longer than the sheet allows a link to return, or
                are lost otherwise meanwhile, lost or damaged afterwards, or come behind later ones, unless they may
                have waited in a queue of the system while the number of queues changed.
            BenchFault: A setting could not be put back.
            Undecided: A server stood still while frames stayed away or were lost.
            NotApplicable: The port has no setting that can be changed, or a server does not run Linux.
        """
        changes.under_traffic(self.run, self.profile(profile), logger.info, seed)

    @keyword
    def settings_should_survive_down_and_up(self) -> None:
        """Change rings and coalescing of every port, take the port down and up, and read them again.

        Raises:
            CardFailure: A setting is another one afterwards, or the link does not return in time.
            BenchFault: A setting could not be put back, or peer or switch keep a link down.
            NotApplicable: The sheet says of no setting that it can be set.
        """
        survival.over_down_and_up(self.run, logger.info, carrier.not_back)

    @keyword
    def self_test_should_pass(self, offline: bool) -> None:
        """Let every port test itself.

        Args:
            offline: Every test, which takes the link down meanwhile; else those that leave the port in use.

        Raises:
            CardFailure: The test fails by its driver's verdict, or the link does not return in time.
            BenchFault: The result cannot be read, or peer or switch keep a link down.
            NotApplicable: The driver or the system has no self test.
        """
        survival.self_test(self.run, offline, logger.info, carrier.not_back)
