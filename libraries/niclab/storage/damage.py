"""The party that damages data: a storage load that finds damage does not say whether card or peer has done it."""

from __future__ import annotations

from typing import Protocol

from niclab.core.verdict import Undecided
from niclab.frames import delivery
from niclab.run.run import Run
from niclab.traffic.runs.progress import Tell


class Damageable(Protocol):
    """An answer about data that were carried. ``damaged``: data that were not those expected, in words."""

    @property
    def subject(self) -> str: ...
    @property
    def damaged(self) -> tuple[str, ...]: ...


def require_undamaged(run: Run, answer: Damageable, say: Tell) -> None:
    """Require that all data were those expected.

    Where some were not, frames with known content tell who damages data: they are compared at both ends, and without
    the card.

    Args:
        run: The current run.
        answer: What was carried.
        say: Takes what becomes of the frames.

    Raises:
        CardFailure: The card damages frames.
        BenchFault: The peer does.
        Undecided: Nobody does.
    """
    if not answer.damaged:
        return
    delivery.once_in_order(run, say)
    raise Undecided(
        f"{answer.subject}: {'; '.join(answer.damaged)}; expected what was written; frames with known content arrive "
        "unchanged, so that nobody knows where it happened"
    )
