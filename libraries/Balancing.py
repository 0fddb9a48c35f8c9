"""Bonds that use all their links at once."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.traffic.flows import balance


@library(scope="GLOBAL")
class Balancing(BenchLibrary):
    """Keywords about bonds that balance."""

    @keyword
    def every_member_should_carry_its_share(self) -> None:
        """Let each server send 256 datagrams of 64 flows, and see that every member of both bonds carries its share.

        Raises:
            CardFailure: A member has sent, or received, less than half of an even share.
            Undecided: A server stood still meanwhile.
        """
        balance.require_shares(self.run, logger.info)
