"""Full load: TCP over every path in both directions at once, and numbered frames among it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from niclab.bench.records import Port, Role
from niclab.core.exposure import Exposure
from niclab.core.parallel import together
from niclab.core.profile import Profile
from niclab.core.verdict import CardFailure, Charge, Collected, Trouble, Undecided, blame, split
from niclab.frames.exchange import FrameBench, Say, exchange
from niclab.frames.load import load_rates
from niclab.frames.load.load_rates import LoadLook, Looks, WantedLoad
from niclab.frames.load.load_sampler import ONE_LASTS_S, sampled
from niclab.frames.load.lost_frames import LostFrames, TooManyLost, charged, lost_frames, too_many_under_load
from niclab.frames.spec import Arrives, FrameStream
from niclab.links import link_checks
from niclab.run.run import Run
from niclab.run.run_notes import RunNotes
from niclab.run.watching import standstill
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic.flows import tcp
from niclab.traffic.limits import bottleneck
from niclab.traffic.limits.bottleneck import Before
from niclab.traffic.runs import endpoints, line_rate
from niclab.traffic.runs.experiment import judge_questions

SECONDS: Mapping[Profile, SamplingPlan] = {
    Profile.QUICK: SamplingPlan(first_look=12, met_from=12, most=36, step=6, warm_up_runs=0, correlation=0.6),
    Profile.FULL: SamplingPlan(first_look=300, met_from=300, most=600, step=60, warm_up_runs=0, correlation=0.6),
}
"""The duration of the load: longer only while a rate is undecided. Seconds in a row are more alike than runs."""
AROUND_S = 120
"""Assumption: within this time all samplers begin and the last flow is asked to end, on servers without CPU time left.
Measured on an emulated server: 13 s and 10 s."""
FRAMES_PER_S = 50
SIZES = (60, 1514, 700, 64, 1024)
FRACTION = "limits.full_load_fraction"


def carry(run: Run, profile: Profile, say: Say) -> None:
    """Load every path in both directions, and require the sheet's rate of each port, and that nothing stalls or breaks.

    Args:
        run: The current run.
        profile: How long it lasts.
        say: Takes what each port carried.

    Raises:
        CardFailure: A port of the dut carries less than the sheet wants, stalls, loses frames, cannot send some, or
            counts changes of carrier that its partner does not; frames are damaged, doubled or reordered.
        BenchFault: Only ports of the peer do, the bench cannot carry as much, or traffic does not flow.
        Undecided: Both ends of a cable lost carrier; a server stood still, or had no CPU left, while frames were lost;
            nobody knows who lost or damaged frames; or a rate is too near its limit.
        NotApplicable: A server cannot send frames of its own; or the sheet does not know the rate; all else is good.
    """
    fraction, wanted = run.card.limits.full_load_fraction, wanted_load(run, SECONDS[profile])
    befores = _room(run, wanted) if wanted is not None else ()
    both, changes = standstill.watch(run), link_checks.carrier_changes(run)
    bench, before, looks = FrameBench(run), both.told(), dict[Port, Sequence[LoadLook]]()
    at_most_s = int(SECONDS[profile].most * ONE_LASTS_S)

    # the frame programs give their account when the load is over: under it, that takes them half a minute
    def load() -> None:
        with together([tcp.steady(run, path, role, at_most_s + AROUND_S) for path in run.bench.paths for role in Role]):
            looks.update(_watched(run, bench.ports, SECONDS[profile], wanted, at_most_s))

    lost, ended = list[LostFrames](), None
    try:
        lost = lost_frames(exchange(run, _frames(bench), say, alone=False, meanwhile=load)[0])
    except (CardFailure, Undecided) as error:  # what the ports themselves have counted is sure all the same
        if not looks:
            raise
        ended = error
    run.notes.exposed(Exposure.LOADED_SECONDS, looks[bench.ports[0]][-1].at_s - looks[bench.ports[0]][0].at_s)
    for line in (*load_rates.lines(looks), *map(str, lost)):
        say(line)
    flaps = link_checks.unexpected_changes(run, changes, frozenset(), "while every path was loaded both ways")
    stood = [str(each) for each in both.between(before, both.told())]
    judge(run.notes, CarriedLoad(looks, lost, flaps, stood, ended), wanted, befores)
    run.card.known(run.card.section(fraction, FRACTION), FRACTION)


@dataclass(frozen=True)
class CarriedLoad:
    """A load that is over.

    Attributes:
        looks: At all ports.
        lost: The numbered frames of each stream that did not arrive.
        flaps: Changes of carrier.
        stood: The servers that stood still meanwhile, in words.
        ended: The failure or the doubt of the numbered frames; None where there is none.
    """

    looks: Looks
    lost: Sequence[LostFrames]
    flaps: Sequence[Charge]
    stood: Sequence[str]
    ended: Exception | None = None


def judge(notes: RunNotes, carried: CarriedLoad, wanted: WantedLoad | None, befores: Sequence[Before]) -> None:
    """Judge a load; no loss, stall or doubt hides a rate that was missed.

    Args:
        notes: Those of the run.
        carried: The load.
        wanted: What each port of the dut must carry; None where nobody knows.
        befores: What every end could do before.

    Raises:
        CardFailure: As :func:`carry`.
        BenchFault: As :func:`carry`.
        Undecided: As :func:`carry`.
    """
    looks, stood, judged = carried.looks, carried.stood, Collected()
    with judged.one():
        if carried.ended is not None:
            raise carried.ended
    troubles = [problem for port, seen in looks.items() for problem in load_rates.own_troubles(port, seen)]
    sure, unknown = charged(_missing(carried.lost, looks), lambda: [*stood, *load_rates.without_free_cpu(looks)])
    with judged.one():
        _blame(troubles, carried.flaps, sure, unknown)
    if all(each.side is not None for each in carried.flaps):
        judged.doubts += unknown
        with judged.one():
            load_rates.require_no_stall(looks, wanted, stood)
        with judged.one():
            if wanted is not None:
                judge_questions(notes, load_rates.questions(looks, wanted, befores, stood))
    judged.end()


def _blame(
    troubles: Sequence[Trouble], flaps: Sequence[Charge], losses: Sequence[Trouble], undecided: Sequence[str]
) -> None:
    """Charge each side; frames may be missing, and ports stall, where a link flapped and nobody knows why."""
    flapped, unclear = split(flaps)
    blame([*troubles, *flapped, *([] if unclear else losses)])
    if unclear:
        raise Undecided("\n".join([*unclear, *undecided, *(each.text for each in losses)]))


def _frames(bench: FrameBench) -> list[FrameStream]:
    made = (bench.frames("frames under load", port, 0, SIZES) for port in bench.ports)
    return [replace(each, per_s=FRAMES_PER_S, at_port=Arrives.SOME) for each in made]


def _missing(lost: Sequence[LostFrames], looks: Looks) -> list[TooManyLost]:
    """Return what was lost of the numbered frames, and what the ports have counted."""
    counted = [each for port, seen in looks.items() for each in load_rates.losses(port, seen)]
    return [*too_many_under_load(lost, FRAMES_PER_S), *counted]


def wanted_load(run: Run, plan: SamplingPlan) -> WantedLoad | None:
    """Return what the ports of the dut must carry under full load; None where the sheet does not know the fraction.

    Args:
        run: The current run.
        plan: How many values are judged.

    Raises:
        CardFailure: A port of the dut negotiated another speed than the sheet's.
        BenchFault: A port reports no speed, or one of the peer or the other end of a link offers less than the sheet's.
        Undecided: Both ends negotiated a lower speed that they can exceed.
    """
    fraction = run.card.limits.full_load_fraction
    if not isinstance(fraction, float):
        return None
    paths = run.bench.paths
    line_mbps = max(line_rate.line_mbps(run, endpoints.ends(run, path, Role.DUT), path) for path in paths)
    source = f"sheet {run.card.name}: {FRACTION} {fraction:g} of line rate, {line_mbps:g} Mbit/s"
    return WantedLoad(fraction * line_mbps, line_mbps, source, plan)


def _room(run: Run, wanted: WantedLoad) -> Sequence[Before]:
    """Return what every end can do before the load."""
    ends = [endpoints.ends(run, path, Role.DUT) for path in run.bench.paths]
    befores = [before for each in ends for before in bottleneck.look_before(run, each)]
    slots = Counter(_slot(port) for port in run.ports(Role.DUT))
    together_bps = max(slots.values()) * wanted.mbps * 1e6
    bottleneck.want_room(befores, together_bps, f"{wanted.source}, of all ports of a slot together")
    return befores


def _slot(port: Port) -> str:
    return port.pci.rpartition(".")[0]


def _watched(
    run: Run, ports: Sequence[Port], plan: SamplingPlan, wanted: WantedLoad | None, at_most_s: float
) -> Mapping[Port, Sequence[LoadLook]]:
    with sampled(run, ports, at_most_s) as sampler:
        for seconds in plan.looks:
            found = sampler.looks(seconds + 1)
            if not load_rates.is_open(found, wanted):
                break
    return found
