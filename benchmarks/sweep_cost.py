"""Cost of the sweep against one run of 60 s a point: ``benchmarks/sweep_cost.py [--run RUN_FOLDER]``.

Computed: throughput second by second is simulated as a first-order autoregressive series with a spread and a
correlation; the sequential rule of the sweep (``niclab.traffic.limits.sweep``, profile full) measures it until its
interval is as narrow as it wants it. Told are the seconds of traffic it took a point, against 60, how often the
interval held the true mean, and next to it how wide the interval of the whole 60 s is (by its autocorrelation, for one
run has no other). "same width" is the row of the sequential rule asked for just that width, so that both know as much.

Measured: with ``--run``, ``measurements.json`` of a run tells how many runs each point really took.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "libraries"))

from niclab.core.profile import Profile  # noqa: E402 - found by the path set above
from niclab.stats import measurements  # noqa: E402
from niclab.stats.interval import guarded  # noqa: E402
from niclab.stats.precise import estimate, repeat_until  # noqa: E402
from niclab.stats.run_plan import SamplingPlan  # noqa: E402
from niclab.stats.student import t_quantile  # noqa: E402
from niclab.traffic.limits.sweep import BUDGETS, spots  # noqa: E402
from niclab.traffic.tools.tool import TrafficTest  # noqa: E402

FIXED_S = 60
OMITTED_S = 1
BUDGET = BUDGETS[Profile.FULL]
POINTS = sum(len(spots(test, Profile.FULL)) for test in (TrafficTest.TCP_STREAM, TrafficTest.TCP_SENDFILE,
                                                         TrafficTest.UDP_STREAM))  # fmt: skip
CASES = ((0.002, 0.0), (0.01, 0.0), (0.01, 0.6), (0.03, 0.0), (0.03, 0.6), (0.1, 0.6))
"""Spread of a second as a part of the mean, and correlation with the next one."""


def seconds(generator: random.Random, spread: float, correlation: float) -> Callable[[int], list[float]]:
    """A source of throughputs of so many seconds in a row around 1."""
    step = spread * (1 - correlation**2) ** 0.5
    state = generator.gauss(0, spread)

    def take(count: int) -> list[float]:
        nonlocal state
        taken = []
        for _ in range(count):
            state = correlation * state + generator.gauss(0, step)
            taken.append(1 + state)
        return taken

    return take


def sequential(take: Callable[[int], list[float]], width: float) -> tuple[int, float, bool]:
    """Seconds of traffic of one point, width of its interval, and whether that holds the true mean."""
    plan = SamplingPlan(first_look=BUDGET.first_look, most=BUDGET.most, warm_up_runs=0, resolution=1e-4)

    def one_run() -> float:
        take(OMITTED_S)
        return fmean(take(BUDGET.run_s))

    values = repeat_until(one_run, lambda made: estimate(made, plan, width).narrow, plan)
    found = estimate(values, plan, width)
    return len(values) * (BUDGET.run_s + OMITTED_S), found.high - found.low, found.low <= 1 <= found.high


def computed(points: int, seed: int) -> None:
    """Print the table."""
    print(f"{POINTS} points of {FIXED_S} s: {POINTS * FIXED_S} s of traffic; interval wanted: {100 * BUDGET.width:g} %")
    print("spread  corr.   60 s: width   sequential: s/point  width  holds  cost     same width: s/point  cost")
    generator, critical = random.Random(seed), t_quantile(0.025, FIXED_S - 1)
    for spread, correlation in CASES:
        widths, ours, same = [], [], []
        for _ in range(points):
            low, high = guarded(seconds(generator, spread, correlation)(FIXED_S), critical).bounds(critical)
            widths.append(high - low)
            ours.append(sequential(seconds(generator, spread, correlation), BUDGET.width))
            same.append(sequential(seconds(generator, spread, correlation), widths[-1])[0])
        mean_s, holds = fmean(each[0] for each in ours), fmean(each[2] for each in ours)
        print(
            f"{100 * spread:5.1f} %  {correlation:4.1f}   {100 * fmean(widths):9.2f} %   {mean_s:19.1f} "
            f"{100 * fmean(each[1] for each in ours):5.2f} % {100 * holds:5.0f} %  {mean_s / FIXED_S:4.0%} "
            f"{fmean(same):23.1f}  {fmean(same) / FIXED_S:4.0%}",
            flush=True,
        )


def measured(found: Sequence[measurements.Measurement]) -> None:
    """Print what the points of a run took."""
    points = [each for each in found if "message_bytes" in each.key.parameters]
    if not points:
        raise SystemExit("no points of a sweep in this run; expected a run of the suite sweep")
    took = 0
    for each in points:
        is_udp = each.key.parameters["test"] == TrafficTest.UDP_STREAM.value
        took += len(each.samples) * (int(each.key.parameters["seconds"]) + (0 if is_udp else OMITTED_S))
    fixed = len(points) * FIXED_S
    print(f"{len(points)} points: {took} s of traffic, with {FIXED_S} s a point {fixed} s: {took / fixed:.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="a run folder with the measurements of a sweep")
    parser.add_argument("--points", type=int, default=200, help="simulated points a row")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.run:
        measured(measurements.read(options.run))
    else:
        computed(options.points, options.seed)


if __name__ == "__main__":
    main()
