"""Offloads by what is on the wire and what the stack is handed, and frames of kinds that a plain flow does not have."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.frames.wire import kinds, proofs


@library(scope="GLOBAL")
class Wire(BenchLibrary):
    """Checks by captures at both ends of the first path; no counter of a driver is asked.

    Each raises Undecided where an exchange proves nothing, as a server stood still or a capture lost packets, and
    NotApplicable where a server does not run Linux.

    | `Offload Should Work As Switched` | tso4 |
    """

    @keyword
    def offload_should_work_as_switched(self, offload: str) -> None:
        """Send traffic with an offload of the dut off and on, and look at the wire and at what the stack is handed.

        Every packet on the wire must have its checksums, size and tag either way. With the offload on the stack leaves
        the work to the card, with it off it does it itself.

        Args:
            offload: Name of an offload of the sheet: ``tso4``, ``tso6``, ``tx-checksum``, ``rx-checksum``, ``gro``,
                ``lro``, ``vlan-insert``, ``vlan-strip`` or ``rx-hash``.

        Raises:
            CardFailure: A packet is wrong, or the offload does not do what it says.
            NotApplicable: The sheet has no such offload, or its effect cannot be seen on this card.
        """
        proofs.prove(self.run, offload, logger.info)

    @keyword
    def frames_of_every_kind_should_arrive(self) -> None:
        """Send IPv6 with extension headers, TCP of many connections, tags of every priority and two tags, both ways.

        Raises:
            CardFailure: Frames are lost, doubled, reordered, damaged or counted wrong, or a tag is changed.
        """
        kinds.every_kind(self.run, logger.info)

    @keyword
    def padding_should_be_zeros(self) -> None:
        """Send frames that are too short for Ethernet, between long ones, from every port of the dut.

        Raises:
            CardFailure: What fills a frame up is not zeros.
        """
        kinds.padding(self.run, logger.info)
