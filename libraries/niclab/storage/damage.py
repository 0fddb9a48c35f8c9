"""The party that damages data: a storage load that finds damage does not say whether card or peer has done it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from niclab.core.verdict import BenchFault, Undecided
from niclab.frames import delivery
from niclab.run.run import Run
from niclab.traffic.runs.progress import Tell


class Damageable(Protocol):
    """An answer about data that were carried. ``damaged``: data that were not those expected, in words."""

    @property
    def subject(self) -> str: ...
    @property
    def damaged(self) -> tuple[str, ...]: ...


def require_undamaged(run: Run, answer: Damageable, say: Tell, gone: Sequence[str] = ()) -> None:
    """Require that all data were those expected.

    Where some were not, frames with known content tell who damages data: they are compared at both ends, and without
    the card.

    Args:
        run: The current run.
        answer: What was carried.
        say: Takes what becomes of the frames.
        gone: What the other server has stopped to offer, in words.

    Raises:
        CardFailure: The card damages frames.
        BenchFault: The peer does, or nobody does, and the other server offers something no more.
        Undecided: Nobody does.
    """
    if not answer.damaged:
        return
    delivery.once_in_order(run, say)
    found = f"{answer.subject}: {'; '.join(answer.damaged)}; expected what was written"
    if gone:
        raise BenchFault(f"{found}; {'; '.join(gone)}")
    raise Undecided(f"{found}; frames with known content arrive unchanged, so that nobody knows where it happened")
