"""Virtual functions: cards that a port makes of itself, for guests of the server (SR-IOV)."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.frames.functions import function_checks, function_leaving


@library(scope="GLOBAL")
class VirtualFunctions(BenchLibrary):
    """Checks of the virtual functions of the dut's ports. Each makes functions, and removes them.

    The dut's own system drives them. Their frames are numbered and hashed, and are exchanged with the peer.

    Every port of the dut with a path is judged. All are not applicable where a server does not run Linux, or no port's
    driver offers virtual functions; undecided where one port's does and another one's does not.

    | `Every Port Should Make All Of Its Functions` |
    | `Functions Should Carry Their Own Frames` |
    """

    @keyword
    def every_port_should_make_all_of_its_functions(self) -> None:
        """Let every port have one function, and as many as it offers; remove them each time.

        Raises:
            CardFailure: The number is not that of the sheet, one is not made, has no interface, no link or the address
                of another one, or does not go.
            BenchFault: The dut binds no driver to functions that are made.
            Undecided: The sheet names functions, and the system or the driver makes none, or has no driver for them.
        """
        function_checks.made_and_removed(self.run, logger.info)

    @keyword
    def functions_should_carry_their_own_frames(self) -> None:
        """Exchange frames of all functions of a port, and of the port, with the peer, and between functions.

        Raises:
            CardFailure: A frame is lost, damaged, or delivered to another function or to the port.
        """
        function_checks.carry_frames(self.run, logger.info)

    @keyword
    def functions_should_refuse_spoofed_addresses(self) -> None:
        """Send frames from functions whose source is a strange address, or that of the port.

        Raises:
            CardFailure: One gets out while the spoof check is on, a frame from the function's own address does not, or
                the spoof check cannot be switched on, though the driver has one.
            NotApplicable: The driver checks no addresses.
        """
        function_checks.refuse_spoofed(self.run, logger.info)

    @keyword("Functions Should Keep Their VLAN")
    def functions_should_keep_their_vlan(self) -> None:
        """Put one function into a VLAN: it sends and receives without a tag what has one on the wire.

        Raises:
            CardFailure: A frame has another tag, gets in from another VLAN, or is lost, or the VLAN is refused, though
                the driver has them.
            NotApplicable: The driver puts no function into a VLAN.
        """
        function_checks.keep_their_vlan(self.run, logger.info)

    @keyword("Functions Should Send In Their VLAN Only")
    def functions_should_send_in_their_vlan_only(self) -> None:
        """Put a function into a VLAN, and send frames from it that have a tag of another VLAN.

        Raises:
            CardFailure: One gets out in another VLAN, or a frame without a tag does not.
            NotApplicable: The driver puts no function into a VLAN.
        """
        function_checks.send_in_their_vlan(self.run, logger.info)

    @keyword
    def functions_should_go_while_they_send(self) -> None:
        """Remove functions that send while frames flow over the other ports, and make them again.

        Raises:
            CardFailure: They do not go or come again, or a frame of another port, or any frame afterwards, is lost.
        """
        function_leaving.leave_under_traffic(self.run, logger.info)

    @keyword
    def functions_should_be_made_again_after_a_reload(self) -> None:
        """Load the driver again while a port has functions: the port carries frames, and new functions do.

        Raises:
            CardFailure: The driver, a link or functions do not come again, or a frame is lost.
        """
        function_leaving.return_after_reload(self.run, logger.info)

    @keyword
    def functions_should_leave_other_ports(self) -> None:
        """Make functions of one port and remove them while frames flow over the others.

        Raises:
            CardFailure: A frame of another port is lost or damaged.
        """
        function_checks.leave_other_ports(self.run, logger.info)

    @keyword
    def functions_should_survive_their_port(self) -> None:
        """Take a port that has functions down and up, and exchange frames of all of them.

        Raises:
            CardFailure: A link does not return in the time of the sheet, or a frame is lost.
        """
        function_checks.survive_their_port(self.run, logger.info)
