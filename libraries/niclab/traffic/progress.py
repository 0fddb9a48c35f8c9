"""How far a measurement is that lasts long: run i of n, the last value, the time left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LONG_S = 60.0
"""Who waits longer than this is told how far it is."""

Tell = Callable[[str], object]


@dataclass(frozen=True)
class Progress:
    """Tells ``tell`` after each run, when all of them may last longer than ``LONG_S``.

    ``most``: runs at most, without ``warm_up_runs``. ``run_s``: of a run. ``most_s``: no run begins later than this.
    """

    subject: str
    unit: str
    most: int
    warm_up_runs: int
    run_s: float
    most_s: float
    tell: Tell

    def made(self, number: int, value: float) -> None:
        """Run ``number`` (warm-up counted) gave ``value``."""
        most = self.most + self.warm_up_runs
        if most * self.run_s < LONG_S:
            return
        left_s = min((most - number) * self.run_s, self.most_s)
        warm_up = " (warm-up)" if number <= self.warm_up_runs else ""
        self.tell(
            f"{self.subject}: run {number} of at most {most}{warm_up}: {value:.1f} {self.unit}, "
            f"at most {left_s:.0f} s left"
        )
