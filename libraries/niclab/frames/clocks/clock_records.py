"""The words of the clock program: a port's clock, readings of it, and stamped frames."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

ALL, V2_L2_EVENT, V2_EVENT = 1, 9, 12
FILTERS = (ALL, V2_EVENT, V2_L2_EVENT)
"""HWTSTAMP_FILTER_ of linux/net_tstamp.h that let a Sync message in Ethernet through, the most general first."""

Reading = tuple[int, int, int]
"""The server's own time, the clock's and the server's again, in ns."""


class PortClock(BaseModel):
    """A port's clock as it is, and what its driver offers."""

    number: int
    sends: int
    passes: int
    stamping: tuple[int, int]
    most_ppb: int = 0
    scaled: int = 0
    ahead_ns: int = 0
    steers: tuple[str, ...] = ()

    @property
    def tuned(self) -> Rate:
        """The change of its rate that somebody has set: it keeps that when a program that steered it has ended."""
        return Rate(self.scaled / 65536, self.scaled / 65536)

    @property
    def filter(self) -> int:
        """The filter by which frames of the test are stamped; 0: the driver offers none."""
        return next((each for each in FILTERS if self.passes >> each & 1), 0)


class Watched(BaseModel):
    """A clock that was read for some time; ``back_ns``: by how much readings were earlier than the ones before."""

    first: Reading
    last: Reading
    reads: int
    back_ns: tuple[int, ...]
    same: int

    @property
    def rate(self) -> Rate:
        """Its rate against the server's own clock."""
        return rate_between(self.first, self.last)


class SetTime(BaseModel):
    """A clock that was set: when and to what, and its reading afterwards; or the words of the refusal."""

    set: Reading = (0, 0, 0)
    read: Reading = (0, 0, 0)
    refused: str = ""
    errno: int = 0


class Switched(BaseModel):
    """The kind of sending and the filter that a driver has set, or the words of its refusal."""

    granted: tuple[int, int] = (0, 0)
    refused: str = ""
    errno: int = 0


class StampedFrame(BaseModel):
    """A frame, and its answer.

    ``before`` and ``after``: the clock, before it was sent and after the last of both came; ``begun`` and ``ended``:
    the server's own time. ``there``: the own time of the server that answers; 0: no answer. ``received``: the stamp of
    the answer, 0: none. ``sent``: the number of the frame that came back with a stamp, and the stamp. ``stood_ns``:
    the longest time for which the program did not look.
    """

    before: int
    after: int
    begun: int
    ended: int
    there: int
    received: int
    sent: tuple[tuple[int, int], ...]
    stood_ns: int


class Frames(BaseModel):
    """The frames of an exchange, in their order."""

    frames: tuple[StampedFrame, ...]


@dataclass(frozen=True)
class Rate:
    """The least and the most by which a clock may go faster than another one, in ppm."""

    low: float
    high: float

    def minus(self, other: Rate) -> Rate:
        """Return by how much it is more than another one."""
        return Rate(self.low - other.high, self.high - other.low)

    def within(self, low: float, high: float) -> bool | None:
        """Say whether it lies between two limits; None: in part."""
        if self.high < low or self.low > high:
            return False
        return True if low <= self.low and self.high <= high else None

    def __str__(self) -> str:
        return f"{self.low:+.1f} to {self.high:+.1f} ppm" if self.low != self.high else f"{self.low:+.1f} ppm"


def rate_between(first: Reading, last: Reading) -> Rate:
    """Return how much faster than the outer clock the inner one of two readings goes.

    Args:
        first: The earlier reading.
        last: The later one.
    """
    passed = last[1] - first[1]
    return Rate(*((passed / own - 1) * 1e6 for own in (last[2] - first[0], max(1, last[0] - first[2]))))
