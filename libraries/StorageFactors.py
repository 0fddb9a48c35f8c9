"""Settings of the dut under disks that it uses over iSCSI: each alone, and checksum offload."""

from __future__ import annotations

from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from log_report import reporter
from niclab.core.profile import Profile
from niclab.storage.factors import checksum_offload, iscsi_factors


@library(scope="GLOBAL")
class StorageFactors(BenchLibrary):
    """Keywords about settings of the card under test while the dut uses disks of the peer over iSCSI.

    Runs with and without a setting are made in turns, each in a session that begins under these settings. Every block
    that is read is compared, and all of them at the end of each session. Each setting is read back, and put back.

    | `Each Factor Alone Should Change Network Disks As Predicted` | profile=full |
    | `Checksum Offload Should Stay On Under Network Disks` |
    """

    @keyword
    def each_factor_alone_should_change_network_disks_as_predicted(self, profile: Profile | None = None) -> None:
        """Check the sheet's sequence under each load over iSCSI: each step against its baseline, in percent of it.

        The dut's settings change alone, but for the MTU, which both ends have. What the sheet predicts of a step is
        judged; other changes are recorded, and each figure is compared with accepted runs. A table has the changes,
        with the CPUs of both servers, their waiting for I/O, and the TCP segments that were sent again.

        Args:
            profile: How many runs are made, and for how long; by default that of the run.

        Raises:
            CardFailure: A step does not change a load as predicted, and nothing of the bench explains it; or the card
                damages data, is slower than in accepted runs, or takes a setting and does not show it.
            BenchFault: A session cannot be made, counts disagree, a run fails, or the bench may explain a missing
                change.
            Undecided: The runs cannot tell, the target may be why, or nobody knows who has damaged data or lost the
                connection of a session.
            NotApplicable: The sheet has no load over iSCSI, no sequence, or no step that can be had here; or a server
                does not run Linux.
        """
        iscsi_factors.judge_sequence(self.run, self.profile(profile), reporter())

    @keyword
    def checksum_offload_should_stay_on_under_network_disks(self, profile: Profile | None = None) -> None:
        """Check that checksum offload is on while disks are loaded over iSCSI, and that data stay right without it.

        It is switched off at the dut's port of the first path, in turns with runs with it. What that costs, in
        operations/s, CPU and TCP segments that are sent again, is recorded and warned of, not judged. Other offloads
        that go off together with it are part of that.

        Args:
            profile: How many runs are made, and for how long: ``quick`` has the first load of the sheet alone.

        Raises:
            CardFailure: A port has the offload off that the sheet has on; or the card damages data, is slower than in
                accepted runs, or takes the setting and does not show it.
            BenchFault: A session cannot be made, counts disagree, or a run fails.
            Undecided: Nobody knows who has damaged data, or a session with the offload lost its connection.
            NotApplicable: The sheet has no load over iSCSI, no such offload that can be switched, or a server does not
                run Linux.
        """
        checksum_offload.judge_checksum_offload(self.run, self.profile(profile), reporter())
