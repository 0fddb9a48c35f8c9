"""Storage over bonds, one of whose links fails and returns."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.links.failure import Cause
from niclab.storage.iscsi.iscsi_failover import DisksFailover
from niclab.storage.nfs import nfs_failover
from niclab.storage.nfs.nfs_failover import NfsFailover
from niclab.traffic.outage.failover import Failover


@library(scope="GLOBAL")
class StorageFailover(BenchLibrary):
    """Keywords about files and disks over active-backup bonds of both servers while a link fails, and while it returns.

    | `Network Disks Should Survive The Loss And Return Of A Link` | by=cable-or-link |
    | `NFS Reads Should Survive The Loss And Return Of A Link` | by=cable-or-link |
    """

    @keyword
    def network_disks_should_survive_the_loss_and_return_of_a_link(self, by: Cause = Cause.CABLE) -> None:
        """Read and write disks over iSCSI and the bonds while the active link fails, and while it returns.

        Forty threads read and write blocks of 8 KiB at random places of eight volumes, 67 % reads. No operation may
        fail, every block that is read is compared, and all of them at the end. No operation waits for longer than twice
        the allowed outage of the bonds and the timer of TCP, which waits twice as long each time before it sends again.
        Whether the session kept its TCP connection is recorded.

        Args:
            by: The way in which the link fails.

        Raises:
            CardFailure: An operation waited for longer than the limit, or a bond does not use the link that it should.
            Undecided: A server stall may hide that in each of three measurements, operations failed within the limit,
                or blocks came back changed: nobody knows who has done it.
            NotApplicable: The sheet asks for no load, a server does not run Linux, or the bench cannot let the link
                fail in this way.
            SheetSilent: The sheet has no limit of outages.
            BenchFault: The dut has no open-iscsi, the target cannot be made, the session goes another way, a program
                fails, or both ends show another cause of the lost link.
        """
        DisksFailover(self.run, Failover(self.run, by, logger.info, logger.warn)).measure()

    @keyword(name="Require NFS Reads")
    def require_nfs_reads(self) -> None:
        """See that the sheet has a limit of NFS, and that both servers have what reads take.

        Raises:
            NotApplicable: The sheet has none, or a server does not run Linux.
            BenchFault: The dut has no NFS server installed, or another one runs there.
        """
        nfs_failover.require_asked(self.run)

    @keyword(name="NFS Reads Should Survive The Loss And Return Of A Link")
    def nfs_reads_should_survive_the_loss_and_return_of_a_link(self, by: Cause = Cause.CABLE) -> None:
        """Read a file of the dut over NFS, TCP and the bonds while the active link fails, and while it returns.

        Four calls of 32 KiB are under way. None may fail, and the bytes of each answer are compared. Answers may be
        missing for no longer than twice the allowed outage of the bonds and the timer of TCP, which waits twice as long
        each time before it sends again.

        Args:
            by: The way in which the link fails.

        Raises:
            CardFailure: No call was answered for longer than the limit, or a bond does not use the link that it should.
            Undecided: A server stall may hide that in each of three measurements, calls failed within the limit, or
                data came back changed: nobody knows who has done it.
            NotApplicable: The sheet has no limit of NFS, a server does not run Linux, or the bench cannot let the link
                fail in this way.
            SheetSilent: The sheet has no limit of outages.
            BenchFault: The dut cannot serve, the client has no connection, a program fails, or both ends show another
                cause of the lost link.
        """
        NfsFailover(self.run, Failover(self.run, by, logger.info, logger.warn)).measure()
