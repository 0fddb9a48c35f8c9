"""Bandwidth against message size at every MTU."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from log_report import reporter
from niclab.bench.records import Role
from niclab.core.profile import Profile
from niclab.traffic.limits import sweep
from niclab.traffic.runs import experiment
from niclab.traffic.runs.experiment import Ended
from niclab.traffic.tools.tool import TrafficTest


@library(scope="GLOBAL")
class MessageSizes(BenchLibrary):
    """Keywords that measure messages of every size, and judge them by the sheet or by what other sizes predict.

    | `Sweep Should Reach The Limits` | TCP_STREAM | profile=full |
    | `Sweep Should Reach The Limits In Every Direction` | UDP_STREAM |
    """

    @keyword
    def sweep_should_reach_the_limits(self, test: TrafficTest, profile: Profile | None = None) -> None:
        """Send messages of every size at every MTU from the dut over the first path.

        Large ones reach the sheet's limits; the others carry what a point that was measured before predicts: a message
        costs no more than a larger one, and a frame no more than a larger one (less a quarter, assumption).

        Args:
            test: ``TCP_STREAM``, ``TCP_SENDFILE`` or ``UDP_STREAM``.
            profile: ``quick``: a dozen points of all three tests; ``full``: all 111.

        Raises:
            CardFailure: A limit or a prediction is missed, or the card does not take an MTU of the sheet.
            BenchFault: A run fails, or the bench may be why a limit is missed.
            Undecided: The runs cannot tell.
            NotApplicable: The sheet names none of the MTUs, or nothing says what the figures must be.
        """
        found = sweep.measure(self.run, self.run.bench.paths[0], Role.DUT, test, self.profile(profile), logger.console)
        experiment.show(found, reporter())
        experiment.judge(self.run.notes, [found])

    @keyword
    def sweep_should_reach_the_limits_in_every_direction(self, test: TrafficTest) -> None:
        """Send messages at every MTU over every path in each direction, but for the dut's over the first path.

        The points are those of the quick profile, judged as by `Sweep Should Reach The Limits`.

        Args:
            test: ``TCP_STREAM``, ``TCP_SENDFILE`` or ``UDP_STREAM``.

        Raises:
            CardFailure: A limit or a prediction is missed, or the card does not take an MTU of the sheet.
            BenchFault: A run fails, or the bench may be why a limit is missed.
            Undecided: The runs cannot tell.
            NotApplicable: The sheet names none of the MTUs, or nothing says what the figures must be.
        """
        ended = list[Ended]()
        found = sweep.others(self.run, test, logger.console, ended)
        for each in found:
            experiment.show(each, reporter())
        experiment.judge(self.run.notes, found, ended)
