"""TCP that the card does itself, against that of the system."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from log_report import reporter
from niclab.core.profile import Profile
from niclab.traffic.effects import offload_cpu
from niclab.traffic.runs import experiment


@library(scope="GLOBAL")
class TcpOffload(BenchLibrary):
    """Keywords about the TCP of the card: what it saves.

    | `Direct Placement Should Save CPU` | profile=full |
    """

    @keyword
    def direct_placement_should_save_cpu(self, profile: Profile | None = None) -> None:
        """Receive with one connection and with many: by the system's TCP, the card's, and with direct placement.

        The modes take turns on the first path; the log and the certificate have the CPU of each, and the percentage
        that placement saves. Judged is that of the largest number of connections.

        Args:
            profile: ``quick``: 1 and 4 connections; ``full``: 1 to 16.

        Raises:
            CardFailure: Placement saves less than on the sheet; or a connection is not the card's, or data are not
                placed, although both are on.
            BenchFault: A run fails, the bench may be why it saves less, or the server cannot have a mode.
            Undecided: The runs cannot tell.
            NotApplicable: The card, its driver or the system has no direct placement, or the bench declares that its
                emulated card does TCP at the server's cost.
        """
        found = offload_cpu.measure(self.run, self.run.bench.paths[0], self.profile(profile), logger.console)
        experiment.show(found, reporter())
        offload_cpu.require_work(self.run)
        experiment.judge(self.run.notes, [found])
