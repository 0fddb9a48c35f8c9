"""Traffic between the servers: kept flowing under other checks, or measured against the sheet's limit."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from log_report import reporter
from niclab.bench.records import Role
from niclab.core.profile import Profile
from niclab.traffic.flows import tcp
from niclab.traffic.flows.steady import SteadyTraffic
from niclab.traffic.limits import tcp_limits


@library(scope="GLOBAL")
class Traffic(BenchLibrary):
    """Keywords about TCP traffic.

    | `TCP Should Reach The Limit` | sender=dut | profile=full |
    | `TCP Over The Bonds Should Reach The Limit` | sender=peer |
    | `Send TCP` | sender=dut | seconds=2 |
    """

    @keyword
    def start_steady_traffic(self) -> None:
        """Keep TCP flowing from the dut to the peer over the first path until `Stop Steady Traffic`.

        Raises:
            BenchFault: Steady traffic flows already, or it does not begin to flow.
        """
        self.run.part(SteadyTraffic).start()

    @keyword
    def stop_steady_traffic(self) -> None:
        """End the traffic of `Start Steady Traffic`, and its programs on both servers. Does nothing without it.

        Raises:
            BenchFault: The traffic had ended before.
        """
        self.run.part(SteadyTraffic).stop()

    @keyword
    def steady_traffic_should_flow_on(self) -> None:
        """Check that data of `Start Steady Traffic` arrives at the peer.

        Raises:
            CardFailure: Nothing arrives.
            BenchFault: There is no steady traffic.
        """
        self.run.part(SteadyTraffic).require_flow()

    @keyword
    def send_tcp(self, sender: Role, seconds: int) -> None:
        """Send TCP over every path, one after the other, and check that it arrived. The rate is not judged.

        Args:
            sender: ``dut`` or ``peer``.
            seconds: Time in s over each path.

        Raises:
            BenchFault: A run fails or is worthless.
        """
        tcp.send(self.run, sender, seconds, logger.info)

    @keyword
    def tcp_should_reach_the_limit(self, sender: Role, profile: Profile | None = None) -> None:
        """Check that TCP reaches the sheet's fraction of line rate over every path.

        Line rate is the sheet's link speed, which the link must have negotiated, divided by the path's ``rate_scale``.
        Runs are repeated until the interval of their mean is on one side of the limit, or the budget of the profile is
        spent.

        Args:
            sender: ``dut`` or ``peer``.
            profile: ``quick``: 3 to 20 runs of 2 s; ``full``: 5 to 30 of 10 s; by default that of the run.

        Raises:
            CardFailure: The limit is missed, or a figure is worse than its baseline allows.
            BenchFault: A run fails, or the bench may be why the limit is missed.
            Undecided: The runs cannot tell.
            NotApplicable: The sheet does not know the limit.
        """
        tcp_limits.judge_paths(self.run, sender, self.profile(profile), reporter())

    @keyword
    def tcp_over_the_bonds_should_reach_the_limit(self, sender: Role, profile: Profile | None = None) -> None:
        """Check that TCP over the links that the bonds use reaches the sheet's fraction of line rate.

        Args:
            sender: ``dut`` or ``peer``.
            profile: As of `TCP Should Reach The Limit`.

        Raises:
            CardFailure: The limit is missed, or a figure is worse than its baseline allows.
            BenchFault: There are no bonds, a run fails, or the bench may be why the limit is missed.
            Undecided: The runs cannot tell.
            NotApplicable: The sheet does not know the limit.
        """
        tcp_limits.judge_bonds(self.run, sender, self.profile(profile), reporter())
