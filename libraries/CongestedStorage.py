"""Storage workloads on a congested SAN: several ports of the target behind one port of a switch."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from log_report import reporter
from niclab.core.profile import Profile
from niclab.storage.congestion import congested_loads, flow_control
from niclab.traffic.runs import experiment


@library(scope="GLOBAL")
class CongestedStorage(BenchLibrary):
    """Keywords about network disks whose sources send more than the switch's port to the dut carries.

    | `Network Disks Should Lose Nothing But What A Congested Switch Discards` | vlan=103 |
    | `Network Disks Should Work On A Congested SAN With Flow Control Off And On` | vlan=103 |
    """

    @keyword
    def network_disks_should_lose_nothing_but_what_a_congested_switch_discards(
        self, vlan: int, profile: Profile | None = None
    ) -> None:
        """Read disks over iSCSI from one port of the peer, and in turns from two of them to one port of the dut.

        Both ports of the peer and the dut's port of the first path are put into one VLAN of the switch, so that its
        port to the dut has more to send than the line carries. Sequential reads of 256 KiB, and random operations of
        8 KiB with 67 % reads, load eight volumes by five threads each. Every block that is read is compared. What TCP
        sends again must be what the switch has counted as discarded. The log and the certificate have the figures of
        both SANs, the part of each source, retransmissions, discards, pause frames, CPUs and waiting for I/O.

        Args:
            vlan: VLAN id of the switch, 1 to 4094, that nobody else uses.
            profile: How many runs are made, and for how long: ``quick`` 1 s each, ``full`` 10 s each.

        Raises:
            CardFailure: The card damages data or loses frames that its port counts, or is slower than in accepted runs.
            BenchFault: The dut has no open-iscsi, the SAN or a target cannot be made, a session goes another way,
                counts disagree, a run fails, or the bench may be why a baseline is missed.
            Undecided: Nobody knows who has damaged data or lost segments, if the target or the card is slow, nothing
                was congested, or the runs cannot tell.
            NotApplicable: The sheet asks for no load that reads, a server does not run Linux, fewer than two paths go
                through a switch, or its VLANs cannot be set.
        """
        found = congested_loads.measure(self.run, vlan, self.profile(profile), logger.console)
        experiment.show(found, reporter())
        congested_loads.judge(self.run, [found], logger.info)

    @keyword
    def network_disks_should_work_on_a_congested_san_with_flow_control_off_and_on(
        self, vlan: int, profile: Profile | None = None
    ) -> None:
        """Read disks over iSCSI on a base and a congested SAN, with the flow control of the ports off and on, in turns.

        Off: the dut's port, and those of the peer where their driver offers it, neither send nor obey pause frames.
        On: they do both. Each setting is read back, and put back; sessions begin under it. Whether the switch takes
        part is its own setting. While flow control is off, the dut's port must send no pause frame, by its driver's
        counter. Data and losses are judged with both, as without a setting. The log and the certificate compare
        operations/s, retransmissions, discards and pause frames.

        Args:
            vlan: VLAN id of the switch, 1 to 4094, that nobody else uses.
            profile: How many runs are made, and for how long: two of each load on both SANs in each session, in
                ``quick`` of 1 s in 2 sessions with each setting, in ``full`` of 10 s in 3.

        Raises:
            CardFailure: The dut's port sends pause frames although it is not to, takes a setting and does not show it,
                or the card damages data, loses frames that its port counts, or is slower than in accepted runs.
            BenchFault: The dut has no open-iscsi, the SAN or a target cannot be made, a session goes another way,
                counts disagree, a run fails, a setting cannot be put back, or the bench may be why a baseline is
                missed.
            Undecided: Pause frames were sent in one session alone, or are not counted; nobody knows who has damaged
                data or lost segments, if the target or the card is slow, nothing was congested, or the runs cannot
                tell.
            NotApplicable: The sheet asks for no load that reads, a server does not run Linux, fewer than two paths go
                through a switch, its VLANs cannot be set, or the flow control of the dut's port cannot be set.
            SheetSilent: The sheet says nothing of pause frames, or names no counter of those that a port sends.
        """
        found = flow_control.measure(self.run, vlan, self.profile(profile), logger.console)
        experiment.show(found, reporter())
        flow_control.judge(self.run, found, logger.info)
