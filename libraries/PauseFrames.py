"""Pause frames (IEEE 802.3x): a port heeds those that come, and sends some when it is full."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.frames.pauses import received_pause, sent_pause


@library(scope="GLOBAL")
class PauseFrames(BenchLibrary):
    """Checks of flow control over every cable between the servers, with pause frames on and off.

    Each raises Undecided where an exchange proves nothing, as a server stood still or the counters of both ends do not
    agree, and NotApplicable where every path leads through a switch or a server does not run Linux.

    | `Paused Port Should Stop Sending` |
    | `Full Port Should Ask For Silence` |
    """

    @keyword
    def paused_port_should_stop_sending(self) -> None:
        """Send pause frames to every port of the dut while it sends, heeded and not, and put that back.

        Raises:
            CardFailure: A port sends on while it is to heed them, stays silent, or stops while it is not to.
            NotApplicable: The sheet says nothing about them.
        """
        received_pause.heeded(self.run, logger.info)

    @keyword
    def full_port_should_ask_for_silence(self) -> None:
        """Flood every port of the dut with its smallest receive ring, pause frames sent and not, and put that back.

        Raises:
            CardFailure: A port is full and sends no pause frame, sends some while it is not to, or does not end.
            NotApplicable: A port could not be filled, or the card drops what finds no room in a ring.
        """
        sent_pause.asked(self.run, logger.info)
