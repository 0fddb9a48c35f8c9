"""VLANs of the managed switch: what it must carry, and what it must keep out."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.links import switch_ports, switched
from niclab.links.switched import SwitchedPath


@library(scope="GLOBAL")
class SwitchVlans(BenchLibrary):
    """Keywords about VLANs of the switch. `Restore Switch VLANs` undoes all of them.

    | `Put First Path In Switch VLANs` | dut_vlan=103 | peer_vlan=103 |
    | `Make Every Switch Port A Trunk` | vlan=103 |
    """

    @keyword("Put First Path In Switch VLANs")
    def put_first_path_in_switch_vlans(self, dut_vlan: int, peer_vlan: int) -> None:
        """Make the switch's ports of the first path access ports.

        Args:
            dut_vlan: VLAN id of the dut's port, 1 to 4094.
            peer_vlan: VLAN id of the peer's port, 1 to 4094.

        Raises:
            BenchFault: The switch does not.
            NotApplicable: A port is on no switch.
        """
        self.run.part(SwitchedPath).put_in_vlans(dut_vlan, peer_vlan)

    @keyword
    def make_every_switch_port_a_trunk(self, vlan: int) -> None:
        """Make every port of the switch carry a VLAN with a tag, and untagged frames as before.

        Args:
            vlan: VLAN id, 1 to 4094.

        Raises:
            BenchFault: The switch does not.
            NotApplicable: A port is on no switch.
        """
        switched.make_every_port_a_trunk(self.run, vlan)

    @keyword("Restore Switch VLANs")
    def restore_switch_vlans(self) -> None:
        """Put the VLANs of every port of the switch back to what they were, and remove those that this run made.

        Raises:
            BenchFault: One cannot be put back; the others have been.
        """
        for name in switch_ports.restore_vlans(self.run):
            logger.info(f"VLANs of the switch port of {name} put back")

    @keyword
    def first_path_should_carry_traffic(self) -> None:
        """Send ten pings from each end of the first path: every one is answered.

        Raises:
            CardFailure: A ping was not answered.
            Undecided: A server stood still while pings were lost.
        """
        self.run.part(SwitchedPath).require_traffic()

    @keyword
    def first_path_should_be_isolated(self) -> None:
        """Send ten pings from each end of the first path: none is answered, and the switch passes nothing on.

        Raises:
            BenchFault: The switch passes frames of another VLAN on, or has received none.
        """
        self.run.part(SwitchedPath).require_isolation(logger.info)
