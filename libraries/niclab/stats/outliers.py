"""Runs far worse than the others: an intermittent fault shows in one run before it shows in the mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from niclab.stats.questions import Expected
from niclab.stats.student import t_quantile

FALSE_ALARMS = 0.01
"""Probability of a warning among independent normal runs, for all runs of an answer together."""
WORTH_A_WARNING = 0.05
"""Assumption: of the limit; closer to the others is not far, however steady these are."""
_FEWEST = 4


def warnings(values: Sequence[float], expected: Expected, unit: str, resolution: float = 0.0) -> tuple[str, ...]:
    """Find runs that are far worse than the rest.

    Each run is compared with what the others predict for it (Student's t, shared among the runs by Bonferroni).

    Args:
        values: One a run, in time order.
        expected: What the mean must be; says which side is worse.
        unit: Of the values.
        resolution: Smallest step of a value, in ``unit``.

    Returns:
        One sentence a run; none below four runs.
    """
    n = len(values)
    if n < _FEWEST:
        return ()
    critical = t_quantile(FALSE_ALARMS / n, n - 2)
    limits = [abs(bound) for bound in (expected.low, expected.high) if math.isfinite(bound)]
    least = max(WORTH_A_WARNING * min(limits), 2 * resolution)
    found = []
    for place, value in enumerate(values):
        rest = [*values[:place], *values[place + 1 :]]
        mean = fmean(rest)
        off = mean - value
        worse = (off > 0 and math.isfinite(expected.low)) or (off < 0 and math.isfinite(expected.high))
        if worse and abs(off) > max(critical * stdev(rest) * math.sqrt(1 + 1 / len(rest)), least):
            side = "below" if off > 0 else "above"
            found.append(
                f"run {place + 1} is far {side} the rest, {value:g} against {mean:g} {unit}: "
                "the fault may be intermittent"
            )
    return tuple(found)
