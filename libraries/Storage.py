"""Storage workloads: reads of a file that the dut serves, and disks that it uses over iSCSI and NVMe."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from log_report import reporter
from niclab.card import StorageFacts
from niclab.core.profile import Profile
from niclab.storage import disk_workloads
from niclab.storage.disk_workloads import DiskProtocol
from niclab.storage.iscsi import iscsi_workloads
from niclab.storage.nfs import nfs_limit
from niclab.storage.nfs.nfs_reads import NfsTransport
from niclab.storage.nvme import nvme_workloads
from niclab.traffic.runs import experiment


@library(scope="GLOBAL")
class Storage(BenchLibrary):
    """Keywords about files that the dut serves, and disks that it uses, through the card under test.

    | `NFS Reads Should Reach The Limit` | transport=udp | mtu=1500 |
    | `NFS Reads Should Reach The Limit` | transport=tcp | mtu=9000 | profile=full |
    | `Blocks Of Network Disks Should Come Back As They Were Written` |
    | `Blocks Of NVMe Disks Should Come Back As They Were Written` |
    """

    @keyword(name="NFS Reads Should Reach The Limit")
    def nfs_reads_should_reach_the_limit(
        self, transport: NfsTransport, mtu: int, profile: Profile | None = None
    ) -> None:
        """Read a file of the dut's memory from the peer over NFS version 3, 32 KiB at a time, over the first path.

        The log and the certificate have reads/s, Mbyte/s, frames/s, the CPUs of both servers, and the limit that binds:
        the line, the bus, the card's frames a second, a CPU, or the NFS server. Content is compared byte by byte. The
        kernel's NFS server is started for it, and ended afterwards.

        Args:
            transport: ``udp`` or ``tcp``.
            mtu: MTU of both ends in bytes.
            profile: How many runs are made, and for how long: ``quick`` 2 s each, ``full`` 10 s each.

        Raises:
            CardFailure: The sheet's fraction of line rate is missed, the baseline is, or the card damages data, or
                loses many calls or answers that its port counts.
            BenchFault: A run fails, the dut cannot serve, or the bench may be why a limit is missed.
            Undecided: The runs cannot tell, or nobody knows who has damaged data or lost many calls.
            NotApplicable: The sheet has no limit of NFS, the card does not take the MTU, a server does not run
                Linux, or there is neither a limit nor a baseline to judge by: the figures are recorded.
        """
        path = self.run.bench.paths[0]
        found = nfs_limit.measure(self.run, path, transport, mtu, self.profile(profile), logger.console)
        experiment.show(found, reporter())
        nfs_limit.judge(self.run, found, logger.info)

    @keyword(name="Blocks Of Network Disks Should Come Back As They Were Written")
    def iscsi_blocks_should_come_back(self, profile: Profile | None = None) -> None:
        """Load disks that the peer offers over iSCSI, with the initiator on the dut, over one session of each port.

        Eight volumes are written once, and then loaded by five threads each, past the system's cache: random
        operations of 8 KiB, 67 % of them reads, sequential reads and sequential writes of 256 KiB. Every block that is
        read is compared, and all of them at the end. The bytes that the program, the disks, the target and the ports
        have counted must agree. The log and the certificate have operations/s, Mbyte/s, retransmissions, the CPUs of
        both servers, and the limit that binds. The first path is measured; each further one is written, loaded once by
        the first load of the sheet, and read again.

        Args:
            profile: How many runs are made, and for how long: ``quick`` 1 s each, ``full`` 10 s each.

        Raises:
            CardFailure: The card damages data or loses frames that its port counts, or is slower than in accepted runs.
            BenchFault: The dut has no open-iscsi, the peer cannot offer the target or loses a volume of it, the session
                goes another way, operations are cut, counts disagree, a run fails, or the bench may be why a baseline
                is missed.
            Undecided: Nobody knows who has damaged data, failed operations or lost segments, if the target or the card
                is slow, or the runs cannot tell.
            NotApplicable: The sheet asks for no load over iSCSI, or a server does not run Linux.
        """
        self._load(iscsi_workloads.ISCSI, iscsi_workloads.require_asked(self.run), profile)

    @keyword(name="Blocks Of NVMe Disks Should Come Back As They Were Written")
    def nvme_blocks_should_come_back(self, profile: Profile | None = None) -> None:
        """Load disks that the peer offers by NVMe over TCP, one controller through each port, as those over iSCSI.

        Loads, content, counts and figures are those of `Blocks Of Network Disks Should Come Back As They Were Written`.
        Target and controller are those of the servers' kernels.

        Args:
            profile: How many runs are made, and for how long: ``quick`` 1 s each, ``full`` 10 s each.

        Raises:
            CardFailure: The card damages data or loses frames that its port counts, or is slower than in accepted runs.
            BenchFault: The peer cannot offer the target or loses a volume of it, the controller goes another way,
                operations are cut, counts disagree, a run fails, or the bench may be why a baseline is missed.
            Undecided: As over iSCSI.
            NotApplicable: The sheet asks for no load by NVMe, a server does not run Linux, or a kernel has no module.
        """
        self._load(nvme_workloads.NVME, nvme_workloads.require_asked(self.run), profile)

    @keyword
    def require_network_disks(self) -> None:
        """See that the sheet asks for loads of network disks, and that both servers have what these take.

        Raises:
            NotApplicable: The sheet asks for none, or a server does not run Linux.
            BenchFault: The dut has no open-iscsi.
        """
        iscsi_workloads.require_asked(self.run)

    def _load(self, protocol: DiskProtocol, facts: StorageFacts, profile: Profile | None) -> None:
        found = disk_workloads.measure(self.run, protocol, facts.workloads, self.profile(profile), logger.console)
        for answer in found:
            experiment.show(answer, reporter())
        disk_workloads.judge(self.run, found, logger.info)
