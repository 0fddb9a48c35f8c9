"""A soak: load over every path in both directions for hours, in cycles that end with single frames without load."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

from niclab.bench.records import Port, Role
from niclab.core.parallel import side_by_side, together
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Trouble, Undecided
from niclab.core.wait import pause
from niclab.frames.latency import stalls
from niclab.frames.latency.ping_pong import PingPong
from niclab.frames.latency.round_trip_times import RoundTrips
from niclab.frames.load import full_load, load_rates
from niclab.frames.load.load_rates import LoadLook, WantedLoad
from niclab.frames.load.lost_frames import charged
from niclab.frames.soak import soak_rates
from niclab.frames.soak.soak_series import Cycle, SoakFigure, SoakMeasure, drifts, findings
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.run.watching.kernel_watch import KernelWatch
from niclab.traffic.flows import tcp
from niclab.transports import ConnectionLost
from niclab.transports.bmc.bmc import SensorKind

Finding = CardFailure | BenchFault | Undecided
CYCLES = 60
"""Assumption: a soak has about so many cycles, as long as each has a length between the two below."""
SHORTEST_S, LONGEST_S = 20.0, 300.0
LOADED_PART = 0.7
"""The loaded part of a cycle. The rest is single frames, questions to servers, and time that flows need to begin."""
TRIPS_S, OWN_S = 2.0, 0.5
FAULTS = 3
"""Assumption: a bench on which so many cycles fail one after the other does not recover by itself."""
SETTLES_S = 1.0
"""Assumption: TCP has found its rate by then."""


@dataclass
class Soaked:
    """A soak so far. ``ended``: why it ended early; empty where it did not. ``wanted``: None where no rate is known."""

    hours: float
    cycles: list[Cycle] = field(default_factory=list)
    events: list[Finding] = field(default_factory=list)
    """Events of a moment, in turn: stalls, damaged frames, trouble of a kernel."""
    ended: str = ""
    wanted: WantedLoad | None = None

    def findings(self) -> list[Finding]:
        """Return everything that is wrong: what happened at a moment, rates, and drifts."""
        return [*self.events, *soak_rates.findings(self.cycles, self.wanted), *findings(drifts(self.cycles))]


def cycle_s(hours: float) -> float:
    """Return the length of a cycle in s.

    Args:
        hours: Length of the soak.
    """
    return min(max(hours * 3600 / CYCLES, SHORTEST_S), LONGEST_S)


def soak(
    run: Run,
    soaked: Soaked,
    show: Callable[[], object],
    say: Callable[[str], object],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Soak the card until the time is over, a kernel or a server breaks, or :data:`FAULTS` cycles in turn fail.

    Args:
        run: The current run; its ports are prepared.
        soaked: How long it lasts; takes what was measured, and what was wrong.
        show: Is called after each cycle.
        say: Takes what is of interest, in words.
        clock: Seconds of a clock that never goes back.

    Raises:
        CardFailure: A port of the dut negotiated another speed than the sheet's.
        BenchFault: A port reports no speed, or another port than one of the dut offers less than the sheet's.
        Undecided: Both ends of a link negotiated a lower speed that they can exceed.
        NotApplicable: A server does not run Linux.
    """
    soaked.wanted = full_load.wanted_load(run, soak_rates.PLAN)
    begin_s, length_s, faults = clock(), cycle_s(soaked.hours), 0
    while not soaked.ended and clock() - begin_s < soaked.hours * 3600:
        try:
            with _judged(run, soaked):
                found = _cycle(run, length_s, soaked, say)
                soaked.cycles.append(Cycle(clock() - begin_s, found))
            faults = 0
        except BenchFault as fault:
            soaked.events.append(fault)
            faults += 1
            if faults == FAULTS or isinstance(fault, ConnectionLost):
                soaked.ended = str(fault)
        show()


@contextmanager
def _judged(run: Run, soaked: Soaked) -> Iterator[None]:
    """Both kernels are looked at after the cycle; trouble that they report ends the soak."""
    try:
        yield
    finally:
        found = run.part(KernelWatch).look()
        soaked.events += found
        soaked.ended = soaked.ended or "\n".join(map(str, found))


