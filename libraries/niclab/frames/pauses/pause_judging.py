"""The behaviour of a port while pause frames came: it stopped and went on afterwards, sent on, or something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

from niclab.hosts.errors import ReadError

UNDER_WAY_S = 0.25
"""Assumption: what was under way when the first pause frame came has come by then, also to a slow server. The standard
allows a few thousand bit times (IEEE 802.3-2018, 31B.3.7); the rest is the way through the peer's driver."""
SURE_PART = 2 / 3
"""Part of the time that a frame asks for in which silence is certain: it may have waited in the peer before it left."""
LEAST_S = 0.2
"""A shorter silence proves nothing."""
LEAST_BEFORE = 10
"""Frames that must have come before the first pause frame."""
ON = 0.25
"""Assumption: part of the frames that come from a port which does not pause, when servers are at their slowest."""


class Heeding(Enum):
    """The behaviour of a port while pause frames come."""

    STOPPED = "stopped, and went on afterwards"
    GONE = "stopped, and did not go on in time"
    SENT_ON = "sent on"
    UNCLEAR = "sent too little to be running, and too much to have stopped"
    UNPROVEN = "cannot be judged"


@dataclass(frozen=True)
class Heard:
    """One exchange as heard at a port of the peer, by the peer's clock; 0 is the first pause frame.

    Attributes:
        asked_s: Seconds when each pause frame was sent, rising.
        came_s: Seconds when each frame of the dut came.
        dropped: Frames for which the program had no room.
    """

    asked_s: Sequence[float]
    came_s: Sequence[float]
    dropped: int

    @classmethod
    def read(cls, said: Mapping[str, Any], name: str) -> Heard:
        """Read what the program said of one interface.

        Args:
            said: Its words.
            name: Program and interface, for messages.

        Raises:
            ReadError: It is something else.
        """
        try:
            asked, came = ([int(us) / 1e6 for us in said[each]] for each in ("asked_us", "came_us"))
            return cls(asked, came, int(said["dropped"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ReadError(f"it said {str(said)[:200]}; expected asked_us, came_us, dropped", name) from error


@dataclass(frozen=True)
class Silence:
    """The times in which a port that heeds pause frames is silent, and what came in them.

    Attributes:
        seconds: Sum of the times.
        came: Frames that came in them.
        expected: Frames that would have come from a port that sends on, by its rate before.
        back_after_s: Time from the end of the pause to the first frame; None where none came.
        flaw: Why the exchange proves nothing; empty: it proves something.
    """

    seconds: float
    came: int
    expected: float
    back_after_s: float | None
    flaw: str

    @property
    def heeding(self) -> Heeding:
        """The behaviour of the port."""
        if self.flaw:
            return Heeding.UNPROVEN
        if self.came == 0:
            return Heeding.GONE if self.back_after_s is None else Heeding.STOPPED
        return Heeding.SENT_ON if self.came >= ON * self.expected else Heeding.UNCLEAR

    def __str__(self) -> str:
        if self.flaw:
            return self.flaw
        back = "none afterwards" if self.back_after_s is None else f"the next {self.back_after_s:.2f} s after the pause"
        return f"{self.came} frames in {self.seconds:.2f} s, {self.expected:.0f} at its rate before, {back}"


def silence(heard: Heard, pause_s: float, lead_s: float) -> Silence:
    """Find what came while a port had to be silent.

    A pause frame that was sent late leaves a gap in which the port may send: each time without gaps counts for itself,
    from the time at which what was under way has come.

    Args:
        heard: The exchange.
        pause_s: Seconds that a pause frame asks for.
        lead_s: Seconds before the first pause frame.
    """
    spans = [(begin + UNDER_WAY_S, end + SURE_PART * pause_s) for begin, end in _without_gaps(heard.asked_s, pause_s)]
    spans = [(begin, end) for begin, end in spans if begin < end]
    seconds = sum(end - begin for begin, end in spans)
    before = sum(-lead_s <= each < 0 for each in heard.came_s)
    after = heard.asked_s[-1] + pause_s if heard.asked_s else 0.0
    flaw = ""
    if heard.dropped:
        flaw = f"the program had no room for {heard.dropped} frames; expected room for all"
    elif before < LEAST_BEFORE:
        flaw = f"{before} frames came in the {lead_s:g} s before; expected at least {LEAST_BEFORE}"
    elif seconds < LEAST_S:
        flaw = f"the peer asked for {seconds:.2f} s of silence without a gap; expected at least {LEAST_S:g} s"
    return Silence(
        seconds=seconds,
        came=sum(any(begin <= each <= end for begin, end in spans) for each in heard.came_s),
        expected=before / lead_s * seconds,
        back_after_s=min((each - after for each in heard.came_s if each > after), default=None),
        flaw=flaw,
    )


def _without_gaps(asked_s: Sequence[float], pause_s: float) -> list[tuple[float, float]]:
    """First and last pause frame of each time in which each came before the one before it was over."""
    if not asked_s:
        return []
    breaks = [(end, begin) for end, begin in pairwise(asked_s) if begin - end > SURE_PART * pause_s]
    begins, ends = [asked_s[0], *(begin for _, begin in breaks)], [*(end for end, _ in breaks), asked_s[-1]]
    return list(zip(begins, ends, strict=True))
