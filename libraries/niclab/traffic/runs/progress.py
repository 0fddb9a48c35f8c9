"""The progress of a long measurement: run i of n, the last value, the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

LONG_S = 60.0
"""Measurements longer than this report progress."""

Tell = Callable[[str], object]


@dataclass(frozen=True)
class Pace:
    """The duration of a run with all that belongs to it: as long as those made so far, never less than ``run_s``."""

    run_s: float
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "began", self.clock())

    @property
    def elapsed_s(self) -> float:
        """Since the first run began."""
        return self.clock() - self.began

    def left_s(self, made: int, left: int) -> float:
        """That ``left`` runs take after ``made`` ones."""
        return left * max(self.run_s, self.elapsed_s / made)


@dataclass(frozen=True)
class Progress:
    """Tells ``tell`` after each run, when all of them may last longer than ``LONG_S`` at the pace of those made.

    ``most``: runs at most, without ``warm_up_runs``. ``most_s``: no run begins later than this.
    """

    subject: str
    unit: str
    most: int
    warm_up_runs: int
    pace: Pace
    most_s: float
    tell: Tell

    def made(self, number: int, value: float) -> None:
        """Run ``number`` (warm-up counted) gave ``value``."""
        most = self.most + self.warm_up_runs
        last_begins_s = max(0.0, self.most_s - self.pace.elapsed_s)
        left_s = min(self.pace.left_s(number, most - number), last_begins_s + self.pace.left_s(number, 1))
        if self.pace.elapsed_s + left_s < LONG_S:
            return
        warm_up = " (warm-up)" if number <= self.warm_up_runs else ""
        figure = f"{value:.1f}" if abs(value) >= 10 else f"{value:.2g}"
        self.tell(
            f"{self.subject}: run {number} of at most {most}{warm_up}: {figure} {self.unit}, "
            f"at most {left_s:.0f} s left"
        )
