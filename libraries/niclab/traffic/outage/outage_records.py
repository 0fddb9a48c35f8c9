"""The notes of the outage prober and its findings. Times are whole microseconds, lengths are milliseconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EndLog:
    """The notes of one end, by its own wall clock in microseconds since 1970.

    ``ticks_us``: when it sent packet 0, 1, ... (also those its kernel did not take: ``refused``, and ``full``, for
    which its queue had no room).
    ``arrivals``: number and time of each packet of the partner, in the order in which they were fetched.
    """

    ticks_us: tuple[int, ...]
    refused: frozenset[int]
    full: frozenset[int]
    arrivals: tuple[tuple[int, int], ...]
    overflowed: int
    clock_step_us: int


@dataclass(frozen=True)
class Blind:
    """A time in which an end neither sent nor provably listened: its program, or its whole server, stood still."""

    start_us: int
    length_ms: float


@dataclass(frozen=True)
class Noise:
    """The steadiness of an end: its ticks, the usual and the longest step between two, and the times it was blind.

    ``pause_ms``: steps longer than this are pauses; it is how fine this end measured.
    """

    ticks: int
    median_ms: float
    p99_ms: float
    longest_ms: float
    pause_ms: float
    blind: tuple[Blind, ...]

    @property
    def blind_ms(self) -> float:
        return sum(blind.length_ms for blind in self.blind)

    def __str__(self) -> str:
        return (
            f"{self.ticks} ticks, median {self.median_ms:.2f} ms, p99 {self.p99_ms:.1f} ms, longest "
            f"{self.longest_ms:.1f} ms, {len(self.blind)} pauses above {self.pause_ms:.0f} ms, "
            f"{self.blind_ms:.0f} ms in all"
        )


@dataclass(frozen=True)
class Outage:
    """Packets in a row that did not arrive, or not in time.

    Attributes:
        start_us: When the first of them was sent, by the sender's clock.
        proven_ms: Time in which every packet sent was missed, while the sender provably sent and the receiver provably
            listened. 0 for a single packet: nobody knows about the time around it.
        at_most_ms: From the last packet that arrived before to the first that arrived after.
        packets: How many they are.
        late: How many of them arrived too late.
        heard: How many of them found room in the sender's queue, and should have arrived while the receiver provably
            listened.
        over: False when none arrived after: ``at_most_ms`` then goes to the end of the measurement, and it may be
            longer.
    """

    start_us: int
    proven_ms: float
    at_most_ms: float
    packets: int
    late: int
    heard: int
    over: bool

    def __str__(self) -> str:
        length = (
            f"{self.proven_ms:.1f} to {self.at_most_ms:.1f} ms" if self.over else f"{self.proven_ms:.1f} ms or more"
        )
        return f"{length} ({self.packets} packets, {self.late} of them late)"


@dataclass(frozen=True)
class ProbedDirection:
    """One direction of a measurement.

    Attributes:
        full: How many packets the sender's own queue had no room for.
        blind_most_ms: The longest time between two packets sent one after the other, both of which arrived: an outage
            of up to that length can hide in it.
        silent_most_ms: The longest time between two arrivals at the receiver, whatever the reason.
        worst_delay_ms: The largest delay of a packet beyond the smallest one.
        first_us: When the first packet that arrived was sent, by the sender's clock: nothing before was measured.
    """

    name: str
    sent: int
    arrived: int
    late: int
    refused: int
    full: int
    duplicated: int
    reordered: int
    worst_delay_ms: float
    outages: tuple[Outage, ...]
    blind_most_ms: float
    silent_most_ms: float
    sender: Noise
    receiver: Noise
    first_us: int = 0

    @property
    def proven_ms(self) -> float:
        """The least total duration of all outages."""
        return sum(outage.proven_ms for outage in self.outages)

    @property
    def at_most_ms(self) -> float:
        """The greatest total duration of all outages, also of one hidden in a pause or of packets that were held."""
        return max(sum(outage.at_most_ms for outage in self.outages), self.blind_most_ms, self.silent_most_ms)

    @property
    def over(self) -> bool:
        return all(outage.over for outage in self.outages)

    @property
    def lost(self) -> int:
        return self.sent - self.arrived

    def __str__(self) -> str:
        found = f"outage {self.proven_ms:.1f} to {self.at_most_ms:.1f} ms" if self.outages else "no outage"
        unended = "" if self.over else " and not over"
        return (
            f"{self.name}: {found}{unended}; {self.sent} packets, {self.lost} lost, {self.late} late, "
            f"{self.refused} refused, {self.full} not sent for a full queue, {self.duplicated} duplicated, "
            f"{self.reordered} reordered, delay up to {self.worst_delay_ms:.1f} ms"
        )


@dataclass(frozen=True)
class OutageReport:
    """Both directions at once."""

    forth: ProbedDirection
    back: ProbedDirection

    @property
    def directions(self) -> tuple[ProbedDirection, ProbedDirection]:
        return self.forth, self.back
