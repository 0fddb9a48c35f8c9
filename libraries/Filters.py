"""The frames that a port receives: to its own address, to the groups it has joined, of its VLANs, and no others."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.frames import filters


@library(scope="GLOBAL")
class Filters(BenchLibrary):
    """Checks of the dut's filters. Each sends frames that must arrive among those that must not.

    All are not applicable where a server does not run Linux.
    """

    @keyword
    def ports_should_receive_their_own_address_only(self) -> None:
        """Send frames to each port's address, to addresses a bit away from it, to a strange one, and broadcasts.

        Raises:
            CardFailure: A port loses frames of its own, or receives others.
        """
        filters.own_address_only(self.run, logger.info)

    @keyword
    def ports_should_receive_everything_only_while_promiscuous(self) -> None:
        """Send frames for a strange address to promiscuous ports, and again when they are not any more.

        Raises:
            CardFailure: A promiscuous port loses frames, or one that is not any more receives them.
        """
        filters.promiscuous(self.run, logger.info)

    @keyword
    def ports_should_receive_the_groups_that_they_joined(self) -> None:
        """Send frames to many groups that were joined; then, when they were left, to some of them and to others.

        How many groups that nobody has joined may get through depends on the filter that the sheet names.

        Raises:
            CardFailure: Frames to a group that was joined are lost, or too many others get through.
            NotApplicable: The sheet does not know the filter.
        """
        filters.groups(self.run, logger.info)

    @keyword
    def ports_should_receive_every_group_when_asked_to(self) -> None:
        """Send frames to groups that nobody has joined to ports that receive all groups, and to a strange address.

        Raises:
            CardFailure: Frames to a group are lost, or those for the strange address arrive.
        """
        filters.all_groups(self.run, logger.info)

    @keyword
    def ports_should_receive_further_addresses(self) -> None:
        """Send frames to addresses that ports were given in addition to their own.

        Raises:
            CardFailure: Frames to one of them are lost.
        """
        filters.more_addresses(self.run, logger.info)

    @keyword
    def ports_should_receive_at_a_changed_address(self) -> None:
        """Give each port another MAC address, send frames to it and to the old one, and the same after its return.

        Raises:
            CardFailure: A port loses frames to the address that it has, or receives those to the one it had.
            BenchFault: An address cannot be set or put back.
        """
        filters.changed_address(self.run, logger.info)

    @keyword("VLAN Filter Should Pass The Own VLANs Only")
    def vlan_filter_should_pass_the_own_vlans_only(self) -> None:
        """Send frames of many VLANs to a port that is in some of them, from low to high ids.

        Raises:
            CardFailure: Frames of an own VLAN are lost or have another tag, or those of another VLAN arrive.
            BenchFault: A VLAN cannot be made or removed.
            NotApplicable: The dut does not filter VLANs.
        """
        filters.vlans(self.run, logger.info)

    @keyword("VLAN Filter Should Work In Every Word And Bit")
    def vlan_filter_should_work_in_every_word_and_bit(self) -> None:
        """Send frames of 128 VLANs to a port that is in them, one in each word of its table, and of their neighbours.

        Raises:
            CardFailure: Frames of an own VLAN are lost or have another tag, or those of another VLAN arrive.
            BenchFault: A VLAN cannot be made or removed.
            NotApplicable: The dut does not filter VLANs.
        """
        filters.vlans(self.run, logger.info, filters.TABLE, filters.PER_VLAN)
