"""The modules in the cages of the dut's ports: their memories, and the light that they receive."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.core.profile import Profile
from niclab.links.optics import cage_checks, received


@library(scope="GLOBAL")
class Optics(BenchLibrary):
    """Checks of the modules in the cages of the dut's ports (SFF-8472, SFF-8636).

    Both are not applicable where the sheet names media without a cage, or where no driver shows the memory of a module.

    | `Every Module Should Be Read Right` |
    | `Received Power Should Follow The Light` |
    """

    @keyword
    def every_module_should_be_read_right(self, profile: Profile | None = None) -> None:
        """See that reads of each module agree, its checksums are right, and its readings are within its own limits.

        Args:
            profile: How many reads are compared: ``quick`` 10, ``full`` 100.

        Raises:
            CardFailure: A driver cannot read a module, reads differ, fields are mixed up, or the supply voltage is
                where the module alarms.
            Undecided: Temperature, received power, bias current or sent power is where the module alarms: air, fibre,
                the far end or an old laser may be why; or every read has the same wrong checksum or nothing where
                readings are to be, or the driver shows some modules and not another one, or one is of a kind that is
                not read.
        """
        cage_checks.require_read_right(self.run, self.profile(profile), logger.info)

    @keyword
    def received_power_should_follow_the_light(self) -> None:
        """See that the received power of each port falls to a quarter when its light goes, and returns with it.

        The cable is pulled where a command of the bench does that; elsewhere the far end is taken down.

        Raises:
            CardFailure: A reading stays that of a lit fibre, or that of a dark one.
            BenchFault: The light does not go, or the link does not return.
            Undecided: The driver shows some modules and not another one, or one is of a kind that is not read.
            NotApplicable: Also where nothing takes the light away: a far end that leaves its laser on.
        """
        received.require_following(self.run, logger.info)
