"""The runs of loads on a base and a congested SAN, and the answer by them: runs of several sessions give one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from niclab.card import StorageLoad
from niclab.report import now
from niclab.run.run import Run
from niclab.run.watching.standstill import Stood
from niclab.stats.measurements import Measurement, add
from niclab.stats.questions import Direction
from niclab.stats.run_plan import SamplingPlan
from niclab.storage.congestion import pause_frames
from niclab.storage.congestion.congested_answer import CongestedAnswer, CongestedLoad, San, SanFound
from niclab.storage.congestion.congested_san import CongestedSan
from niclab.storage.congestion.losses import Lost
from niclab.storage.congestion.pause_frames import PortPauses
from niclab.storage.disk_figures import figures_of, unit_of, value_of
from niclab.storage.disk_loads import WORDS, LoadOrder
from niclab.storage.disk_program import SEQUENTIAL_BYTES
from niclab.storage.storage_figures import Binding, binding, ceilings
from niclab.traffic.limits.accepted_baseline import Against
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs.switch_counts import PortCount
from niclab.traffic.runs.traffic_run import TrafficRun

TOOL = "congested iSCSI load 1"
"""In the conditions of a measurement: another number makes figures that are compared with none of the former ones."""


@dataclass(frozen=True)
class Turns:
    """The runs of a load. ``run_s``: of each; ``turns``: runs on each of both SANs."""

    run_s: int
    turns: int

    def plan(self, load: StorageLoad) -> SamplingPlan:
        """Return the plan of the runs on one SAN.

        Args:
            load: The load.
        """
        step = 1.0 if load is StorageLoad.RANDOM else SEQUENTIAL_BYTES / 1e6
        turns = self.turns
        return SamplingPlan(turns, turns, met_from=turns, warm_up_runs=0, resolution=step / self.run_s)


@dataclass(frozen=True)
class CongestedRun:
    """One run: ``dut_resent``, ``peer_resent``: TCP segments that were sent again meanwhile."""

    run: TrafficRun
    dut_resent: int
    peer_resent: int


@dataclass(frozen=True)
class Loaded:
    """The runs of one load, in turns. ``lost``: what was lost meanwhile of the frames of each server."""

    made: Mapping[San, Sequence[CongestedRun]]
    shares: Mapping[str, int]
    pauses: Mapping[str, PortPauses]
    lost: tuple[Lost, ...]
    stood: tuple[Stood, ...]


@dataclass(frozen=True)
class DisksLoaded:
    """All loads on both SANs in one session of each, with what contradicts and what is damaged, in words.

    ``loads``: without those after all operations of one have failed.
    """

    loads: Mapping[StorageLoad, Loaded]
    problems: tuple[str, ...]
    damaged: tuple[str, ...]


def of_all(
    measured: Mapping[StorageLoad, MeasuredPath], made: Sequence[DisksLoaded]
) -> dict[StorageLoad, MeasuredPath]:
    """Return the loads that were made each time.

    Args:
        measured: Both servers before each load.
        made: What was loaded.
    """
    return {load: path for load, path in measured.items() if all(load in each.loads for each in made)}


def answered(
    run: Run,
    san: CongestedSan,
    measured: Mapping[StorageLoad, MeasuredPath],
    turns: Turns,
    made: Sequence[DisksLoaded],
    state: str = "",
) -> CongestedAnswer:
    """Answer by all that was loaded. Adds it to the run folder, and to the certificate.

    Args:
        run: The current run.
        san: The paths.
        measured: Both servers before each load that was made each time.
        turns: The runs of each load in each of ``made``.
        made: What was loaded.
        state: The state of the ports meanwhile, where it is not as they are set up.
    """
    all_turns = Turns(turns.run_s, turns.turns * len(made))
    subject = ", ".join(filter(None, (san.named(run), state)))
    loads = tuple(
        _answered(run, subject, state, measured[load], all_turns, load, [each.loads[load] for each in made])
        for load in measured
    )
    for each in loads:
        run.notes.figure(each.figure())
    return CongestedAnswer(
        subject,
        loads,
        problems=tuple(words for each in made for words in each.problems),
        damaged=tuple(words for each in made for words in each.damaged),
    )


def _answered(
    run: Run,
    subject: str,
    state: str,
    measured: MeasuredPath,
    turns: Turns,
    load: StorageLoad,
    loaded: Sequence[Loaded],
) -> CongestedLoad:
    base, congested = (
        _found(kind, [one for each in loaded for one in each.made[kind]], measured.ends.to_port.name) for kind in San
    )
    whole = f"{subject}, iSCSI, {WORDS[load]}"
    return CongestedLoad(
        subject=whole,
        unit=unit_of(load),
        base=base,
        congested=congested,
        line_mbps=measured.rate_mbps,
        shares={port: sum(each.shares[port] for each in loaded) for port in loaded[0].shares},
        pauses={port: pause_frames.total([each.pauses[port] for each in loaded]) for port in loaded[0].pauses},
        lost=tuple(reduce(Lost.plus, each) for each in zip(*(one.lost for one in loaded), strict=True)),
        binds=binding(congested.figures, ceilings(run, measured), Binding.TARGET),
        hindrances=measured.hindrances(congested.runs),
        stood=tuple(stood for each in loaded for stood in each.stood),
        against=_recorded(run, whole, state, load, congested, measured, turns),
    )


def _recorded(
    run: Run, subject: str, state: str, load: StorageLoad, found: SanFound, measured: MeasuredPath, turns: Turns
) -> Against:
    """The measurement is added to the run folder; what it is compared with."""
    key = measured.key(LoadOrder(duration_s=turns.run_s, load=load))
    measurement = Measurement(
        test=subject,
        metric=f"iscsi_congested_{load.value.replace('-', '_')}",
        unit=unit_of(load),
        better=Direction.HIGHER,
        samples=found.values,
        taken=now(),
        key=key.model_copy(update={"tool": ", ".join(filter(None, (TOOL, state)))}),
    )
    against = Against.stored(run, measurement, turns.plan(load))
    add(run.run_dir, measurement)
    return against


def _found(san: San, made: Sequence[CongestedRun], dut: str) -> SanFound:
    runs = tuple(each.run for each in made)
    return SanFound(
        san=san,
        values=tuple(map(value_of, runs)),
        runs=runs,
        figures=figures_of(runs),
        dut_resent=sum(each.dut_resent for each in made),
        peer_resent=sum(each.peer_resent for each in made),
        discards=sum(_discards(run.switch, dut) for run in runs),
    )


def _discards(counts: Sequence[PortCount], port: str) -> int:
    return sum(each.counted["out_discards"] for each in counts if each.port == port)
