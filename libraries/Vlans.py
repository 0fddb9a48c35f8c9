"""VLANs of both servers, on ports and on bonds."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.links.upper.vlans import HostVlans


@library(scope="GLOBAL")
class Vlans(BenchLibrary):
    """Keywords about VLANs of the servers. `Remove VLANs` undoes all of them.

    | `Put VLANs On The First Path` | dut_vlan=3 | peer_vlan=3 |
    | `Put VLANs In VLANs On The First Path` | outer=5 | inner=3 |
    | `Put VLANs On The Bonds` | vlan=3 |
    """

    @keyword("Put VLANs On The First Path")
    def put_vlans_on_the_first_path(self, dut_vlan: int, peer_vlan: int) -> None:
        """Make a VLAN on each end of the first path and move the ports' addresses to it.

        Args:
            dut_vlan: VLAN id of the dut, 1 to 4094.
            peer_vlan: VLAN id of the peer, 1 to 4094.

        Raises:
            BenchFault: There are VLANs already, or one cannot be made.
        """
        self.run.part(HostVlans).on_first_path(dut_vlan, peer_vlan)

    @keyword("Put VLANs On The Bonds")
    def put_vlans_on_the_bonds(self, vlan: int) -> None:
        """Make a VLAN on both bonds, with the addresses of the second path.

        Args:
            vlan: VLAN id, 1 to 4094.

        Raises:
            BenchFault: There are VLANs already, there is no bond, or one cannot be made.
        """
        self.run.part(HostVlans).on_bonds(vlan)

    @keyword("Put VLANs In VLANs On The First Path")
    def put_vlans_in_vlans_on_the_first_path(self, outer: int, inner: int) -> None:
        """Make a VLAN of 802.1ad on each end of the first path, and in it one of 802.1Q with the port's address.

        Args:
            outer: VLAN id of the outer tag, 1 to 4094.
            inner: VLAN id of the inner tag, 1 to 4094.

        Raises:
            BenchFault: There are VLANs already, or one cannot be made.
            NotApplicable: A system has no such tags.
        """
        self.run.part(HostVlans).in_vlans_on_first_path(outer, inner)

    @keyword("Remove VLANs")
    def remove_vlans(self) -> None:
        """Remove the VLANs, if there are any.

        Raises:
            CardFailure: A port is not as it was before: MAC, MTU, up, addresses.
            BenchFault: A VLAN cannot be removed.
        """
        self.run.part(HostVlans).remove()

    @keyword("VLANs Should Carry Traffic")
    def vlans_should_carry_traffic(self) -> None:
        """Send ten pings from both ends: every one is answered once, and both VLANs count them as received.

        Raises:
            CardFailure: A ping was not answered, or twice, or not counted.
            Undecided: A server stood still while pings were lost.
        """
        self.run.part(HostVlans).require_traffic()

    @keyword("VLANs Should Be Isolated")
    def vlans_should_be_isolated(self) -> None:
        """Send ten pings from both ends: none is answered, and nothing arrives in either VLAN, or untagged.

        Raises:
            CardFailure: A ping is answered, or a VLAN or a port receives a frame of the other VLAN.
            BenchFault: The switch has passed one on, a VLAN has sent nothing, or the watch for untagged frames does not
                work.
        """
        self.run.part(HostVlans).require_isolation()

    @keyword("VLANs Should Carry Packets Of Full Size")
    def vlans_should_carry_packets_of_full_size(self) -> None:
        """Send ten pings from both ends as long as the MTU, not to be fragmented: every one is answered.

        Raises:
            CardFailure: A packet was not answered.
            Undecided: A server stood still while packets were lost.
        """
        self.run.part(HostVlans).require_full_size(logger.info)
