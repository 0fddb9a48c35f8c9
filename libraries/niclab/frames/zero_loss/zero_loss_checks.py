"""The highest rate of frames of each size at which every one arrives, in both directions of a path (RFC 2544, 26.1).

The rates are those of a program that sends numbered frames, not of the wire: what neither it nor the line can send is
not asked. A rate is judged by the sheet, else by accepted runs if it is the card that holds it back, else recorded. A
card that loses frames at each rate has no such rate: that is a failure of whoever loses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from niclab.bench.records import BenchPath, Role
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.verdict import Collected, Undecided
from niclab.frames.exchange import FrameBench, Say
from niclab.frames.ledger import FCS_BYTES
from niclab.frames.zero_loss.zero_loss_search import LONG_S, PROOFS, STEP, LossTrial, ZeroLossRate, search
from niclab.frames.zero_loss.zero_loss_trials import ZeroLossTrials, is_of_the_card
from niclab.report import now
from niclab.run.run import Run
from niclab.settings import mtu
from niclab.stats.measurements import Measurement, add
from niclab.stats.questions import Direction
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic.limits import bottleneck
from niclab.traffic.limits.accepted_baseline import Against
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs import endpoints
from niclab.traffic.runs.experiment import Question, judge_questions
from niclab.traffic.tools.tool import Order

LARGEST = 1518
SIZES = (64, LARGEST)
"""Bytes with FCS: the smallest and the largest frame of Ethernet (RFC 2544, 9.1)."""
HEADER_AND_FCS = 18
PREAMBLE_AND_GAP = 20
"""Bytes of each frame on the wire in addition (IEEE 802.3-2018, 4A.4.2)."""
PROOF_S = 45.0
"""Seconds at the lowest rate, or at that of the sheet, in which none may be lost; half of what an exchange may last."""
SENT_WITHIN = 0.98
"""A sender that sends so large a part of a rate sends it: the rest is its clock."""
METRIC, UNIT = "zero_loss_frames_per_s", "frames/s"


@dataclass(frozen=True)
class SheetRate:
    """The rate of a size on the sheet. ``per_s``: over the scale of the path."""

    per_s: float
    source: str


def judge(run: Run, path: BenchPath, say: Say) -> None:
    """Find the zero-loss rate of each size in both directions, note it as a figure, and judge it.

    A size that cannot be judged hides no failure of another, nor of the other direction.

    Args:
        run: The current run.
        path: The path that carries the frames.
        say: Takes the progress.

    Raises:
        CardFailure: The card loses frames at each rate, or at that of the sheet, or holds the rate below that of
            accepted runs; or it doubles, reorders or damages frames, or cannot send them.
        BenchFault: The peer loses frames at each rate or cannot send them, the bus of an end cannot carry the rate of
            the sheet, or a server does not answer.
        Undecided: Nobody knows who loses them, none was sent in time, the receiver has no room for them, the sender
            cannot send as many as the sheet wants, or a server stood still in each of many trials.
        NotApplicable: A server cannot send frames of its own.
    """
    wanted = _wanted(run, path)
    sizes = sorted({*SIZES, *wanted})
    questions, judged = list[Question](), Collected()
    with ExitStack() as undoing:
        if sizes[-1] > LARGEST:
            undoing.enter_context(mtu.both_ends(run, path, sizes[-1] - HEADER_AND_FCS))
        bench = FrameBench(run)
        for sender in Role:
            measured = MeasuredPath.looked_at(run, path, endpoints.ends(run, path, sender))
            for size in sizes:
                stream = bench.frames(f"frames of {size} bytes", measured.ends.from_port, 0, (size - FCS_BYTES,))
                trials = ZeroLossTrials(run, stream, say)
                with judged.one():
                    found = search(trials.at, measured.rate_mbps * 1e6 / 8 / (size + PREAMBLE_AND_GAP))
                    questions += _judged(measured, size, _proven(trials, found), trials, wanted.get(size))
    if questions:
        with judged.one():
            judge_questions(run.notes, questions)
    judged.end()


def _wanted(run: Run, path: BenchPath) -> dict[int, SheetRate]:
    return {
        each.frame_bytes: SheetRate(each.frames_per_s / path.rate_scale, each.source)
        for each in run.card.limits.zero_loss
    }


def _proven(trials: ZeroLossTrials, found: ZeroLossRate) -> ZeroLossRate:
    """Return a rate with its proof: where the search found none, the lowest is tried once more, longer."""
    if found.trials:
        return found
    last = trials.at(found.lowest_per_s, PROOF_S)
    trials.judge_loss(last)
    return ZeroLossRate((last,), found.lossy, found.lowest_per_s)


def _judged(
    measured: MeasuredPath, size: int, found: ZeroLossRate, trials: ZeroLossTrials, wanted: SheetRate | None
) -> list[Question]:
    """Judge a rate by the sheet at once; return the question of accepted runs, where only they can judge it."""
    subject = f"{measured.ends.name}: zero-loss rate of frames of {size} bytes"
    if wanted is None:
        _note(measured.run, subject, found, None)
        return _against(measured, subject, size, found)
    said = f"{subject}: {found}; expected at least {wanted.per_s:.0f} {UNIT} ({wanted.source})"
    if found.per_s < wanted.per_s:
        last = trials.at(wanted.per_s, PROOF_S)
        if last.lost:  # a card whose bus carries less has to drop some
            bottleneck.want_room(measured.before, wanted.per_s * (size - FCS_BYTES) * 8, said)
        trials.judge_loss(last)
        if last.per_s < SENT_WITHIN * wanted.per_s:
            raise Undecided(f"{said}; {measured.ends.from_port.name} sends {last.per_s:.0f} at most")
        found = ZeroLossRate((last,), found.lossy, found.lowest_per_s)
    _note(measured.run, subject, found, wanted)
    return []


def _note(run: Run, subject: str, found: ZeroLossRate, wanted: SheetRate | None) -> None:
    run.notes.figure(
        NotedFigure(
            kind=FigureKind.TRAFFIC,
            subject=subject,
            found=str(found),
            expected="no limit: recorded" if wanted is None else f"at least {wanted.per_s:.0f} {UNIT}",
            source="" if wanted is None else wanted.source,
            outcome=Decision.MET,
            unit=UNIT,
            value=found.per_s,
            at_least=None if wanted is None else wanted.per_s,
            runs=len(found.trials),
        )
    )


def _against(measured: MeasuredPath, subject: str, size: int, found: ZeroLossRate) -> list[Question]:
    """Ask why it is proven lower than in accepted runs, if it is the card that holds it back."""
    if len(found.trials) < PROOFS or found.lossy is None or not is_of_the_card(found.lossy):
        return []
    key = measured.key(Order(duration_s=round(LONG_S)))
    parameters = {**key.parameters, "frame_bytes": str(size)}
    measurement = Measurement(
        test=subject,
        metric=METRIC,
        unit=UNIT,
        better=Direction.HIGHER,
        samples=_rates(found.trials),
        taken=now(),
        key=key.model_copy(update={"tool": "frame program", "parameters": parameters}),
    )
    add(measured.run.run_dir, measurement)
    plan = SamplingPlan(
        first_look=PROOFS, met_from=PROOFS, most=PROOFS, warm_up_runs=0, resolution=(STEP - 1) * found.per_s
    )
    result = Against.stored(measured.run, measurement, plan).result(measurement.samples)
    is_lower = result is not None and result.decision is Decision.MISSED
    return [Question(f"{subject}, baseline", result)] if result is not None and is_lower else []


def _rates(trials: Sequence[LossTrial]) -> tuple[float, ...]:
    return tuple(each.per_s for each in trials)
