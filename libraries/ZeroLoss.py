"""The highest rate of frames at which none is lost."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.frames.zero_loss import zero_loss_checks


@library(scope="GLOBAL")
class ZeroLoss(BenchLibrary):
    """The search for the highest rate without loss (RFC 2544, 26.1), over the first path.

    | `Frames Should Have A Rate Without Loss` |
    """

    @keyword
    def frames_should_have_a_rate_without_loss(self) -> None:
        """Search the highest rate at which every numbered frame arrives, for each size in both directions.

        The sizes are 64 and 1518 bytes with FCS and those of the sheet (``limits.zero_loss``). The certificate states
        each rate, the number of frames it was proven with, and that fewer than 3 in so many are lost, with 95 %. It is
        the rate of a program: what it cannot send is not asked. Nothing is lost at the sheet's rate, else a rate that
        the card holds back is compared with accepted runs, else it is recorded.

        Raises:
            CardFailure: The card loses frames at each rate or at that of the sheet, is slower than in accepted runs,
                or doubles, reorders or damages frames.
            BenchFault: The peer loses frames at each rate, or a server does not answer.
            Undecided: Nobody knows who loses them, the receiver has no CPU time or room for them, the sender cannot
                send as many as the sheet wants, or a server stood still in each of many trials.
            NotApplicable: A server does not run Linux.
        """
        zero_loss_checks.judge(self.run, self.run.bench.paths[0], logger.info)
