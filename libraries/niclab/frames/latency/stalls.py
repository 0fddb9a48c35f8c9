"""Round trips of single frames over every path, idle and, in a full test, loaded: recorded, and judged against stalls.

A frame that comes while nothing else does is handed over by its own interrupt alone. One that is lost leaves the frame
where it is until the next one comes, or until the driver looks for itself. Under load the next frame comes at once, and
queues are long, so that only times without load are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from niclab.bench.records import Role
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.parallel import together
from niclab.core.profile import Profile
from niclab.core.verdict import Trouble, Undecided, blame
from niclab.frames import delivery
from niclab.frames.latency.ping_pong import LATE_S, PingPong, Trips
from niclab.frames.latency.round_trip_times import LateAt
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.traffic.flows import tcp

SECONDS = {Profile.QUICK: 3.5, Profile.FULL: 40.0}
"""Over each path while nothing else is sent. To begin and end the programs took 7 s on emulated servers."""
LOADED_S = {Profile.FULL: 16.0}
"""Over each path under load, where nothing is judged. A quick test has no such part: on emulated servers it took 20 s,
most of them to begin and end the flows, for 9 round trips."""
BEGIN_WITHIN_S = 60
"""Assumption: all flows have begun within this time."""
ATTEMPTS = 2
"""An idle exchange with a stall or a loss in which a server stood still is made again, at most so often in all."""
EXPECTED = f"every one answered, none that lasts {LATE_S:g} s (assumption; drivers look for lost interrupts every 2 s)"


def require_none(run: Run, profile: Profile, say: Callable[[str], object]) -> None:
    """Let the dut ask the peer over every path, idle and, in a full test, with TCP both ways over every path at once.

    Args:
        run: The current run.
        profile: How long.
        say: Takes the percentiles.

    Raises:
        CardFailure: While nothing else was sent, an answer lay in the dut for half a second or longer; or some had
            none, and the card loses frames.
        Undecided: A server stood still meanwhile, or the datagram may have lain in either server, or was lost where
            nobody knows.
        BenchFault: A program fails, or traffic does not flow.
        NotApplicable: A server does not run Linux.
    """
    idle, stood = alone(run, SECONDS[profile], say)
    _record(run, idle, "idle", say, stood)
    if profile in LOADED_S:
        _record(run, _loaded(run, LOADED_S[profile]), "loaded", say)
    judge(run, idle, stood, lambda: delivery.once_in_order(run, say))


def _loaded(run: Run, seconds: float) -> list[Trips]:
    paths = run.bench.paths
    at_most_s = round(len(paths) * seconds) + BEGIN_WITHIN_S
    with together([tcp.steady(run, path, role, at_most_s) for path in paths for role in Role]):
        return run.part(PingPong).exchange(paths, seconds)


def alone(run: Run, seconds: float, say: Callable[[str], object]) -> tuple[list[Trips], list[str]]:
    """Let the dut ask the peer over every path while nothing else is sent.

    Args:
        run: The current run.
        seconds: Time in s over each path.
        say: Takes why it was asked again.

    Returns:
        What became of the datagrams, and which servers stood still meanwhile, in words.

    Raises:
        BenchFault: A program fails.
        NotApplicable: A server does not run Linux.
    """
    both = standstill.watch(run, standstill.LEAST_OF_PINGS_MS)
    before = both.told()
    for attempt in range(ATTEMPTS):
        found = run.part(PingPong).exchange(run.bench.paths, seconds)
        after = both.told()
        stood = [str(each) for each in both.between(before, after)]
        before = after
        if not stood or not any(each.found.late or each.found.lost for each in found) or attempt == ATTEMPTS - 1:
            break
        say(f"again, as {', '.join(stood)}")
    return found, stood


def _record(
    run: Run, trips: Iterable[Trips], when: str, say: Callable[[str], object], stood: Sequence[str] = ()
) -> None:
    for each in trips:
        say(f"path {each.path.name}, {when}: {each.found}")
        is_judged, outcome = when == "idle", Decision.MET
        if is_judged and (each.found.late or each.found.lost):
            is_sure = not stood and any(trip.at is LateAt.ASKER for trip in each.found.late)
            outcome = Decision.MISSED if is_sure else Decision.UNDECIDED
        run.notes.figure(
            NotedFigure(
                kind=FigureKind.TRAFFIC,
                subject=f"round trips over path {each.path.name}, {when}",
                found=str(each.found),
                expected=EXPECTED if is_judged else "no limit: recorded",
                source="",
                outcome=outcome,
                unit="us",
                value=each.found.percentile(50),
                high=each.found.percentile(99.9),
            )
        )


def judge(
    run: Run, idle: Sequence[Trips], stood: Sequence[str], find_loser: Callable[[], object] = lambda: None
) -> None:
    """Require that no datagram was late or lost while nothing else was sent.

    Args:
        run: The current run.
        idle: What became of them.
        stood: Which servers stood still meanwhile, in words.
        find_loser: Is called where some were lost on servers that kept running; raises if it finds who loses frames.

    Raises:
        CardFailure: An answer lay in the dut.
        Undecided: A server stood still, or the datagram may have lain in either server, or was lost where nobody knows.
    """
    sure, unknown = list[Trouble](), list[str]()
    for each in idle:
        dut = run.bench.end(each.path, Role.DUT)
        for at in LateAt:
            late = sorted(trip.seconds for trip in each.found.late if trip.at is at)
            if not late:
                continue
            text = f"{len(late)} of {each.found.count} round trips lasted up to {late[-1]:.2f} s; expected {EXPECTED}"
            if at is LateAt.ASKER:
                sure.append(dut.trouble(f"had answers that its program got late: {text}"))
            else:
                unknown.append(f"path {each.path.name}: late at {at.value}: {text}")
    lost = [
        f"path {each.path.name}: {each.found.lost} of {each.found.count} without an answer; expected {EXPECTED}"
        for each in idle
        if each.found.lost
    ]
    if stood and (sure or unknown or lost):
        raise Undecided("\n".join([*(each.text for each in sure), *unknown, *lost, *stood]))
    blame(sure)
    if lost:
        find_loser()
    if unknown or lost:
        raise Undecided("\n".join([*unknown, *lost]))
