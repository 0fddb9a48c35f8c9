"""Numbered frames that may be lost, under load or while a port restarts: how many were, in what runs, and by whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from niclab.core.verdict import Trouble
from niclab.frames.answers import ArrivedFlow
from niclab.frames.blame.frame_findings import Culprit, culprit_of
from niclab.frames.ledger import Ledger, Leg
from niclab.frames.spec import Arrives, FrameStream

MOST_LOST = 0.01
"""Assumption: so large a part of the frames may be lost. Sound cards on emulated servers lose at most 0.001: TCP
overfills a queue for a moment, and then waits."""
MOST_LOST_IN_A_ROW = 0.25
"""Assumption: so large a part of the frames of one second may be lost; sound cards lose at most 0.08 of them."""


@dataclass(frozen=True)
class LostFrames:
    """The frames of a stream that did not arrive.

    Attributes:
        leg: Where they were sent.
        stream: The stream.
        sent: Frames that were sent.
        runs: Missing frames in a row: the number of the first one, and how many.
    """

    leg: Leg
    stream: FrameStream
    sent: int
    runs: Sequence[tuple[int, int]]

    @property
    def lost(self) -> int:
        """The number of lost frames."""
        return sum(count for _, count in self.runs)

    def worst(self, in_a_row: int) -> int:
        """Return how many were lost of so many that were sent in a row, at the worst.

        Args:
            in_a_row: Frames.
        """
        ends = [(first, first + in_a_row) for first, _ in self.runs]
        return max((sum(_within(run, *each) for run in self.runs) for each in ends), default=0)

    def outside_of(self, outages: int) -> int:
        """Return how many were lost outside of the longest runs.

        Args:
            outages: So many runs have a reason.
        """
        return sum(sorted((count for _, count in self.runs), reverse=True)[outages:])

    def __str__(self) -> str:
        return f"{self.leg.name}: {self.stream.name}: {self.lost} of {self.sent} frames lost in {len(self.runs)} places"


@dataclass(frozen=True)
class TooManyLost:
    """More frames were lost than may be, and by whom. ``TOOL``: nobody knows."""

    text: str
    culprit: Culprit


def lost_frames(ledger: Ledger) -> list[LostFrames]:
    """List what was lost of each stream of which frames may be lost."""
    return [
        LostFrames(leg, stream, leg.sent[flow].frames, _runs(leg.sent[flow].frames, leg.arrived.get(flow)))
        for leg in ledger.legs
        for flow, stream in leg.streams.items()
        if stream.at_port is Arrives.SOME
    ]


def too_many_under_load(lost: Iterable[LostFrames], per_s: int) -> list[TooManyLost]:
    """Find streams of which more frames are lost than a load explains, in all or in the worst second.

    Args:
        lost: What was lost of each.
        per_s: Frames that each sends in a second.
    """
    found = []
    for each in lost:
        worst = each.worst(per_s)
        if each.lost <= MOST_LOST * each.sent and worst <= MOST_LOST_IN_A_ROW * per_s:
            continue
        where, culprit = _where_under_load(each)
        wanted = f"expected at most {100 * MOST_LOST:g} %, and {MOST_LOST_IN_A_ROW * per_s:g} of {per_s} in a row"
        found.append(TooManyLost(f"{each}, {worst} of {per_s} in a row, {where}; {wanted}", culprit))
    return found


def charged(found: Sequence[TooManyLost], may_be_why: Callable[[], list[str]]) -> tuple[list[Trouble], list[str]]:
    """Return whom to blame for lost frames, and what nobody is to blame for, in words.

    Args:
        found: What was lost.
        may_be_why: Tells what else may have been the reason, such as a server that stood still; asked only if frames
            were lost.
    """
    reasons = may_be_why() if found else []
    unknown = [each.text for each in found if reasons or each.culprit is Culprit.TOOL]
    sure = [Trouble(each.text, each.culprit is Culprit.CARD) for each in found if each.text not in unknown]
    return sure, [*unknown, *reasons]


def _where_under_load(each: LostFrames) -> tuple[str, Culprit]:
    """Return where frames were lost among others, and by whom for sure.

    The ports count the load as well. So what the tool had no room for, however little, hides where the rest was lost:
    those frames passed the ports, as ones that are lost behind a port do. A frame that nobody has counted as lost, and
    that did not arrive at the port, may have found a full queue of a cable that has one, or of a switch.
    """
    leg, lost = each.leg, each.lost
    if leg.looks[1].dropped:
        return f"{leg.looks[1].dropped} lost by the tool of {leg.receiver.role.value}", Culprit.TOOL
    if leg.unknown_where:
        return leg.unknown_where, Culprit.TOOL
    if proven := leg.refused(lost):
        return proven
    sending, receiving = leg.counted
    counts = f"{leg.sender.name} counted {sending.tx_packets} sent, {leg.receiver.name} {receiving.rx_packets} received"
    if abs(receiving.rx_packets - sending.tx_packets) <= lost // 2:
        return f"lost behind {leg.receiver.name}: {counts}", culprit_of(leg.receiver)
    return f"counted by nobody as lost: {counts}", Culprit.TOOL


def _runs(sent: int, came: ArrivedFlow | None) -> list[tuple[int, int]]:
    """The runs of missing numbers below ``sent``, those behind the last frame that came included."""
    holes = [(first, count) for first, count in came.holes if first + count <= sent] if came else []
    arrived_to = came.distinct + sum(count for _, count in holes) if came else 0
    return [*holes, (arrived_to, sent - arrived_to)] if arrived_to < sent else holes


def _within(run: tuple[int, int], first: int, end: int) -> int:
    return max(0, min(run[0] + run[1], end) - max(run[0], first))
