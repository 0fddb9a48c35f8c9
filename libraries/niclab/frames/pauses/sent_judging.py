"""The behaviour of a port that was flooded: it asked for silence when it was full, or it lost frames instead."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

LEAST_LOST, LOST_PART, MISSED_PART = 20, 0.01, 0.5
"""A port was full if it lost so many frames and such a part of a flood, and its driver missed such a part of those."""
KEPT_PART = 0.25
"""Assumption: with pause frames a port loses at most this part of the frames that it loses without."""


class FullPort(Enum):
    """The behaviour of a port that was flooded with pause frames off, and on."""

    ASKED = "asked for silence while it was full, and no longer"
    NOT_FILLED = "was not filled"
    SILENT = "was full and asked for no silence"
    UNASKED = "asked for silence although it is not to"
    ENDLESS = "asks for silence although nothing comes"
    UNPROVEN = "cannot be judged"


@dataclass(frozen=True)
class Flood:
    """A flood of a port of the dut.

    Attributes:
        sent: Frames that the peer's port took.
        waiting: Bytes of them that it has not sent in time.
        lost: Frames that did not come.
        missed: Frames for which the dut's port had no room, as the kernel counts them.
        asked: Pause frames that the dut's port sent, as its driver counts them; None: it does not.
        seen: Pause frames that the peer's port got, as its driver counts them; None: it does not.
        asked_after: Those that the dut's port sent in each of two times after the flood.
        back: Frames of those sent one by one afterwards that did not come.
    """

    sent: int
    waiting: int
    lost: int
    missed: int
    asked: int | None
    seen: int | None
    asked_after: tuple[int, int] = (0, 0)
    back: int = 0

    @property
    def is_lossy(self) -> bool:
        """Were more frames lost than a wire loses?"""
        return self.lost >= max(LEAST_LOST, LOST_PART * self.sent)

    def __str__(self) -> str:
        shown = {"sent": self.asked, "received by the peer": self.seen}
        counts = ", ".join(f"{'no counter of' if n is None else n} pause frames {what}" for what, n in shown.items())
        return f"{self.lost} of {self.sent} frames lost, {self.missed} counted as missed, {counts}"


def judge(off: Flood, on: Flood) -> tuple[FullPort, str]:
    """Judge a port by a flood with pause frames off, and one with them on.

    Args:
        off: The flood while the port is to send none.
        on: The flood while it is to.

    Returns:
        The behaviour, and why it is not another one, for messages.
    """
    if off.asked:
        return FullPort.UNASKED, f"its driver counted {off.asked} pause frames that it sent"
    if all(on.asked_after):
        first, second = on.asked_after
        return FullPort.ENDLESS, f"its driver counted {first}, and {second} more, from 1 s after the flood on"
    if off.waiting or on.waiting:
        return FullPort.UNPROVEN, "frames of the flood did not leave the peer in time"
    if off.back or on.back:
        return FullPort.UNPROVEN, f"{off.back + on.back} single frames after a flood did not come"
    if off.asked is None or on.asked is None:
        return FullPort.UNPROVEN, "its driver has no counter of the name on the sheet that only grows"
    if off.seen:
        return FullPort.UNPROVEN, "with pause frames off the peer counted some, and the dut's driver none"
    return _asked(off, on) if on.asked or on.seen else _silent(off, on)


def _asked(off: Flood, on: Flood) -> tuple[FullPort, str]:
    if not on.asked:
        return FullPort.UNPROVEN, "the peer counted pause frames, and the dut's driver none"
    if on.seen is None:
        return FullPort.UNPROVEN, "the peer's driver has no counter of the name on the sheet"
    if not on.seen:
        return FullPort.UNPROVEN, "the dut's driver counted pause frames, and the peer none"
    if on.is_lossy and on.lost > KEPT_PART * off.lost:
        return FullPort.UNPROVEN, "frames were lost all the same: it asked too late, or the peer does not heed it"
    return FullPort.ASKED, ""


def _silent(off: Flood, on: Flood) -> tuple[FullPort, str]:
    if not off.is_lossy or not on.is_lossy:
        return FullPort.NOT_FILLED, "it lost no frames for want of room"
    if on.missed < MISSED_PART * on.lost:
        return FullPort.UNPROVEN, "nobody knows where the frames were lost"
    return FullPort.SILENT, ""
