"""The rates of a soak, cycle by cycle: those of a port that stalled, or that carries too little from first to last.

A drift shows neither. Nobody knows whose it is: the peer, and what joins it to the card, carry the same frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from niclab.core.decision import Decision
from niclab.core.verdict import Undecided
from niclab.frames.load.load_rates import WantedLoad
from niclab.frames.soak.soak_series import ANY_OF, Cycle, SoakFigure, SoakMeasure, settled, warm_up
from niclab.stats.judge import judge_values
from niclab.stats.questions import at_least
from niclab.stats.run_plan import SamplingPlan
from niclab.stats.trends import FEWEST

FAR_BELOW = 0.5
"""Assumption: a cycle with less than this part of the median has stalled. Those of emulated servers differ by 30 %."""
PLAN = SamplingPlan(first_look=FEWEST, most=FEWEST, warm_up_runs=0, correlation=0.6)
"""One look at all cycles. Assumption: neighbours are as alike as seconds under full load."""


def findings(cycles: Sequence[Cycle], wanted: WantedLoad | None) -> list[Undecided]:
    """Judge the rates of all cycles; those of the warm-up must not be zero.

    Args:
        cycles: In the order of time.
        wanted: The rate that each port of the dut must carry; None where nobody knows.

    Returns:
        Nothing where every flow kept its rate.
    """
    measures = dict.fromkeys(each for cycle in cycles for each in cycle.found if each.quantity is SoakFigure.RATE)
    said = [each for measure in measures for each in (*_stalls(measure, cycles), *_low(measure, cycles, wanted))]
    return [Undecided(f"{each}; {ANY_OF}") for each in said]


def _stalls(measure: SoakMeasure, cycles: Sequence[Cycle]) -> Iterator[str]:
    found = [(each.at_s, each.found[measure]) for each in cycles if measure in each.found]
    warm_s, usual = max(each.at_s for each in warm_up(cycles)), median(rate for _, rate in found)
    least, wanted = FAR_BELOW * usual, f"expected at least {FAR_BELOW:g} of the median, {usual:.4g} (assumption)"
    if stalled := [(rate, at_s) for at_s, rate in found if not rate or (at_s > warm_s and rate < least)]:
        worst, worst_s = min(stalled)
        said = f"{len(stalled)} of {len(found)} cycles stalled, the worst with {worst:.4g}"
        yield f"{measure}: {said}, {worst_s:.0f} s after the begin; {wanted}"


def _low(measure: SoakMeasure, cycles: Sequence[Cycle], wanted: WantedLoad | None) -> Iterator[str]:
    rates = [each.found[measure] for each in settled(cycles) if measure in each.found]
    if wanted is None or len(rates) < FEWEST:
        return
    plan = replace(wanted.plan, first_look=len(rates), most=len(rates))
    found = judge_values(rates, at_least(wanted.mbps, wanted.source), SoakFigure.RATE.value, plan, "cycles")
    if found.decision is not Decision.MET:
        yield f"{measure}: {found.reason}"
