"""The search for the highest rate at which every frame arrives: trials, halves, and proofs at the rate that is found.

A short trial without loss says little: what it proves is only that loss is not frequent. So the rate that the search
finds is tried again, longer and several times, and given up for a lower one where a frame is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from niclab.frames.blame.frame_findings import FrameFinding
from niclab.run.watching import standstill

SHORT_S, LONG_S, PROOFS = 2.0, 10.0, 3
"""Seconds of a trial of the search, and of each of the proofs at the rate that was found."""
STEP = 1.1
"""The search ends between two rates so close to each other."""
MOST_STEPS = 8
"""So many halves tell a tenth in a thousandfold; a sender that cannot keep a rate would need more."""
LOWER = 2.0
"""A rate whose proof fails is divided by this."""
PARTS = 4
"""The lowest rate that is tried is this part of what the sender can send: no sound card or server is full with it."""
ROOM = 200
"""Assumption: rings have room for so many frames while their server does not run; 256 is the least of the defaults."""
LOWEST_MOST_PER_S = 1000 * ROOM / standstill.LEAST_OF_PINGS_MS
"""No lowest rate is higher: a standstill that is too short for the watch would overfill a ring."""


@dataclass(frozen=True)
class LossTrial:
    """Frames of one size that were sent at a rate, and their loss.

    Attributes:
        per_s: Frames a second that the sender sent.
        sent: Frames.
        lost: Those of them that did not arrive.
        findings: What the ledger says of the loss.
        hindrances: What of the servers may explain it: a receiver without CPU time, a full backlog.
    """

    per_s: float
    sent: int
    lost: int = 0
    findings: Sequence[FrameFinding] = ()
    hindrances: Sequence[str] = ()


@dataclass(frozen=True)
class ZeroLossRate:
    """The highest rate without loss.

    Attributes:
        trials: Those that prove it, none of which lost a frame; none where each rate lost some.
        lossy: The trial at the lowest rate that lost some; None: the sender cannot send what the card would lose.
        lowest_per_s: The lowest rate that is tried.
    """

    trials: Sequence[LossTrial]
    lossy: LossTrial | None
    lowest_per_s: float

    @property
    def per_s(self) -> float:
        """Frames a second: the slowest of the proofs."""
        return min(each.per_s for each in self.trials)

    @property
    def frames(self) -> int:
        """Frames that were sent at it, and all arrived."""
        return sum(each.sent for each in self.trials)

    def __str__(self) -> str:
        proven = f"{self.per_s:.0f} frames/s, none of {self.frames} lost in {len(self.trials)} trials"
        lossy, held = self.lossy, "the sender sends no more"
        if lossy is not None:
            held = f"{lossy.per_s:.0f} frames/s lose {lossy.lost} of {lossy.sent}"
        return f"{proven}, so that fewer than 1 in {self.frames / 3:.0f} are lost (95 %, 3/N); {held}"


def search(trial: Callable[[float, float], LossTrial], line_per_s: float) -> ZeroLossRate:
    """Search the highest rate without loss.

    Args:
        trial: Sends frames at a rate for so many seconds.
        line_per_s: The rate of the line: nothing is sent faster.

    Returns:
        The rate, without a proof where a frame is lost at each.
    """
    made = [trial(line_per_s, SHORT_S)]
    lowest = min(made[0].per_s / PARTS, LOWEST_MOST_PER_S)
    rate = _between(trial, made, lowest) if made[0].lost else made[0].per_s
    while rate > lowest:
        proofs = list[LossTrial]()
        while len(proofs) < PROOFS and not any(each.lost for each in proofs):
            proofs.append(trial(rate, LONG_S))
        made += proofs
        if not proofs[-1].lost:
            return ZeroLossRate(proofs, _lossy(made), lowest)
        rate /= LOWER
    return ZeroLossRate((), _lossy(made), lowest)


def _between(trial: Callable[[float, float], LossTrial], made: list[LossTrial], lowest: float) -> float:
    """Return the highest rate between the lowest and that of the first trial that lost nothing in a short one."""
    low, high = lowest, made[0].per_s
    for _ in range(MOST_STEPS):
        if high <= STEP * low:
            break
        made.append(trial(math.sqrt(low * high), SHORT_S))
        low, high = (low, made[-1].per_s) if made[-1].lost else (made[-1].per_s, high)
    return low


def _lossy(made: Sequence[LossTrial]) -> LossTrial | None:
    return min((each for each in made if each.lost), key=lambda each: each.per_s, default=None)
