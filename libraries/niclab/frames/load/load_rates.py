"""The rates of ports under full load, and those that a sheet requires."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from niclab.bench.records import Port, Role
from niclab.core.decision import Decision
from niclab.core.verdict import Trouble, Undecided, blame
from niclab.frames.blame.frame_findings import Culprit, culprit_of
from niclab.frames.load.lost_frames import TooManyLost
from niclab.hosts.counts.load_records import Load, backwards_at, load_between
from niclab.stats.judge import judge_values
from niclab.stats.questions import Outcome, at_least
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic.limits import bottleneck
from niclab.traffic.limits.bottleneck import BUSY_DURING, Before
from niclab.traffic.runs.experiment import Question

WAYS: Mapping[str, str] = {"rx_bytes": "receives", "tx_bytes": "sends"}
LEAST_OF_WANTED = 0.1
"""Assumption: a second in which a port carries less than this part of what it must carry on average is a stall."""
MOST_LOST = 0.01
"""Assumption: TCP that loses more than one frame in a hundred is no longer held back by the line alone."""
LOST: Mapping[str, Sequence[str]] = {"rx": ("rx_missed_errors", "rx_dropped"), "tx": ("tx_dropped",)}
"""Counters of each direction that may grow: frames without room are congestion, and TCP sends them again."""


@dataclass(frozen=True)
class LoadLook:
    """The counts of a port and its server, and their time in s of the server."""

    at_s: float
    load: Load


Looks = Mapping[Port, Sequence[LoadLook]]


@dataclass(frozen=True)
class WantedLoad:
    """The rate that each port of the dut must carry in each direction.

    Attributes:
        mbps: In Mbit/s, of frames without preamble and gap.
        line_mbps: Line rate in Mbit/s.
        source: Where that is from.
        plan: How many seconds are looked at.
    """

    mbps: float
    line_mbps: float
    source: str
    plan: SamplingPlan


def questions(
    looks: Looks, wanted: WantedLoad, befores: Sequence[Before] = (), stood: Sequence[str] = ()
) -> list[Question]:
    """Ask of each port of the dut and direction whether the sheet's share of line rate was carried.

    Args:
        looks: One a second or so, of all ports.
        wanted: What is wanted.
        befores: What every end could do before.
        stood: The servers that stood still meanwhile, in words.

    Returns:
        A question for each. What is missed may be the bench's where an end could do less before, or had no CPU left.
        Nobody knows where a server stood still, and half of the seconds without a stall are good.
    """
    hindered = [*bottleneck.hindrances(befores, (), wanted.line_mbps * 1e6), *without_free_cpu(looks)]
    return [
        Question(
            f"{port.name} {does} under full load",
            _outcome(looks[port], way, wanted),
            hindered,
            stood if _is_mostly_met(looks[port], way, wanted) else (),
        )
        for port in looks
        if port.role is Role.DUT
        for way, does in WAYS.items()
    ]


def is_open(looks: Looks, wanted: WantedLoad | None) -> bool:
    """Return whether further seconds may still decide a question.

    Args:
        looks: So far; as many as the first look of the plan needs, at least.
        wanted: What is wanted; None where nobody knows.
    """
    if wanted is None:
        return False
    return any(each.result.decision is Decision.UNDECIDED for each in questions(looks, wanted))


def stalls(port: Port, looks: Sequence[LoadLook], wanted: WantedLoad | None) -> list[Trouble]:
    """Find directions that stood still, or nearly, for a second.

    Args:
        port: The port.
        looks: At it.
        wanted: What it must carry; None where nobody knows, and its own mean is the measure.
    """
    found = []
    for way, does in WAYS.items():
        carried = rates(looks, way)
        usual = wanted.mbps if wanted is not None else sum(carried) / len(carried)
        if min(carried) < LEAST_OF_WANTED * usual or not usual:
            least = f"expected at least {LEAST_OF_WANTED:g} of {usual:.2f}"
            found.append(port.trouble(f"{does} {min(carried):.2f} Mbit/s in the worst second of full load; {least}"))
    return found


def require_no_stall(looks: Looks, wanted: WantedLoad | None, stood: Sequence[str]) -> None:
    """Require that no port stood still, or nearly, for a second.

    Args:
        looks: At all ports.
        wanted: What each must carry; None where nobody knows.
        stood: The servers that stood still meanwhile, in words.

    Raises:
        CardFailure: A port of the dut did.
        BenchFault: Only ports of the peer did.
        Undecided: One did, and a server stood still or had no CPU left for it.
    """
    found = [problem for port, seen in looks.items() for problem in stalls(port, seen, wanted)]
    may_be_why = [*stood, *without_free_cpu(looks)] if found else []
    if may_be_why:
        raise Undecided("\n".join([*(each.text for each in found), *may_be_why]))
    blame(found)


def own_troubles(port: Port, looks: Sequence[LoadLook]) -> list[Trouble]:
    """Find counters that run backwards, and frames that could not be sent: those are of the port for sure.

    Args:
        port: The port.
        looks: At it.
    """
    if backwards := _backwards(port, looks):
        return backwards
    errors = looks[-1].load.frames.tx_errors - looks[0].load.frames.tx_errors
    return [port.trouble(f"counted {errors} tx_errors under full load; expected none")] if errors else []


def losses(port: Port, looks: Sequence[LoadLook]) -> list[TooManyLost]:
    """Find frames that arrived damaged, and more lost ones than congestion explains.

    Nobody knows who damaged a frame: either end of a cable spoils those, and the cable.

    Args:
        port: The port.
        looks: At it.

    Returns:
        What was found; nothing of counters that run backwards.
    """
    if _backwards(port, looks):
        return []
    gained, found = looks[-1].load.frames.since(looks[0].load.frames), list[TooManyLost]()
    if gained.rx_errors:
        said = f"counted {gained.rx_errors} rx_errors under full load; expected none; either end of its cable, or the"
        found.append(TooManyLost(port.trouble(f"{said} cable, may have damaged them").text, Culprit.TOOL))
    for way, names in LOST.items():
        counted = {name: getattr(gained, name) for name in names}
        lost, carried = sum(counted.values()), getattr(gained, f"{way}_packets")
        if lost > MOST_LOST * (carried + lost):
            named = ", ".join(f"{count} {name}" for name, count in counted.items() if count)
            share = f"{100 * lost / (carried + lost):.1f} % of its frames ({way}) under full load ({named})"
            said = f"lost {share}; expected at most {100 * MOST_LOST:g} %"
            found.append(TooManyLost(port.trouble(said).text, culprit_of(port)))
    return found


def lines(looks: Looks) -> Iterable[str]:
    """Say what each port carried."""
    for port, seen in looks.items():
        for way, does in WAYS.items():
            carried = rates(seen, way)
            mean = sum(carried) / len(carried)
            yield f"{port.name} {does} {mean:.1f} Mbit/s, least {min(carried):.1f} in a second, {len(carried)} seconds"


def rates(looks: Sequence[LoadLook], way: str) -> list[float]:
    """Return the rate between each look and the next.

    Args:
        looks: At one port.
        way: The counter.

    Returns:
        In Mbit/s.
    """
    return [
        8e-6 * (getattr(late.load.frames, way) - getattr(early.load.frames, way)) / (late.at_s - early.at_s)
        for early, late in pairwise(looks)
    ]


def without_free_cpu(looks: Looks) -> list[str]:
    """Return the servers that had no CPU left, as words.

    Args:
        looks: At all ports.
    """
    found = []
    for role in Role:
        seen = next(each for port, each in looks.items() if port.role is role)
        busy = load_between(seen[0].load.cpu, seen[-1].load.cpu).busiest[1].busy
        if busy > BUSY_DURING:
            found.append(f"{role.value}: its busiest CPU had {100 * (1 - busy):.0f} % free time under full load")
    return found


def _backwards(port: Port, looks: Sequence[LoadLook]) -> list[Trouble]:
    pairs = pairwise(each.load.frames for each in looks)
    return [trouble for early, late in pairs for trouble in backwards_at(port, early, late)]


def _outcome(looks: Sequence[LoadLook], way: str, wanted: WantedLoad) -> Outcome:
    return judge_values(rates(looks, way), at_least(wanted.mbps, wanted.source), "Mbit/s", wanted.plan, "seconds")


def _is_mostly_met(looks: Sequence[LoadLook], way: str, wanted: WantedLoad) -> bool:
    running = [rate for rate in rates(looks, way) if rate >= LEAST_OF_WANTED * wanted.mbps]
    return not running or median(running) >= wanted.mbps
