"""The faults that a run would have missed, because they are too rare for what it asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from niclab.core.exposure import Exposed, Exposure

_SEEN = "95 %"
_OF_THREE = 3
"""A fault that is not met in n trials is rarer than one in n / 3, with 95 %: (1 - 3 / n) ** n is 0.05."""
_RARE = 0.1


def missed(exposed: Exposed, boots: Counter[str], runs: Collection[int]) -> tuple[str, ...]:
    """Say what a run would have missed, one line for each kind of trial that it made.

    Args:
        exposed: What the card was exposed to.
        boots: How often each server has started.
        runs: How many runs of traffic each figure is of.

    Returns:
        The lines; none for a run that tried nothing.
    """
    lines = list[str]()
    if frames := int(exposed.sums[Exposure.FRAMES]):
        lines.append(f"{frames:,} frames compared: {_damage(frames)}")
    places = {at: int(amount) for (kind, at), amount in exposed.at.items() if kind is Exposure.FRAMES}
    if places:
        fewest = min(places, key=lambda at: (places[at], at))
        lines.append(f"{fewest} the fewest of them, {places[fewest]:,}: of this part {_damage(places[fewest])}")
    if runs:
        lines.append(f"at least {min(runs)} traffic runs a figure: {_of_ten('run', min(runs))}")
    lines += [f"{server} booted {count} times: {_of_ten('boot', count)}" for server, count in sorted(boots.items())]
    failures = int(exposed.sums[Exposure.LINK_FAILURES])
    if failures:
        lines.append(f"{failures} link failures: {_of_ten('failure', failures)}")
    seconds = int(exposed.sums[Exposure.LOADED_SECONDS])
    if seconds:
        rarest = max(1, seconds // _OF_THREE)
        said = f"what comes less than once in {rarest:,} s is seen with less than {_SEEN}"
        lines.append(f"{seconds:,} s under load: {said}")
    return tuple(lines)


def _damage(frames: int) -> str:
    return f"damage rarer than 1 in {max(1, frames // _OF_THREE):,} is seen with less than {_SEEN}"


def _of_ten(trial: str, count: int) -> str:
    return f"a fault of one {trial} in ten is missed with {100 * (1 - _RARE) ** count:.0f} %"
