"""The plan of a question: how many repeats, in which order, and when one may stop."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from niclab.core.decision import FAMILY, LEVEL
from niclab.stats.boundaries import Spending, t_boundaries

_LARGEST_CORRELATION = 0.9
CORRELATION = 0.3
"""Assumption: runs a few seconds apart share caches, clocks and temperatures; at most so much of their spread."""


@dataclass(frozen=True)
class SamplingPlan:
    """Fixed before the first repeat is made.

    ``first_look``: repeats before the first decision. ``most``: the budget; what is open then is undecided.
    ``step``: repeats between looks. ``level``: of the intervals, simultaneous over all looks (repeated confidence
    intervals, Jennison & Turnbull 1989), so that a false MET is at most (1 - level) / 2. ``family``: figures
    that are judged together; a false MISSED among all of them is at most (1 - level) / 2 (Bonferroni).
    ``warm_up_runs``: runs of each variant made first and never counted: the first run after a change pays for caches,
    neighbour tables and sleeping CPUs, and few repeats cannot tell whether it did. ``resolution``: smallest step of
    the figure, in its unit. ``correlation``: largest correlation of neighbouring repeats for which the level must
    hold; few repeats show too little of it to rely on what they show. 0 means that repeats are known to be independent.
    ``met_from``: repeats from which a limit may be MET, so that an intermittent fault has been given its chance; None
    means ``most``. Repeats beyond it are made only while the question is open.
    """

    first_look: int = 5
    most: int = 12
    step: int = 1
    level: float = LEVEL
    spending: Spending = Spending.POCOCK
    warm_up_runs: int = 1
    resolution: float = 0.0
    correlation: float = CORRELATION
    met_from: int | None = None
    family: int = FAMILY

    def __post_init__(self) -> None:
        self._want("first_look", self.first_look >= 3, "at least 3")
        self._want("most", self.most >= self.first_look, f"at least first_look {self.first_look}")
        self._want("met_from", self.met_from is None or self.met_from <= self.most, f"at most most {self.most}")
        self._want("family", self.family >= 1, "at least 1")
        self._want("step", self.step >= 1, "at least 1")
        self._want("level", 0.5 <= self.level < 1, "0.5 or more and less than 1")
        self._want("warm_up_runs", self.warm_up_runs >= 0, "0 or more")
        self._want("resolution", 0 <= self.resolution < float("inf"), "0 or more")
        self._want("correlation", 0 <= self.correlation <= _LARGEST_CORRELATION, f"0 to {_LARGEST_CORRELATION}")

    def _want(self, field: str, holds: bool, wanted: str) -> None:
        if not holds:
            raise ValueError(f"plan: {field}: {getattr(self, field)!r} is not wanted; expected {wanted}")

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of repeats after which the question is looked at; the last is ``most``."""
        looks = range(self.first_look, self.most, self.step)
        return (*looks, self.most)

    @property
    def least_to_meet(self) -> int:
        """Repeats from which a limit may be MET."""
        return self.most if self.met_from is None else self.met_from

    @property
    def boundaries(self) -> tuple[float, ...]:
        """Critical t of each look, beyond which a limit is MET; the interval shows them."""
        return t_boundaries(self.looks, (1 - self.level) / 2, self.spending)

    @property
    def missed_boundaries(self) -> tuple[float, ...]:
        """Critical t of each look, beyond which a limit is MISSED."""
        return t_boundaries(self.looks, (1 - self.level) / 2 / self.family, self.spending)


@dataclass(frozen=True)
class Turn:
    """One run of a comparison. ``block`` 0 and below is warm-up and not counted."""

    block: int
    variant: str

    @property
    def counted(self) -> bool:
        return self.block > 0


def schedule(variants: Sequence[str], blocks: int, *, seed: int, warm_up_runs: int = 1) -> list[Turn]:
    """The order of runs: every block runs every variant once; same seed, same order.

    The order in odd blocks is random, and each even block runs the one before backwards (A B - B A), so that a steady
    drift of the bench cancels and no rhythm of it falls in step with a variant.

    Args:
        variants: Baseline first, then each setting.
        blocks: Number of blocks of both variants.
        seed: Seed of the order, noted in the log.
        warm_up_runs: Runs that are not counted.

    Raises:
        ValueError: For no or doubled variants, or less than one block.
    """
    if not variants or len(set(variants)) != len(variants) or blocks < 1 or warm_up_runs < 0:
        raise ValueError(
            f"variants {list(variants)!r}, {blocks} blocks, {warm_up_runs} warm-up runs; "
            "expected different variants, at least 1 block, no negative number"
        )
    generator = random.Random(seed)
    turns = [Turn(block, variant) for block in range(1 - warm_up_runs, 1) for variant in variants]
    order = list(variants)
    for block in range(1, blocks + 1):
        if block % 2:
            generator.shuffle(order)
        else:
            order.reverse()
        turns += [Turn(block, variant) for variant in order]
    return turns
