"""The trial of the peer before late answers are charged to the card: its port sends to another one of it instead.

An answer that the dut gets late lay in the dut, or the peer's port or a switch sent it late. Single frames with the
same rests, from that port past the card, tell which. A sound card never sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from niclab.bench.records import Port, Role
from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.frames.blame import loop
from niclab.frames.blame.frame_findings import Culprit
from niclab.frames.blame.loop import TriedPort
from niclab.frames.blame.peer_trial import PASSES_WITHIN_S
from niclab.frames.latency.ping_pong import PingPong, Trips
from niclab.frames.latency.round_trip_times import LateAt, RoundTrips
from niclab.run.run import Run
from niclab.run.watching import standstill

TIMES = 5
"""So many frames for each one between two late answers: a port that is late as often shows it in 99 of 100 trials."""
PART_S, MOST_PARTS = 10.0, 24
"""A trial is so many exchanges of so many seconds at most."""
FIRST_S = 0.5


def tried(run: Run, suspected: Sequence[Trips], say: Callable[[str], object]) -> Mapping[Port, TriedPort]:
    """Try each port of the peer whose answers the dut got late.

    Args:
        run: The current run.
        suspected: Exchanges over paths with such answers.
        say: Takes what came out for each port.

    Returns:
        For the port of the peer of each path: ``CARD`` where it sends in time past the card, ``PEER`` where it is late
        there too, ``TOOL`` where that is not known.

    Raises:
        BenchFault: The bench could not be put back as it was.
    """
    found = {run.bench.end(each.path, Role.PEER): each.found for each in suspected}
    tried = loop.outcomes(run, found, frozenset(), lambda port, other: _tried(run, port, other, found[port]))
    for port, outcome in tried.items():
        say(f"{port.place} without the card: {outcome.said}")
    return tried


def _tried(run: Run, port: Port, other: Port, suspected: RoundTrips) -> TriedPort:
    late = sum(each.at is LateAt.ASKER for each in suspected.late)
    wanted = TIMES * -(-suspected.count // late)
    program, both = run.part(PingPong), standstill.watch(run, standstill.LEAST_OF_PINGS_MS)
    _await_passage(program, port, other)
    before, came = both.told(), 0
    for _ in range(MOST_PARTS):
        found = program.past(port, other, PART_S)
        came += len(found.trips_us)
        if found.late or came >= wanted:
            break
    stood = ", ".join(map(str, both.between(before, both.told())))
    if stood and (found.late or came < wanted):
        return TriedPort(Culprit.TOOL, stood)
    if found.late:
        longest = max(each.seconds for each in found.late)
        return TriedPort(Culprit.PEER, f"frames to {other.name} came up to {longest:.2f} s late")
    if came < wanted:
        return TriedPort(Culprit.TOOL, f"{came} frames came to {other.name} in time; expected {wanted}")
    return TriedPort(Culprit.CARD, f"{came} frames to {other.name} came in time")


def _await_passage(program: PingPong, port: Port, other: Port) -> None:
    """Wait until frames pass: a switch may hold a port back that came up just now.

    Raises:
        BenchFault: None do.
    """
    deadline = Deadline(PASSES_WITHIN_S)
    while not program.past(port, other, FIRST_S).trips_us:
        if deadline.expired:
            raise BenchFault(f"{port.place}: no frame reaches {other.name} within {PASSES_WITHIN_S:g} s")
