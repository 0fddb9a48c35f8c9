"""Offloads of the dut's ports: switched, proven by counters, unsupported names refused."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.settings.offloads import offload_proof, offloads
from niclab.settings.offloads.offload_proof import ProofTraffic, TcpFlows
from niclab.traffic.flows import in_vlan, ipv6, tcp


@library(scope="GLOBAL")
class Offloads(BenchLibrary):
    """Checks that switch offloads. Each puts back what it changes, and fails when it cannot.

    | `Offload Should Switch As On The Sheet` | tso4 |
    | `Offload Counters Should Follow The Switch` | tso4 | seconds=5 |
    """

    @keyword
    def offload_should_switch_as_on_the_sheet(self, offload: str) -> None:
        """Check on every port that an offload goes off and on, together with what the sheet says and nothing else.

        An offload that the sheet calls fixed, ``not-off`` or ``not-on`` must stay as it is.

        Args:
            offload: Name of an offload of the sheet such as ``tso4``, or ``every`` for all of them.

        Raises:
            CardFailure: An offload does not keep to the sheet, or does not come back.
            BenchFault: A port does not show an offload, or one could not be put back.
            NotApplicable: The sheet does not know how the offload can be changed.
        """
        offloads.switched(self.run, offload)

    @keyword
    def unsupported_feature_names_should_be_refused(self) -> None:
        """Check that the feature names that the sheet lists as refused are errors and change nothing.

        Raises:
            CardFailure: A port takes such a name, or its features do not come back.
            BenchFault: Its offloads could not be put back.
            NotApplicable: The sheet lists no such name for the dut's system.
        """
        offloads.refuse_unsupported_names(self.run)

    @keyword
    def offload_counters_should_follow_the_switch(self, offload: str, seconds: float = 2) -> None:
        """Check that the counters that prove an offload grow with it on, and not with it off, while TCP flows.

        For offloads of TCP (plain, over IPv6, in a VLAN) whose counter the sheet names, on the dut's end of the first
        path.

        Args:
            offload: Name of an offload of the sheet such as ``tso4``, or ``every`` for all of them.
            seconds: How long the counters of each state are watched, in seconds.

        Raises:
            CardFailure: A counter does not follow the offload, or no traffic flows after it was switched.
            BenchFault: The offload cannot be switched, a counter is missing, or traffic stops while they are watched.
            NotApplicable: The sheet names no counter by which TCP proves the offload.
        """
        steady = {ProofTraffic.PLAIN: tcp.steady, ProofTraffic.TAGGED: in_vlan.steady, ProofTraffic.IPV6: ipv6.steady}
        traffic = TcpFlows(steady, tcp.require_flow, tcp.FLOW_BYTES)
        offload_proof.follows_the_switch(self.run, offload, seconds, traffic, logger.info)
