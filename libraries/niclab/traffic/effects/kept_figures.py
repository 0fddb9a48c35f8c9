"""The figures of both variants of an effect, kept and compared with accepted baselines.

An effect that does not show has a reason somewhere: was it so with the release before, another driver, another kernel?
The nearest baseline of the same card says so, with what differs (SUS-07).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from niclab.card import Effect, Figure, Setting, Workload
from niclab.core.decision import Decision
from niclab.report import now
from niclab.run.run import Run
from niclab.stats.measurements import Measurement, add
from niclab.stats.questions import Direction, Outcome
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic.limits.accepted_baseline import Against
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs import discarded
from niclab.traffic.runs.traffic_run import TrafficRun
from niclab.traffic.tools.tool import Order

METRICS: Mapping[Figure, tuple[str, str]] = {
    Figure.MBPS: ("tcp_mbps", "Mbit/s"),
    Figure.TRANSACTIONS_PER_S: ("transactions_per_s", "1/s"),
    Figure.SENDER_CPU: ("sender_cpu", "s/Gbit"),
    Figure.RECEIVER_CPU: ("receiver_cpu", "s/Gbit"),
}


@dataclass(frozen=True)
class Compared:
    """One variant against what was accepted for it. ``result`` None: there is no baseline of these conditions."""

    variant: str
    result: Outcome | None
    text: str

    @property
    def worse(self) -> bool:
        """Is it proven to be worse than its baseline allows?"""
        return self.result is not None and self.result.decision is Decision.MISSED

    def __str__(self) -> str:
        return f"{self.variant}: {self.result.reason if self.result else self.text}"


def compare(
    measured: MeasuredPath,
    effect: Effect,
    order: Order,
    variants: Mapping[str, tuple[tuple[Setting, ...], Sequence[float]]],
    plan: SamplingPlan,
    runs: Sequence[TrafficRun],
) -> tuple[Compared, ...]:
    """Add the samples of each variant to the run folder, and compare them with their baseline.

    Args:
        measured: The path, as it was found before the runs.
        effect: The effect of the sheet.
        order: What is sent, and for how long.
        variants: Settings and figures of each variant, by name.
        plan: How many runs at least and at most, and the confidence.
        runs: All that were made for both variants.

    Raises:
        BenchFault: When the conditions or a baseline cannot be read.
    """
    metric, unit = METRICS[effect.figure]
    is_cpu = effect.figure in (Figure.SENDER_CPU, Figure.RECEIVER_CPU)
    whole = Measurement(
        test=f"{measured.ends.name}, {effect.name}",
        metric="sendfile_mbps" if effect.workload is Workload.TCP_SENDFILE and not is_cpu else metric,
        unit=unit,
        better=Direction.LOWER if is_cpu else Direction.HIGHER,
        samples=(0.0,),
        taken=now(),
        key=measured.key(order),
    )
    return compare_each(measured.run, whole, effect.name, variants, plan, runs)


def compare_each(
    run: Run,
    whole: Measurement,
    name: str,
    variants: Mapping[str, tuple[tuple[Setting, ...], Sequence[float]]],
    plan: SamplingPlan,
    runs: Sequence[TrafficRun],
) -> tuple[Compared, ...]:
    """Add the samples of each variant to the run folder, and compare them with their baseline.

    Args:
        run: The current run.
        whole: The measurement, but for what a variant has of its own.
        name: Name of the effect.
        variants: Settings and figures of each variant, by name.
        plan: How many runs at least and at most, and the confidence.
        runs: All that were made for both variants.

    Raises:
        BenchFault: When a baseline cannot be read.
    """
    compared = []
    for variant, (settings, values) in variants.items():
        own = {"effect": name, "arm": variant, "settings": ", ".join(map(str, settings)) or "as delivered"}
        key = whole.key.model_copy(update={"parameters": whole.key.parameters | own})
        changed = {"test": f"{whole.test}, {variant} it", "samples": tuple(values), "key": key}
        measurement = whole.model_copy(update=changed)
        against = Against.stored(run, measurement, plan)
        add(run.run_dir, measurement)
        compared.append(Compared(variant, discarded.bounded(against.result(values), runs), against.text))
    return tuple(compared)
