"""Round trips of single frames over every path, idle and, in a full test, loaded: recorded, and judged against stalls.

A frame that comes while nothing else does is handed over by its own interrupt alone. One that is lost leaves the frame
where it is until the next one comes, or until the driver looks for itself. Under load the next frame comes at once, and
queues are long, so that only times without load are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from niclab.bench.records import Port, Role
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.parallel import together
from niclab.core.profile import Profile
from niclab.core.verdict import NotApplicable, Trouble, Undecided, blame
from niclab.frames import delivery
from niclab.frames.blame.frame_findings import Culprit
from niclab.frames.blame.loop import TriedPort
from niclab.frames.latency import late_trial
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
        CardFailure: While nothing else was sent, an answer lay in the dut for half a second or longer, and the peer's
            port sends in time past the card; or some had none, and the card loses frames.
        Undecided: A server stood still meanwhile, or the datagram may have lain in either server, or was lost where
            nobody knows.
        BenchFault: The peer's port or a switch sends late; or a program fails, or traffic does not flow.
        NotApplicable: A server does not run Linux.
    """
    idle, stood = alone(run, SECONDS[profile], say)
    tried = try_peer(run, idle, stood, say)
    _record(run, idle, "idle", say, tried)
    if profile in LOADED_S:
        _record(run, _loaded(run, LOADED_S[profile]), "loaded", say, {})
    judge(run, idle, stood, tried, lambda: delivery.once_in_order(run, say))


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


def try_peer(
    run: Run, idle: Sequence[Trips], stood: Sequence[str], say: Callable[[str], object]
) -> Mapping[Port, TriedPort]:
    """Try the ports of the peer whose answers the dut got late, unless a server stood still meanwhile.

    Args:
        run: The current run.
        idle: What became of the datagrams.
        stood: Which servers stood still meanwhile, in words.
        say: Takes what came out for each port.

    Raises:
        BenchFault: The bench could not be put back as it was.
    """
    suspected = [each for each in idle if _is_late(each, LateAt.ASKER)]
    return late_trial.tried(run, suspected, say) if suspected and not stood else {}


def _record(
    run: Run, trips: Iterable[Trips], when: str, say: Callable[[str], object], tried: Mapping[Port, TriedPort]
) -> None:
    for each in trips:
        say(f"path {each.path.name}, {when}: {each.found}")
        is_judged, outcome = when == "idle", Decision.MET
        if is_judged and (each.found.late or each.found.lost):
            peer = tried.get(run.bench.end(each.path, Role.PEER))
            is_sure = peer is not None and peer.culprit is Culprit.CARD
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
    run: Run,
    idle: Sequence[Trips],
    stood: Sequence[str],
    tried: Mapping[Port, TriedPort],
    find_loser: Callable[[], object] = lambda: None,
) -> None:
    """Require that no datagram was late or lost while nothing else was sent.

    Args:
        run: The current run.
        idle: What became of them.
        stood: Which servers stood still meanwhile, in words.
        tried: What came out of the trial of the peer's ports.
        find_loser: Is called where some were lost on servers that kept running; raises if it finds who loses frames.

    Raises:
        CardFailure: An answer lay in the dut, or it loses frames.
        BenchFault: The peer's port or a switch sends late, also past the card.
        Undecided: A server stood still, or the datagram may have lain in either server, or was lost where nobody knows.
    """
    asker = [each for each in idle if _is_late(each, LateAt.ASKER)]
    unknown = [
        f"path {each.path.name}: late at {at.value}: {_late(each, at)}"
        for each in idle
        for at in (LateAt.ANSWERER, LateAt.UNKNOWN)
        if _is_late(each, at)
    ]
    lost = [
        f"path {each.path.name}: {each.found.lost} of {each.found.count} without an answer; expected {EXPECTED}"
        for each in idle
        if each.found.lost
    ]
    if stood and (asker or unknown or lost):
        raise Undecided("\n".join([*(_trouble(run, each).text for each in asker), *unknown, *lost, *stood]))
    sure, unproven = _charged(run, asker, tried)
    if not any(each.of_card for each in sure) and lost:  # a late peer hides no card that loses frames
        try:
            find_loser()
        except (NotApplicable, Undecided):
            blame(sure)
            raise
    blame(sure)
    if unproven or unknown or lost:
        raise Undecided("\n".join([*unproven, *unknown, *lost]))


def _charged(run: Run, late: Sequence[Trips], tried: Mapping[Port, TriedPort]) -> tuple[list[Trouble], list[str]]:
    """Return the troubles of either side, and those of which nobody knows whether the peer made them."""
    sure, unproven = list[Trouble](), list[str]()
    for each in late:
        trouble, peer = _trouble(run, each), run.bench.end(each.path, Role.PEER)
        outcome = tried[peer]
        if outcome.culprit is Culprit.CARD:
            sure.append(trouble)
        elif outcome.culprit is Culprit.PEER:
            sure.append(peer.trouble(f"sends late without the card: {outcome.said}\n{trouble.text}"))
        else:
            unproven.append(f"{trouble.text}\nnobody knows whether {peer.place} sent them late: {outcome.said}")
    return sure, unproven


def _is_late(trips: Trips, at: LateAt) -> bool:
    return any(trip.at is at for trip in trips.found.late)


def _trouble(run: Run, trips: Trips) -> Trouble:
    dut = run.bench.end(trips.path, Role.DUT)
    return dut.trouble(f"had answers that its program got late: {_late(trips, LateAt.ASKER)}")


def _late(trips: Trips, at: LateAt) -> str:
    late = [trip.seconds for trip in trips.found.late if trip.at is at]
    count = trips.found.count
    return f"{len(late)} of {count} round trips lasted up to {max(late):.2f} s; expected {EXPECTED}"
