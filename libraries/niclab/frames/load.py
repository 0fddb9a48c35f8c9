"""Full load: TCP over every path in both directions at once, and numbered frames among it. Nothing may stall."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from niclab.bench.records import Port, Role
from niclab.core import exposure
from niclab.core.exposure import Exposure
from niclab.core.parallel import side_by_side, together
from niclab.core.profile import Profile
from niclab.core.verdict import Trouble, Undecided, blame
from niclab.core.wait import pause
from niclab.frames.exchange import FrameBench, Say, exchange
from niclab.frames.spec import Arrives
from niclab.hosts.load_records import FrameCounters
from niclab.links import checks
from niclab.run import standstill
from niclab.run.run import Run
from niclab.traffic import tcp

LASTS_S: Mapping[Profile, int] = {Profile.QUICK: 12, Profile.FULL: 300}
FRAMES_PER_S = 50
SIZES = (60, 1514, 700, 64, 1024)
WINDOW_S = 3.0
LEAST_OF_MEAN = 0.1
"""House rule: a window in which a port carries less than this part of its mean is a stall."""
NEVER = ("rx_errors", "tx_errors")
"""Counters that may not grow. Frames for which a receiver had no room are congestion, and TCP sends them again."""


@dataclass(frozen=True)
class LoadLook:
    """What a port had counted, and when."""

    at_s: float
    counters: FrameCounters


Looks = Mapping[Port, Sequence[LoadLook]]


def carry(run: Run, profile: Profile, say: Say) -> None:
    """Load every path in both directions, and require that nothing stalls, breaks, or is damaged.

    Args:
        run: The current run.
        profile: How long it lasts.
        say: Takes what each port carried.

    Raises:
        CardFailure: A port of the dut stalls, counts errors or changes of carrier; frames are damaged, doubled or
            reordered.
        BenchFault: Only ports of the peer do, or traffic does not flow.
        Undecided: A server stood still while a port stalled.
        NotApplicable: A server cannot send frames of its own.
    """
    both, changes = standstill.watch(run), checks.carrier_changes(run)
    bench, before, looks = FrameBench(run), both.told(), dict[Port, list[LoadLook]]()
    frames = [
        replace(bench.frames("frames under load", port, 0, SIZES), per_s=FRAMES_PER_S, at_port=Arrives.SOME)
        for port in bench.ports
    ]

    # the frame programs give their account when the load is over: under it, that takes them half a minute
    def load() -> None:
        with together([tcp.steady(run, path, role) for path in run.bench.paths for role in Role]):
            looks.update(_watched(run, bench.ports, LASTS_S[profile]))

    undecided: Undecided | None = None
    try:
        exchange(run, frames, say, alone=False, meanwhile=load)
    except Undecided as error:  # what the ports themselves have counted is sure all the same
        undecided = error
    exposure.note(Exposure.LOADED_SECONDS, LASTS_S[profile])
    errors = [problem for port in bench.ports for problem in _errors(port, looks[port])]
    blame([*errors, *checks.unexpected_changes(run, changes, frozenset(), "every path was loaded both ways")])
    stalls = [problem for port in bench.ports for problem in _stalls(port, looks[port], say)]
    if stalls and (stood := both.between(before, both.told())):
        raise Undecided("\n".join([*(each.text for each in stalls), *map(str, stood)]))
    blame(stalls)
    if undecided is not None:
        raise undecided


def _watched(run: Run, ports: Sequence[Port], seconds: float) -> dict[Port, list[LoadLook]]:
    found: dict[Port, list[LoadLook]] = {port: [] for port in ports}

    def look(port: Port) -> LoadLook:
        counters = run.server_of(port).host.counts.load(run.interface(port)).frames
        return LoadLook(time.monotonic(), counters)

    end = time.monotonic() + seconds
    while time.monotonic() < end or len(found[ports[0]]) < len(("before", "between", "after")):
        for port, seen in zip(ports, side_by_side(look, ports), strict=True):
            found[port].append(seen)
        pause(WINDOW_S)
    return found


def _stalls(port: Port, looks: Sequence[LoadLook], say: Say) -> list[Trouble]:
    problems = []
    for way in ("rx_bytes", "tx_bytes"):
        rates = [
            8e-6 * (getattr(late.counters, way) - getattr(early.counters, way)) / (late.at_s - early.at_s)
            for early, late in pairwise(looks)
        ]
        mean = sum(rates) / len(rates)
        say(f"{port.name}: {way[:2]} {mean:.1f} Mbit/s, least {min(rates):.1f} in {WINDOW_S:g} s")
        if min(rates) < LEAST_OF_MEAN * mean or not mean:
            text = f"carried {min(rates):.2f} Mbit/s {way[:2]} in the worst {WINDOW_S:g} s under full load"
            problems.append(port.trouble(f"{text}; wanted: at least {LEAST_OF_MEAN:g} of its mean, {mean:.2f}"))
    return problems


def _errors(port: Port, looks: Sequence[LoadLook]) -> list[Trouble]:
    gained = looks[-1].counters.since(looks[0].counters)
    return [
        port.trouble(f"counted {getattr(gained, name)} {name} under full load; wanted: none")
        for name in NEVER
        if getattr(gained, name)
    ]
