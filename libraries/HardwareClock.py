"""The hardware clock of a port (IEEE 1588), and the time stamps that it gives to frames."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.core.profile import Profile
from niclab.frames.clocks import clock_checks


@library(scope="GLOBAL")
class HardwareClock(BenchLibrary):
    """Checks of the clocks of the dut's ports. Each puts the clock and its stamps back as they were.

    Every port of the dut with a path is judged. All are not applicable where a server does not run Linux, or no port's
    driver offers a clock; undecided where one port's does and another one's does not. A program that sets the clock,
    such as ptp4l, is the bench's fault.

    | `Every Clock Should Run` | profile=full |
    | `Every Clock Should Take Rates` | profile=full |
    | `Received Frames Should Be Stamped` | profile=full |
    | `Sent Frames Should Be Stamped` | profile=full |
    """

    @keyword
    def every_clock_should_run(self, profile: Profile | None = None) -> None:
        """Read every clock for some seconds.

        Args:
            profile: How long each is read: ``quick`` 1 s, ``full`` 20 s.

        Raises:
            CardFailure: A reading is earlier than the one before, or the rate is not that of IEEE 802.3, with room for
                the server's own clock.
            Undecided: The server's own clock may be at fault.
        """
        clock_checks.runs(self.run, self.profile(profile), logger.info)

    @keyword
    def every_clock_should_take_times(self) -> None:
        """Set every clock 1000 s forward, and back.

        Raises:
            CardFailure: A clock shows another time than it was set to, or refuses it.
        """
        clock_checks.takes_times(self.run, logger.info)

    @keyword
    def every_clock_should_take_rates(self, profile: Profile | None = None) -> None:
        """Let every clock go faster and slower by 1 %, or by half of the most that its driver offers.

        Args:
            profile: How long each rate is measured: ``quick`` 0.5 s, ``full`` 10 s.

        Raises:
            CardFailure: The rate changes by another amount, or is refused.
            Undecided: The measurement is too coarse.
        """
        clock_checks.takes_rates(self.run, self.profile(profile), logger.info)

    @keyword
    def received_frames_should_be_stamped(self, profile: Profile | None = None) -> None:
        """Have the peer answer frames one by one.

        Args:
            profile: How many frames: ``quick`` 20, ``full`` 200.

        Raises:
            CardFailure: An answer has no stamp, or one of another time.
            Undecided: Frames are lost, or the dut stood still.
        """
        clock_checks.stamps_received(self.run, self.profile(profile), logger.info)

    @keyword
    def sent_frames_should_be_stamped(self, profile: Profile | None = None) -> None:
        """Send frames one by one, each of which asks for its stamp.

        Args:
            profile: How many frames: ``quick`` 20, ``full`` 200.

        Raises:
            CardFailure: A frame has no stamp, several, that of another frame, or one of another time.
            Undecided: Frames are lost, or the dut stood still.
        """
        clock_checks.stamps_sent(self.run, self.profile(profile), logger.info)
