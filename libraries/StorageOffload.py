"""Disks over iSCSI by the card's own engine."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from log_report import reporter
from niclab.core.profile import Profile
from niclab.storage.offload import offload_answer, offload_turns
from niclab.traffic.runs import experiment


@library(scope="GLOBAL")
class StorageOffload(BenchLibrary):
    """Keywords about disks that the dut uses through an engine of the card that speaks iSCSI in place of the server.

    | `Network Disks By The Engine Should Match Those By Software` | profile=full |
    """

    @keyword
    def network_disks_by_the_engine_should_match_those_by_software(self, profile: Profile | None = None) -> None:
        """Load disks that the peer offers by the card's engine, in turns with the software initiator, over one path.

        The kernel module of the engine is loaded, and open-iscsi gets a record of its interface, whose values are read
        back: transport, MAC or interface, IP address, netmask, MTU, no VLAN. Both have a session with disks of their
        own. Each load of the sheet's section ``iscsi`` runs in turns; every block that is read is compared. Judged
        are the MAC address that the peer sees, the commands at the target for each operation, which tell how far
        transfers are cut, and the operations a second against those of the software initiator. The log and the
        certificate have both, with the CPUs of the dut and their waiting for I/O.

        Args:
            profile: How many turns are made, and for how long: ``quick`` 1 s each load, ``full`` 4 s each.

        Raises:
            CardFailure: The engine has another MAC address than on the sheet, cuts transfers that the software
                initiator does not, or loses more operations a second than on the sheet.
            BenchFault: open-iscsi or the target cannot be used, counts disagree, or a setting of the server or the
                target cuts transfers.
            Undecided: The port has no engine, a server stood still, another station may have the session's address,
                nobody knows who has damaged data, or the runs cannot tell.
            NotApplicable: The sheet has no engine or no load over iSCSI, the dut's kernel has no such transport, or a
                server does not run Linux.
        """
        found = offload_turns.measure(self.run, self.profile(profile), logger.console)
        experiment.show(found, reporter())
        offload_answer.judge(self.run, found, logger.info)
