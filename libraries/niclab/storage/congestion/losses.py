"""Segments that TCP had to send again on a congested SAN, and who counted frames of that direction as lost.

A switch that has more to send than the line carries discards frames, and counts them: that is what congestion is, and
no fault. What is left is lost elsewhere: by the card where the dut's port counts as many, else nobody knows where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.hosts.counts.load_records import FrameCounters
from niclab.run.watching.standstill import Stood
from niclab.storage.disk_counts import DiskCounts
from niclab.storage.resent import RESENT_PART, is_much, judged
from niclab.traffic.outage.outage import Judgement
from niclab.traffic.runs.switch_counts import PortCount


@dataclass(frozen=True)
class Lost:
    """The losses among the frames that one server sent during a load.

    ``sender``: the server; ``sent``, ``again``: its TCP segments, those sent again apart; ``by_switch``, ``by_peer``,
    ``by_dut``: frames of that direction that the switch, the peer's ports and the dut's port counted as lost.
    """

    sender: Role
    sent: int
    again: int
    by_switch: int
    by_peer: int
    by_dut: int

    @property
    def unexplained(self) -> int:
        """Segments that were sent again although neither the switch nor the peer counted a loss."""
        return max(0, self.again - self.by_switch - self.by_peer)

    @property
    def is_much(self) -> bool:
        """Are they more than a line loses, or a server that stops for a moment is sent again?"""
        return is_much(self.unexplained, self.sent)

    def plus(self, other: Lost) -> Lost:
        """Return both together.

        Args:
            other: The losses among other frames of the same server.
        """
        return Lost(
            self.sender,
            sent=self.sent + other.sent,
            again=self.again + other.again,
            by_switch=self.by_switch + other.by_switch,
            by_peer=self.by_peer + other.by_peer,
            by_dut=self.by_dut + other.by_dut,
        )

    def __str__(self) -> str:
        return (
            f"{self.sender.value} sent {self.again} TCP segments again, {self.sent} others; counted as lost on their "
            f"way: by the switch {self.by_switch}, by the peer's ports {self.by_peer}, by the dut's port {self.by_dut}"
        )

    def judgement(self, subject: str, stood: Sequence[Stood], hindrances: Sequence[str]) -> Judgement:
        """Say whose loss it is.

        Args:
            subject: What was loaded.
            stood: Standstills of servers meanwhile.
            hindrances: What of the bench may hold a load back.

        Returns:
            Proven, where the dut's port counted all that neither switch nor peer did, and nothing of the bench
            explains it; possible, where nobody knows; nothing, where little is unexplained.
        """
        if not self.is_much:
            return Judgement([], [])
        words = f"{subject}: {self}; expected at most {RESENT_PART:.0%} without such a count (assumption)"
        return judged(words, self.unexplained, self.by_dut, (*stood, *hindrances))


def lost_of(
    counts: DiskCounts, switch: Sequence[PortCount], ports: Mapping[str, FrameCounters], dut: str
) -> tuple[Lost, Lost]:
    """Return what was lost of the frames of each server.

    Damaged frames of the peer, which the switch refuses, are not the card's; those of the dut are explained by nobody.

    Args:
        counts: What TCP has counted.
        switch: What the switch has counted at its ports.
        ports: What the dut's port and those of the peer have counted, by name.
        dut: Name of the dut's port.

    Returns:
        Those that the peer sent, and those that the dut sent.
    """
    here = [each for each in switch if each.port == dut]
    there = [each for each in switch if each.port in ports and each.port != dut]
    own, theirs = ports[dut], [each for name, each in ports.items() if name != dut]
    return (
        Lost(
            sender=Role.PEER,
            sent=counts.peer_sent,
            again=counts.peer_resent,
            by_switch=_sum(here, "out_discards", "out_errors") + _sum(there, "in_discards", "in_errors"),
            by_peer=sum(each.tx_errors + each.tx_dropped for each in theirs),
            by_dut=own.rx_missed_errors,
        ),
        Lost(
            sender=Role.DUT,
            sent=counts.dut_sent,
            again=counts.dut_resent,
            by_switch=_sum(there, "out_discards", "out_errors") + _sum(here, "in_discards"),
            by_peer=sum(each.rx_lost for each in theirs),
            by_dut=own.tx_errors + own.tx_dropped,
        ),
    )


def _sum(counts: Sequence[PortCount], *names: str) -> int:
    return sum(each.counted[name] for each in counts for name in names)
