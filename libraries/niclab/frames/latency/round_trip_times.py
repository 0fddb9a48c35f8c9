"""Round-trip times of datagrams over one path: percentiles, and those that were late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from niclab.hosts.errors import ReadError

PERCENTILES = (50.0, 90.0, 99.0, 99.9)


class LateAt(Enum):
    """The server at which a datagram was late, as far as both servers' clocks can tell."""

    ANSWERER = "the server that answers"
    """The next one had to come before the answering program got it: it lay in that server, or was sent late."""
    ASKER = "the server that asks"
    """It was answered in time: the answer lay in the server that asks, or was sent late."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class LateTrip:
    """A round trip that lasted until the next datagram, or longer."""

    seconds: float
    at: LateAt


@dataclass(frozen=True)
class RoundTrips:
    """The datagrams of one exchange, and their fate.

    Attributes:
        trips_us: Times of round trips in microseconds, rising; those that were late are not among them.
        late: Those that lasted as long as the next datagram had to wait, or longer.
        lost: Datagrams without an answer.
    """

    trips_us: Sequence[float]
    late: Sequence[LateTrip]
    lost: int

    @property
    def count(self) -> int:
        """Datagrams that were sent."""
        return len(self.trips_us) + len(self.late) + self.lost

    def percentile(self, percent: float) -> float | None:
        """Return the time that so many percent of the datagrams did not exceed: one of those that were measured.

        Args:
            percent: More than 0, at most 100.

        Returns:
            In microseconds; None where that datagram was late or lost.
        """
        place = -int(-self.count * percent // 100)  # rounded up
        return self.trips_us[place - 1] if 0 < place <= len(self.trips_us) else None

    def __str__(self) -> str:
        shown = [f"p{percent:g} {_shown(self.percentile(percent))}" for percent in PERCENTILES]
        longest = f"longest {_shown(self.trips_us[-1])}" if self.trips_us else "none in time"
        return f"{', '.join(shown)}, {longest} of {self.count}; {len(self.late)} late, {self.lost} without an answer"


def read_round_trips(said: Mapping[str, Any], late_s: float, name: str) -> RoundTrips:
    """Read what the program that asked has said.

    Args:
        said: Its words.
        late_s: Time in s after which the next datagram was sent.
        name: The program, for messages.

    Raises:
        ReadError: It is something else, or not one datagram was sent.
    """
    try:
        trips = tuple(sorted(int(each) / 1000 for each in said["trips_ns"]))
        late = tuple(LateTrip(int(each["ns"]) / 1e9, _late_at(each["apart_ns"], late_s)) for each in said["late"])
        found = RoundTrips(trips, late, int(said["lost"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ReadError(f"it said {str(said)[:200]}; expected trips_ns, late, lost", name) from error
    if not found.count:
        raise ReadError("it said that no datagram was sent; expected at least one", name)
    return found


def _late_at(apart_ns: int | None, late_s: float) -> LateAt:
    """The next datagram was sent ``late_s`` later: at half of that, neither rest nor jitter reaches."""
    if apart_ns is None:
        return LateAt.UNKNOWN
    return LateAt.ASKER if apart_ns > late_s * 1e9 / 2 else LateAt.ANSWERER


def _shown(us: float | None) -> str:
    return "late or lost" if us is None else f"{us:.0f} us"