def _cycle(run: Run, length_s: float, soaked: Soaked, say: Callable[[str], object]) -> dict[SoakMeasure, float]:
    both = standstill.watch(run)
    begun = both.told()
    before, after = _loaded(run, LOADED_PART * length_s)
    looks = {port: (before[port], after[port]) for port in before}
    troubles = [each for port, seen in looks.items() for each in load_rates.own_troubles(port, seen)]
    missing = [each for port, seen in looks.items() for each in load_rates.losses(port, seen)]

    def may_be_why() -> list[str]:
        return [*map(str, both.between(begun, both.told())), *load_rates.without_free_cpu(looks)]

    sure, unknown = charged(missing, may_be_why)
    soaked.events += [_finding(each) for each in (*troubles, *sure)]
    soaked.events += [Undecided("\n".join(unknown))] if unknown else []
    idle, stood = stalls.alone(run, TRIPS_S, say)
    try:
        stalls.judge(run, idle, stood, stalls.try_peer(run, idle, stood, say))
    except (CardFailure, BenchFault, Undecided) as error:
        soaked.events.append(error)
    found = _rates(before, after)
    found |= _middle(SoakFigure.ROUND_TRIP, {f"path {each.path.name}": each.found for each in idle})
    own = {role.value: run.part(PingPong).inside(role, OWN_S) for role in Role}
    return found | _middle(SoakFigure.OWN_PACE, own) | _of_servers(run)


def _loaded(run: Run, seconds: float) -> tuple[Mapping[Port, LoadLook], Mapping[Port, LoadLook]]:
    at_most_s = round(seconds) + stalls.BEGIN_WITHIN_S
    with together([tcp.steady(run, path, role, at_most_s) for path in run.bench.paths for role in Role]):
        pause(SETTLES_S)
        before = _looks(run)
        pause(seconds)
        return before, _looks(run)


def _looks(run: Run) -> dict[Port, LoadLook]:
    ports = [run.bench.port(end) for path in run.bench.paths for end in path.ends]

    def look(port: Port) -> LoadLook:
        load = run.server_of(port).host.counts.load(run.interface(port))
        return LoadLook(time.monotonic(), load)

    return dict(zip(ports, side_by_side(look, ports), strict=True))


def _rates(before: Mapping[Port, LoadLook], after: Mapping[Port, LoadLook]) -> dict[SoakMeasure, float]:
    return {
        SoakMeasure(SoakFigure.RATE, f"{port.name} {does}"): load_rates.rates((before[port], after[port]), way)[0]
        for port in before
        if port.role is Role.DUT
        for way, does in load_rates.WAYS.items()
    }


def _middle(quantity: SoakFigure, trips: Mapping[str, RoundTrips]) -> dict[SoakMeasure, float]:
    return {SoakMeasure(quantity, place): median(each.trips_us) for place, each in trips.items() if each.trips_us}


def _of_servers(run: Run) -> dict[SoakMeasure, float]:
    found = dict[SoakMeasure, float]()
    for server in run.servers.values():
        free = server.host.system.available_bytes()
        found[SoakMeasure(SoakFigure.FREE_MEMORY, server.name)] = free / 1e6
        heat = _hottest(run, server.role)
        if heat is not None:
            found[SoakMeasure(SoakFigure.TEMPERATURE, server.name)] = heat
    return found


def _hottest(run: Run, role: Role) -> float | None:
    """The hottest sensor of the BMC; None without one that says a temperature."""
    try:
        sensors = run.server(role).bmc.sensors()
    except (NotApplicable, BenchFault):
        return None
    readings = (each.value for each in sensors if each.kind is SensorKind.TEMPERATURE)
    return max((each for each in readings if each is not None), default=None)


def _finding(trouble: Trouble) -> Finding:
    return (CardFailure if trouble.of_card else BenchFault)(trouble.text)
