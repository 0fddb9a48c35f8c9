"""The card with many connections, in frames a second, and with fragments."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from log_report import reporter
from niclab.core.profile import Profile
from niclab.settings.tcp_offload import Mode
from niclab.traffic.fragments import whole_fragments
from niclab.traffic.limits import connection_counts, frame_rate, jumbo
from niclab.traffic.runs import experiment


@library(scope="GLOBAL")
class Sweeps(BenchLibrary):
    """Keywords that measure over a range on the first path, and judge where the sheet has a limit.

    Each raises Undecided where the runs cannot tell.

    | `Connections Should Reach The Limit` | nic | profile=full |
    | `Jumbo Frames Should Gain As Predicted` | profile=full |
    """

    @keyword
    def connections_should_reach_the_limit(self, mode: Mode, profile: Profile | None = None) -> None:
        """Receive at the sheet's fraction of line rate with one connection and with many.

        Args:
            mode: How the card receives: ``nic``, ``toe`` or ``toe-ddp``.
            profile: ``quick``: 1 and 4 connections; ``full``: 1 to 16.

        Raises:
            CardFailure: A limit of throughput or of the receiver's CPU is missed, or with TCP offload on a connection
                is not the card's, or data are not placed.
            BenchFault: A run fails, the bench may be why a limit is missed, or the server cannot have the mode.
            NotApplicable: The card or its driver has no such mode, or the sheet does not know the limit.
        """
        path = self.run.bench.paths[0]
        found = connection_counts.measure(self.run, path, mode, self.profile(profile), logger.console)
        experiment.show(found, reporter())
        experiment.judge(self.run.notes, [found])

    @keyword
    def frame_rate_should_reach_the_limit(self) -> None:
        """Receive the sheet's frames a second at every size of frame at which line and bus have room.

        Raises:
            CardFailure: The frame rate is too low at a size.
            BenchFault: A run fails, or the bench may be why it is too low.
            NotApplicable: The sheet knows no frame rate, or line or bus is full at every size.
        """
        found = frame_rate.measure(self.run, self.run.bench.paths[0], logger.console)
        experiment.show(found, reporter())
        experiment.judge(self.run.notes, [found])

    @keyword
    def frame_rate_should_be_the_same_at_every_size(self) -> None:
        """Receive the same number of frames a second at every size, within the percentage on the sheet.

        Raises:
            CardFailure: The frame rates differ by more.
            BenchFault: A run fails.
            Undecided: The intervals cannot tell.
            NotApplicable: The sheet has no percentage, or line or bus is full at all sizes but one.
        """
        frame_rate.same_within(self.run)
        found = frame_rate.measure(self.run, self.run.bench.paths[0], logger.console)
        experiment.show(found, reporter())
        frame_rate.judge_independence(self.run, found)

    @keyword
    def jumbo_frames_should_gain_as_predicted(self, profile: Profile | None = None) -> None:
        """Predict the gain of jumbo frames from the frame rate at MTU 1500, measure it, and compare.

        The prediction names which limit comes first: frames a second, the line or the bus.

        Args:
            profile: How many runs are made, and for how long; by default that of the run.

        Raises:
            CardFailure: The gain is not as predicted, and nothing of the bench explains it.
            BenchFault: A run fails, or the bench may be why.
            NotApplicable: The sheet knows no frame rate, or the card takes no jumbo frames.
        """
        found = jumbo.measure(self.run, self.run.bench.paths[0], self.profile(profile), logger.console)
        experiment.show(found, reporter())
        experiment.judge(self.run.notes, [found])

    @keyword
    def fragments_should_arrive_whole(self) -> None:
        """Send datagrams of 32 KiB, cut into fragments, in both directions, with checksum offload on.

        Content is compared byte by byte.

        Raises:
            CardFailure: A datagram is lost, changed, or dropped for a wrong checksum.
            BenchFault: The program that sends or receives fails.
            NotApplicable: The sheet says nothing about offloads.
        """
        whole_fragments.judge(self.run, self.run.bench.paths[0], logger.info)
