"""From repeats to an answer, by a plan that was fixed before.

The looks of the plan are replayed over the repeats, and the first that decides is the answer: repeats made after it
change nothing, so that nobody can measure on until a result pleases. A limit is MISSED at any look and MET only
from the run on that the plan names: whoever stops at the first good interval has seen too few runs to meet a fault that
comes and goes. So is an effect where its plan names one. Baselines compare means, and end early either way.

Comparisons are made with logarithms: the mean of ln(B/A) of pairs, or of ln(new) minus that of ln(baseline). Percent of
the baseline are 100 (exp(x) - 1), a change of geometric means, the same in every unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from niclab.core.decision import Decision
from niclab.stats.days import day_to_day
from niclab.stats.interval import Guarded, guarded, guarded_difference, mean_of, widened
from niclab.stats.outliers import warnings
from niclab.stats.questions import Change, Direction, Expected, Look, Outcome, not_worse_by, rounded
from niclab.stats.run_plan import SamplingPlan
from niclab.stats.series import effective_size, numbers
from niclab.stats.student import t_quantile, t_upper_tail

FEWEST_OF_A_BASELINE = 3
_WORTH_SAYING = 0.7
_CHANGE = "% change from baseline"


def judge_values(
    values: Sequence[float],
    expected: Expected,
    unit: str,
    plan: SamplingPlan,
    counted: str = "runs",
    resolution: Callable[[int], float] | None = None,
) -> Outcome:
    """Judge whether the mean of a figure is where a limit wants it.

    Args:
        values: One a run, in time order, warm-up left out.
        expected: The limit.
        unit: Of the values, and of the limit.
        plan: How it was measured.
        counted: What each value is of, as a plural.
        resolution: Smallest step of the mean of so many values, in ``unit``, where that is not the one of the plan.

    Returns:
        The answer; MET only with ``plan.least_to_meet`` runs or more.

    Raises:
        ValueError: For fewer runs than the first look needs, or a value that is not finite.
    """
    sample = numbers(values, at_least=plan.first_look, what="runs")

    def at(n: int, critical: float) -> tuple[Guarded, float]:
        return guarded(sample[:n], critical, plan.correlation), critical

    limit, steps = expected.in_unit(unit), resolution or (lambda _: plan.resolution)
    answer = _answer(_Case(sample, at, lambda mean: mean, limit, unit, counted, plan, steps, met_early=False))
    far_off = warnings(sample[: answer.n], expected, unit, steps(answer.n))
    return replace(answer, warnings=far_off, reason="; ".join([answer.reason, *far_off]))


def judge_pairs(pairs: Sequence[tuple[float, float]], expected: Expected, plan: SamplingPlan) -> Outcome:
    """Does a setting change the figure as ``expected`` says? In % of the baseline.

    Args:
        pairs: Of each block, in time order: (figure of the baseline, figure with the setting), both above 0.
        expected: What is expected.
        plan: How many runs at least and at most, and the confidence. MET only with its ``met_from`` pairs or more.

    Raises:
        ValueError: For less pairs than the first look needs, or a figure that is not above 0.
    """
    if len(pairs) < plan.first_look:
        raise ValueError(f"{len(pairs)} pairs; expected at least {plan.first_look}")
    before = _logs([one for one, _ in pairs], "baseline")
    after = _logs([other for _, other in pairs], "setting")
    sample = tuple(b - a for a, b in zip(before, after, strict=True))
    step = 2 * plan.resolution / min(min(pair) for pair in pairs)

    def at(n: int, critical: float) -> tuple[Guarded, float]:
        return guarded(sample[:n], critical, plan.correlation), critical

    early = plan.met_from is None
    return _answer(_Case(sample, at, _percent, expected, _CHANGE, "pairs", plan, lambda _: step, met_early=early))


def judge_against_baseline(
    values: Sequence[float],
    days: Sequence[Sequence[float]],
    direction: Direction,
    tolerance_percent: float,
    plan: SamplingPlan,
    source: str = "",
) -> Outcome:
    """Is the figure at most ``tolerance_percent`` % worse than its baseline? An improvement is never a failure.

    Independent samples of one day each: Welch's t at the tail that the boundary of the look leaves, with what days
    differ by (:mod:`~niclab.stats.days`). The baseline is in every look, which makes looks more alike than the
    boundaries allow for: the error is at most as stated.

    Args:
        values: The samples.
        days: The kept samples of each accepted day.
        direction: Whether more or less is better.
        tolerance_percent: How much worse than the baseline is still as good.
        plan: How many runs at least and at most, and the confidence.
        source: Where the baseline is from, for the reason.

    Raises:
        ValueError: For too few values, or one that is not above 0.
    """
    sample = _logs(numbers(values, at_least=plan.first_look, what="runs"), "runs")
    kept = [_logs(numbers(day, at_least=FEWEST_OF_A_BASELINE, what="baseline runs"), "baseline runs") for day in days]
    between = day_to_day([fmean(day) for day in kept])
    step = 2 * plan.resolution / math.exp(min(*sample, *(value for day in kept for value in day)))

    def at(n: int, critical: float) -> tuple[Guarded, float]:
        tail = t_upper_tail(critical, n - 1)
        new = guarded(sample[:n], critical, plan.correlation)
        old = mean_of([guarded(day, critical, plan.correlation) for day in kept])
        both = widened(guarded_difference(new, old), between.error(), between.df)
        return both, t_quantile(tail, both.df)

    expected = not_worse_by(tolerance_percent, direction, source)
    answer = _answer(_Case(sample, at, _percent, expected, _CHANGE, "runs", plan, lambda _: step, direction))
    return replace(answer, reason=f"{answer.reason}; {between.text}")


@dataclass(frozen=True)
class _Case:
    """A question ready to be looked at.

    ``at``: what n repeats tell, and the critical t; ``shown``: to the unit; ``resolution``: smallest step of what n
    repeats tell; ``met_early``: MET counts before the last look that may meet a limit.
    """

    sample: tuple[float, ...]
    at: Callable[[int, float], tuple[Guarded, float]]
    shown: Callable[[float], float]
    expected: Expected
    unit: str
    counted: str
    plan: SamplingPlan
    resolution: Callable[[int], float]
    direction: Direction | None = None
    met_early: bool = True

    def look(self, n: int, boundary: float, missed_boundary: float) -> Look:
        found, critical = self.at(n, boundary)
        low, high = (self.shown(bound) for bound in found.bounds(critical, self.resolution(n)))
        decision = Decision.UNDECIDED if self.without_spread(n) else self.expected.decide(low, high)
        if (decision is Decision.MET and self.waits(n)) or (
            decision is Decision.MISSED and not self.is_missed(n, missed_boundary)
        ):
            decision = Decision.UNDECIDED
        return Look(n, critical, self.shown(found.mean), low, high, decision)

    def is_missed(self, n: int, boundary: float) -> bool:
        """Is all of the wider interval, of which the figures of a certificate share the error, outside the limit?"""
        found, critical = self.at(n, boundary)
        low, high = (self.shown(bound) for bound in found.bounds(critical, self.resolution(n)))
        return self.expected.decide(low, high) is Decision.MISSED

    def waits(self, n: int) -> bool:
        """Is it too early for MET after ``n`` repeats?"""
        return not self.met_early and n < self.plan.least_to_meet

    def without_spread(self, n: int) -> bool:
        """All repeats the same to the last bit, and no resolution given that would explain it."""
        first = self.sample[0]
        return self.resolution(n) == 0 and all(
            math.isclose(value, first, rel_tol=1e-12, abs_tol=1e-15) for value in self.sample[1:n]
        )


def _answer(case: _Case) -> Outcome:
    looks: list[Look] = []
    plan = case.plan
    for n, boundary, missed_boundary in zip(plan.looks, plan.boundaries, plan.missed_boundaries, strict=True):
        if n > len(case.sample):
            break
        looks.append(case.look(n, boundary, missed_boundary))
        if looks[-1].decision is not Decision.UNDECIDED:
            break
    last = looks[-1]
    return Outcome(
        estimate=last.estimate,
        low=last.low,
        high=last.high,
        unit=case.unit,
        level=case.plan.level,
        n=last.n,
        expected=case.expected,
        decision=last.decision,
        change=_change(last, case.direction) if case.direction else None,
        looks=tuple(looks),
        reason=_reason(case, last, effective_size(case.sample[: last.n])),
    )


def _change(look: Look, direction: Direction) -> Change:
    if look.low <= 0 <= look.high:
        return Change.UNCLEAR
    return Change.BETTER if (look.low > 0) is (direction is Direction.HIGHER) else Change.WORSE


def _reason(case: _Case, look: Look, effective_n: float) -> str:
    estimate, low, high = rounded(look.estimate, look.low, look.high, signed=case.unit.startswith("%"))
    said = (
        f"{estimate} {case.unit}, {100 * case.plan.level:g} % interval {low} to {high} ({look.n} {case.counted}); "
        f"expected {case.expected.said}: {look.decision.value}"
    )
    if case.direction and _change(look, case.direction) is not Change.UNCLEAR:
        said += f"; {_change(look, case.direction).value} than the baseline"
    if effective_n < _WORTH_SAYING * look.n:
        said += f"; neighbouring {case.counted} are alike, worth {effective_n:.1f} independent ones"
    if look.decision is not Decision.UNDECIDED:
        return said
    if case.without_spread(look.n):
        said += f"; all {case.counted} are exactly the same, and the resolution of the figure is not given"
    if case.waits(look.n) and case.expected.decide(look.low, look.high) is Decision.MET:
        said += f"; {look.n} of {case.plan.least_to_meet} {case.counted} made, too few to meet an intermittent fault"
    if case.expected.decide(look.low, look.high) is Decision.MISSED and not case.without_spread(look.n):
        said += f"; outside the limit, and not sure enough among the {case.plan.family} figures of a certificate"
    spent = look.n >= case.plan.most
    return said + (f"; the budget of {case.plan.most} {case.counted} is spent" if spent else "")


def _percent(log_ratio: float) -> float:
    try:
        return 100 * math.expm1(log_ratio)
    except OverflowError:
        return math.inf


def _logs(values: Sequence[float], what: str) -> tuple[float, ...]:
    checked = numbers(values, at_least=1, what=what)
    for place, value in enumerate(checked):
        if value <= 0:
            raise ValueError(
                f"{what}[{place}]: {value!r} is not wanted; expected more than 0, to be compared in percent"
            )
    return tuple(math.log(value) for value in checked)
