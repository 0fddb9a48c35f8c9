"""Frames with known content: each arrives once, in order and unchanged, and every port counts it."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.core.profile import Profile
from niclab.frames import delivery
from niclab.frames.latency import stalls
from niclab.frames.load import full_load


@library(scope="GLOBAL")
class Frames(BenchLibrary):
    """Checks of the data that a card carries, over every path of the bench.

    Each names every difference between what was sent, what both ports counted and what was delivered: a CardFailure
    where frames are lost, doubled, reordered, damaged, delivered to another port or counted wrong, a BenchFault where
    the peer alone does it. Each raises Undecided where an exchange proves nothing, as a server stood still or no way
    leads past the card, and NotApplicable where a server does not run Linux.

    | `Data Should Arrive Unchanged` | tso4 | on=False |
    | `Full Load Should Be Carried` | profile=full |
    | `Single Frames Should Not Stall` | profile=full |
    """

    @keyword
    def every_frame_should_arrive_once_in_order_and_unchanged(self) -> None:
        """Send frames of mixed sizes over every path in both directions at once."""
        delivery.once_in_order(self.run, logger.info)

    @keyword
    def frames_of_every_size_should_arrive(self) -> None:
        """Send a frame of each size from the smallest to the largest of the MTU, in both directions."""
        delivery.every_size(self.run, logger.info)

    @keyword
    def frames_of_the_largest_sizes_should_arrive(self) -> None:
        """Send the smallest and the largest frames at the largest MTU of the sheet, in both directions.

        Raises:
            NotApplicable: The sheet does not know the largest MTU.
        """
        delivery.largest_sizes(self.run, logger.info)

    @keyword
    def data_should_arrive_unchanged(self, offload: str, on: bool) -> None:
        """Send records over UDP, in fragments as well, and over TCP, with offloads of the dut switched on or off.

        Args:
            offload: Name of an offload of the sheet such as ``tso4``, or ``every`` for all that can be switched.
            on: Are they on?

        Raises:
            CardFailure: Records are lost, doubled, reordered or damaged, or an offload is not switched.
            NotApplicable: The sheet names no such offload that can be switched.
        """
        delivery.over_sockets(self.run, logger.info, offload, on)

    @keyword
    def data_in_pieces_should_arrive_unchanged(self) -> None:
        """Send records over TCP in pieces that lie at every place of a page, and that the card fetches from there.

        Raises:
            CardFailure: Records are lost, doubled, reordered or damaged.
            NotApplicable: The sheet names no scatter-gather, or it is off.
        """
        delivery.gathered(self.run, logger.info)

    @keyword
    def wrong_checksums_should_be_refused_and_counted(self) -> None:
        """Send UDP and TCP with right and wrong checksums to every port of the dut.

        Raises:
            CardFailure: A wrong one is delivered, answered, not counted, or called right by the card.
        """
        delivery.wrong_checksums(self.run, logger.info)

    @keyword
    def full_load_should_be_carried(self, profile: Profile | None = None) -> None:
        """Send TCP over every path in both directions at once, and numbered frames among it.

        Args:
            profile: How long: ``quick`` 12 s, ``full`` 300 s.

        Raises:
            CardFailure: A port stalls, loses frames, cannot send some, or counts changes of carrier.
            Undecided: A server stood still or had no CPU left while a port stalled or lost frames, or nobody knows
                where frames were lost, or who damaged some.
        """
        full_load.carry(self.run, self.profile(profile), logger.info)

    @keyword
    def single_frames_should_not_stall(self, profile: Profile | None = None) -> None:
        """Send single datagrams from the dut over every path, the next when the answer has come.

        The times of the round trips are figures of the certificate, and have no limit.

        Args:
            profile: How long over each path: ``quick`` 3.5 s idle, ``full`` 40 s idle and 16 s under load.

        Raises:
            CardFailure: While nothing else was sent, an answer lay in the dut for half a second or longer, as it does
                when its interrupt was lost; or some had none, and the card loses frames.
            Undecided: A server stood still, or the datagram may have lain in either server, or was lost somewhere.
        """
        stalls.require_none(self.run, self.profile(profile), logger.info)
