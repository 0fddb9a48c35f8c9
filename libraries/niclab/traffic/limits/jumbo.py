"""The gain of jumbo frames, against the gain that the frame rate at MTU 1500 predicts."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

from niclab.bench.records import BenchPath
from niclab.core.profile import Profile
from niclab.run.run import Run
from niclab.traffic.effects import effect
from niclab.traffic.effects.effect import EffectAnswers
from niclab.traffic.limits import frame_rate
from niclab.traffic.runs.progress import Tell


def measure(run: Run, path: BenchPath, profile: Profile, tell: Tell) -> EffectAnswers:
    """Measure the frame rate, predict the gain from it, and measure the gain.

    Args:
        run: The current run.
        path: The path that carries the traffic.
        profile: How many runs may be made, and for how long.
        tell: Takes the progress.

    Returns:
        The gain against its prediction.

    Raises:
        NotApplicable: The sheet knows no frame rate, or the card takes no jumbo frames.
        BenchFault: A run fails or is worthless.
        Undecided: The time was spent before the first look.
    """
    peak = frame_rate.measure(run, path, tell)
    predicted = frame_rate.jumbo_gain(run, peak)
    answer = effect.ask(run, path, predicted, effect.BUDGETS[profile], tell, source=predicted.source)
    doubts = frame_rate.doubts_of_gain(peak, mean(standard for standard, _ in answer.pairs))
    answer = replace(answer, doubts=doubts)
    return EffectAnswers(f"Jumbo frames {answer.subject}", (answer,))
