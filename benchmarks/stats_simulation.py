"""Do the statistics keep what they promise? Coverage, error rates and cost, by simulation.

    python benchmarks/stats_simulation.py [--series 2000] [--seed 1]

Same seed, same tables. Percentages of N series have a standard error of sqrt(p (100 - p) / N): 0.35 for 2.5 % and 0.5
for 95 % at 2000.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace

from stats_processes import PROCESSES, Process, independent, netperf_loop

from niclab.core.decision import FAMILY, Decision
from niclab.stats.boundaries import Spending
from niclab.stats.interval import t_interval
from niclab.stats.judge import judge_against_baseline, judge_pairs, judge_values
from niclab.stats.questions import Direction, Expected, Outcome, at_least, at_most, raises_by
from niclab.stats.run_plan import SamplingPlan
from niclab.stats.student import t_quantile
from niclab.traffic.runs import retransmissions
from niclab.traffic.tools.tool import TCP_PAYLOAD_BYTES

ALIKE = Expected("within 5 % either way", -5, 5)
PLANS = {
    "quick, 3..8": SamplingPlan(first_look=3, most=8),
    "full, 5..12": SamplingPlan(),
    "5..12, correlation 0": SamplingPlan(correlation=0),
    "O'Brien-Fleming 3..12": SamplingPlan(first_look=3, spending=Spending.OBRIEN_FLEMING),
    "5..20, correlation 0.6": SamplingPlan(most=20, correlation=0.6),
}


def percent(hits: int, of: int) -> str:
    return f"{100 * hits / of:.1f}"


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Print a table with aligned columns, at once."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    print(f"\n{title}")
    for row in [header, ["-" * width for width in widths], *rows]:
        first, *others = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *others]), flush=True)


def limit_errors(count: int, seed: int) -> None:
    """The true mean is exactly at the limit: each MET and each MISSED is an error."""
    rows = []
    for plan_name, plan in PLANS.items():
        for name, process in PROCESSES.items():
            results = _at_the_limit(process, plan, count, seed)
            met = sum(result.decision is Decision.MET for result in results)
            missed = sum(result.decision is Decision.MISSED for result in results)
            held = sum(result.low <= 100 <= result.high for result in results)
            runs = statistics.fmean(result.n for result in results)
            rows.append(
                [plan_name, name, percent(met, count), percent(missed, count), percent(held, count), f"{runs:.1f}"]
            )
    table(
        f"Limit, true mean exactly at it: % of {count} series; MET and MISSED may be 2.5 each",
        ["plan", "process", "MET", "MISSED", "interval at the stop holds", "runs"],
        rows,
    )


def _at_the_limit(process: Process, plan: SamplingPlan, count: int, seed: int) -> list[Outcome]:
    rng = random.Random(seed)
    expected = at_least(100)
    return [judge_values([100 + value for value in process(rng, plan.most)], expected, "", plan) for _ in range(count)]


def others(count: int, seed: int) -> None:
    """Rules in use elsewhere, with the true mean at the limit."""
    rows = []
    for name, process in PROCESSES.items():
        for spread in (2.0, 3.0, 5.0):
            rng = random.Random(seed)
            held = low_errors = stopped = runs = 0
            for _ in range(count):
                used, low, high = netperf_loop([spread * value for value in process(rng, 10)], 100)
                held += low <= 100 <= high
                low_errors += low > 100
                stopped += used < 10
                runs += used
            rows.append([name, f"netperf, spread {spread:g} %", percent(low_errors, count), percent(held, count),
                         percent(stopped, count), f"{runs / count:.1f}"])  # fmt: skip
        rows.append([name, "t after each of 3..12 runs", *_peeking(process, count, seed)])
    table(
        f"Others, for comparison: % of {count} series; spread: standard deviation of a run",
        ["process", "rule", "false MET", "interval at the stop holds", "stops early", "runs"],
        rows,
    )


def _peeking(process: Process, count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    met = held = early = runs = 0
    for _ in range(count):
        values = process(rng, 12)
        for n in range(3, 13):
            mean = statistics.fmean(values[:n])
            half = t_quantile(0.025, n - 1) * statistics.stdev(values[:n]) / math.sqrt(n)
            if abs(mean) > half:
                break
        met += mean - half > 0
        held += abs(mean) <= half
        early += n < 12
        runs += n
    return [percent(met, count), percent(held, count), percent(early, count), f"{runs / count:.1f}"]


def comparison_errors(count: int, seed: int) -> None:
    """Effects and baselines exactly at what is wanted, runs with a standard deviation of 2 %."""

    def figures(rng: random.Random, n: int, mean: float) -> list[float]:
        return [mean * (1 + 0.02 * value) for value in independent(rng, n)]

    def effect(rng: random.Random) -> Outcome:
        pairs = list(zip(figures(rng, 12, 100), figures(rng, 12, 120), strict=True))
        return judge_pairs(pairs, raises_by(20), SamplingPlan())

    def drifting(rng: random.Random) -> Outcome:
        drift = [1 - 0.01 * block for block in range(12)]
        pairs = [(a * d, b * d) for a, b, d in zip(figures(rng, 12, 100), figures(rng, 12, 120), drift, strict=True)]
        return judge_pairs(pairs, raises_by(20), SamplingPlan())

    def equivalence(rng: random.Random) -> Outcome:
        pairs = list(zip(figures(rng, 12, 100), figures(rng, 12, 105), strict=True))
        return judge_pairs(pairs, ALIKE, SamplingPlan())

    def baseline(size: int, days: int, deviation: float) -> Callable[[random.Random], Outcome]:
        def case(rng: random.Random) -> Outcome:
            kept = [figures(rng, size, rng.gauss(100, 100 * deviation)) for _ in range(days)]
            today = figures(rng, 12, rng.gauss(98, 98 * deviation))
            return judge_against_baseline(today, kept, Direction.HIGHER, 2, SamplingPlan())

        return case

    cases: dict[str, Callable[[random.Random], Outcome]] = {
        "effect of +20 %; expected 20 %": effect,
        "the same while the bench slows by 1 % a block": drifting,
        "effect of +5 %; expected within 5 %": equivalence,
        "2 % worse than a day of 5 runs, allowed 2 %, days differ by 1 %": baseline(5, 1, 0.01),
        "2 % worse than 3 days of 12 runs, allowed 2 %, days differ by 1 %": baseline(12, 3, 0.01),
        "2 % worse than 3 days of 12 runs, allowed 2 %, days differ by 3 %": baseline(12, 3, 0.03),
        "2 % worse than 8 days of 12 runs, allowed 2 %, days differ by 3 %": baseline(12, 8, 0.03),
    }
    rows = []
    for name, case in cases.items():
        rng = random.Random(seed)
        results = [case(rng) for _ in range(count)]
        decisions = [sum(result.decision is decision for result in results) for decision in Decision]
        runs = statistics.fmean(result.n for result in results)
        rows.append([name, *(percent(number, count) for number in decisions), f"{runs:.1f}"])
    table(
        f"Comparisons exactly at what is wanted: % of {count}; MET and MISSED may be 2.5 each",
        ["question", "MET", "MISSED", "UNDECIDED", "blocks or runs"],
        rows,
    )


def cost(count: int, seed: int) -> None:
    """Runs needed, and decisions reached, when the true mean is better than the limit."""
    rows = []
    for margin in (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0):
        row = [f"{margin:g}"]
        for plan in PLANS.values():
            rng = random.Random(seed)
            results = [
                judge_values([100 + margin + value for value in independent(rng, plan.most)], at_least(100), "", plan)
                for _ in range(count // 2)
            ]
            met = sum(result.decision is Decision.MET for result in results)
            row.append(f"{statistics.fmean(result.n for result in results):.1f} / {percent(met, count // 2)}")
        rng = random.Random(seed)
        fixed = sum(t_interval(independent(rng, 12)).low + margin >= 0 for _ in range(count // 2))
        rows.append([*row, f"12 / {percent(fixed, count // 2)}"])
    table(
        "Cost: mean runs / % MET, true mean better than the limit by so many standard deviations of a run",
        ["margin", *PLANS, "fixed 12 runs"],
        rows,
    )


PROFILES = {
    "quick, 3..8..14": SamplingPlan(first_look=3, met_from=8, most=14),
    "full, 5..12..18": SamplingPlan(first_look=5, met_from=12, most=18),
}
"""First look, run from which a limit may be met, most."""
RUN_S = {"quick, 3..8..14": 2, "full, 5..12..18": 10}


def intermittent_faults(count: int, seed: int) -> None:
    """One run in ten is 20 % slow: how often a limit is met though the mean is 1 % below it, and who is warned."""
    rows = []
    for name, plan in PROFILES.items():
        rng = random.Random(seed)
        runs = [
            [(80 if rng.random() < 0.1 else 100) + rng.gauss(0, 0.3) for _ in range(plan.most)] for _ in range(count)
        ]
        first = sum(min(each[: plan.first_look]) > 90 for each in runs)
        missed_by_all = sum(min(each[: plan.least_to_meet]) > 90 for each in runs)
        met = sum(judge_values(each, at_least(99), "", plan).decision is Decision.MET for each in runs)
        met_with_bad = [judge_values(each, at_least(90), "", plan) for each in runs if sum(v < 90 for v in each) == 1]
        warned = sum(bool(each.warnings) for each in met_with_bad)
        rows.append([name, percent(first, count), percent(missed_by_all, count), percent(met, count),
                     percent(warned, len(met_with_bad))])  # fmt: skip
    table(
        f"One run in ten 20 % slow, true mean 1 % below the limit: % of {count} series",
        ["plan", "first look meets none", "no run meets it", "MET", "warned when one run met it"],
        rows,
    )


def bursts(count: int, seed: int) -> None:
    """Retransmissions in bursts, against a limit of 0.05 %."""
    rows = []
    for name, plan in PROFILES.items():
        for mbps in (50, 9400):
            for size in (1, 5, 20):
                row = [f"{name}, {mbps} Mbit/s", str(size)]
                for truth in (0.05, 0.03, 0.01):
                    rng, segments = random.Random(seed), mbps * 1e6 / 8 * RUN_S[name] / TCP_PAYLOAD_BYTES
                    expected = truth / 100 * segments / size
                    found = [
                        retransmissions.judge(
                            [(size * _poisson(rng, expected), segments) for _ in range(plan.most)], at_most(0.05), plan
                        ).decision
                        for _ in range(count // 4)
                    ]
                    row += [percent(found.count(each), count // 4) for each in (Decision.MET, Decision.MISSED)]
                rows.append(row)
    table(
        f"Retransmissions, limit 0.05 %: % of {count // 4}; at the limit MET and MISSED may be 2.5 each",
        ["plan, path", "burst", "MET at 0.05", "MISSED", "MET at 0.03", "MISSED", "MET at 0.01", "MISSED"],
        rows,
    )


def _poisson(rng: random.Random, mean: float) -> int:
    if mean > 50:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    events, at = 0, rng.expovariate(1)
    while at < mean:
        events, at = events + 1, at + rng.expovariate(1)
    return events


def families(count: int, seed: int) -> None:
    """False alarms of a whole certificate: any of its figures MISSED, at the limit and a little better."""
    rows = []
    for questions in (8, 25, FAMILY):
        for family in (1, FAMILY):
            plan = replace(PROFILES["quick, 3..8..14"], family=family)
            row = [str(questions), "alone" if family == 1 else f"among {family}"]
            for margin in (0.0, 0.5, 1.0):
                rng = random.Random(seed)
                alarms = sum(
                    judge_values(
                        [100 + margin + v for v in independent(rng, plan.most)], at_least(100), "", plan
                    ).decision
                    is Decision.MISSED
                    for _ in range(count)
                )
                row.append(percent_of(1 - (1 - alarms / count) ** questions))
            rows.append(row)
    table(
        "False alarms of a certificate of so many figures, %: at the limit, and so many standard deviations better",
        ["figures", "each judged", "at the limit", "0.5", "1"],
        rows,
    )


def late_alarms(count: int, seed: int) -> None:
    """Print the cost of the shared error: runs until a figure worse than its limit is MISSED, alone and shared."""
    rows = []
    for margin in (1.0, 2.0, 3.0, 5.0, 10.0, 20.0):
        row = [f"{margin:g}"]
        for family in (1, FAMILY):
            rng, plan = random.Random(seed), replace(PROFILES["quick, 3..8..14"], family=family)
            found = [
                judge_values([100 - margin + v for v in independent(rng, plan.most)], at_least(100), "", plan)
                for _ in range(count // 2)
            ]
            missed = sum(each.decision is Decision.MISSED for each in found)
            row.append(f"{statistics.fmean(each.n for each in found):.1f} / {percent(missed, count // 2)}")
        rows.append(row)
    table(
        "Worse than the limit by so many standard deviations of a run: mean runs / % MISSED",
        ["margin", "alone", f"among {FAMILY}"],
        rows,
    )


def percent_of(part: float) -> str:
    return f"{100 * part:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Coverage, error rates and cost of the statistics, by simulation.")
    parser.add_argument("--series", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.series < 100:
        parser.error(f"--series is {given.series}; expected at least 100")
    for part in (limit_errors, intermittent_faults, bursts, families, late_alarms, others, comparison_errors, cost):
        part(given.series, given.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
