"""The first path through the managed switch, as both sides see it."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.links import patch_panel, switched
from niclab.links.switched import SwitchedPath


@library(scope="GLOBAL")
class SwitchLinks(BenchLibrary):
    """Keywords about the paths through the switch."""

    @keyword
    def connect_every_path_to_the_switch(self) -> None:
        """Lay the card's cables to the switch where they lie directly, and prove at which port each of them is.

        Raises:
            NotApplicable: The bench has no switch, or cannot connect its paths to it.
            BenchFault: The cables do not lead where the bench file says; they are laid back.
        """
        for line in patch_panel.connect(self.run):
            logger.info(line)

    @keyword
    def lay_every_path_back(self) -> None:
        """Lay the cables as the bench file has them, and prove it. Does nothing where they have not been moved.

        Raises:
            BenchFault: The cables do not lead where the bench file says.
        """
        for line in patch_panel.disconnect(self.run):
            logger.info(line)

    @keyword
    def shut_the_switch_port(self) -> None:
        """Shut the switch's port of the dut on the first path; `Open All Shut Switch Ports` or the journal opens it.

        Raises:
            BenchFault: The switch does not shut it.
        """
        self.run.part(SwitchedPath).shut()

    @keyword
    def open_the_switch_port(self) -> None:
        """Open the switch's port of the dut on the first path.

        Raises:
            BenchFault: The switch does not open it.
        """
        self.run.part(SwitchedPath).open()

    @keyword
    def dut_should_lose_carrier_in_time(self) -> None:
        """See that the dut's port loses carrier within the sheet's ``carrier_loss_within_ms`` of the shutting.

        Raises:
            CardFailure: It still has carrier.
            BenchFault: The switch still has a link.
            Undecided: The answer came too late to decide, the switch shut its port late, or a server stood still.
        """
        self.run.part(SwitchedPath).require_carrier(False, logger.info)

    @keyword
    def dut_should_get_carrier_back_in_time(self) -> None:
        """See that the dut's port has carrier within the sheet's ``carrier_return_within_ms`` of the opening.

        Raises:
            CardFailure: It has no carrier.
            Undecided: The answer came too late to decide.
        """
        self.run.part(SwitchedPath).require_carrier(True, logger.info)

    @keyword
    def other_ports_should_have_kept_their_carrier(self) -> None:
        """See that no other port, the partner neither, has counted a change of carrier since the shutting.

        Raises:
            CardFailure: A port of the dut has (BenchFault: of the peer alone).
        """
        self.run.part(SwitchedPath).require_others_unaffected()

    @keyword
    def switch_should_report_the_lost_link(self) -> None:
        """See that the switch reports the port as down, and forgets the address that it had learned there.

        Raises:
            BenchFault: The switch does not; it is not the card that is wrong.
        """
        self.run.part(SwitchedPath).require_reported_loss()

    @keyword
    def every_frame_should_be_counted_alike(self) -> None:
        """Send 200 pings over the first path: the switch counts each port's frames as the card does, and drops none.

        Raises:
            CardFailure: A ping was not answered, or the counters of the dut's port differ for 5 s.
            Undecided: A server stood still while pings were lost.
            BenchFault: The switch drops frames or does not count, the peer's counters differ, or somebody else sends.
        """
        self.run.part(SwitchedPath).require_equal_counts()

    @keyword
    def switch_should_not_have_restarted(self) -> None:
        """See that the switch has run on since the bench was taken: a restart drops every link and counter.

        Raises:
            BenchFault: The switch has restarted.
        """
        switched.require_no_restart(self.run)
