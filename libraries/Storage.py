"""Storage workloads: reads of a file that the dut serves."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from log_report import reporter
from niclab.core.profile import Profile
from niclab.storage import nfs_limit
from niclab.storage.nfs_reads import NfsTransport
from niclab.traffic.runs import experiment


@library(scope="GLOBAL")
class Storage(BenchLibrary):
    """Keywords about servers of files, with the card under test in the server.

    | `NFS Reads Should Reach The Limit` | transport=udp | mtu=1500 |
    | `NFS Reads Should Reach The Limit` | transport=tcp | mtu=9000 | profile=full |
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
            CardFailure: The sheet's fraction of line rate is missed, the baseline is, or the card damages data.
            BenchFault: A run fails, the dut cannot serve, or the bench may be why a limit is missed.
            Undecided: The runs cannot tell, or nobody knows who has damaged data.
            NotApplicable: The sheet has no limit of NFS, the card does not take the MTU, a server does not run
                Linux, or there is neither a limit nor a baseline to judge by: the figures are recorded.
        """
        path = self.run.bench.paths[0]
        found = nfs_limit.measure(self.run, path, transport, mtu, self.profile(profile), logger.console)
        experiment.show(found, reporter())
        nfs_limit.require_undamaged(self.run, found, logger.info)
        experiment.judge(self.run.notes, [found])
