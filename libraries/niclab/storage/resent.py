"""Segments and calls that were sent again under storage: how many are too many, and whose loss they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from niclab.core.verdict import Collected, NotApplicable, Undecided, fail_with
from niclab.traffic.outage.outage import Judgement

RESENT_PART, RESENT_LEAST = 0.01, 10
"""Assumption: TCP sends less again over a line that loses nothing. Measured over emulated cards: at most 1 segment of a
load; a server that stops for a moment is sent a few again."""


def is_much(again: int, of: int) -> bool:
    """Are they more than a line loses, or a server that stops for a moment is sent again?

    Args:
        again: Segments or calls that were sent again.
        of: The others, or all.
    """
    return again > max(RESENT_LEAST, RESENT_PART * of)


def judged(words: str, lost: int, counted: int, excuses: Sequence[object]) -> Judgement:
    """Say whose loss it is.

    Args:
        words: The loss.
        lost: Segments or calls that were lost.
        counted: Frames of them that the dut's port counts as lost.
        excuses: Standstills of servers meanwhile, and what of the bench may hold a load back.

    Returns:
        Proven, where the dut's port counts all of them and nothing excuses it; else possible.
    """
    whole = "; ".join([words, *map(str, excuses)])
    return Judgement([whole], []) if counted >= lost and not excuses else Judgement([], [whole])


def judge(
    lost: Sequence[Judgement],
    require_whole: Callable[[], object],
    ask: Callable[[], object],
    undecided: Sequence[str] = (),
) -> None:
    """End a check of storage by its data and losses, and between what is proven and what is possible, by its figures.

    Args:
        lost: The losses.
        require_whole: Requires that all data and counts are right; a doubt of it hides no proven loss.
        ask: Judges the figures, where all data are right.
        undecided: Other reasons why nobody knows.

    Raises:
        CardFailure: A loss is proven, or by ``require_whole`` or ``ask``.
        BenchFault: By ``require_whole`` or ``ask``.
        Undecided: A loss is possible, there are other reasons, or by ``require_whole`` or ``ask``.
        NotApplicable: By ``ask``, where nothing is undecided.
    """
    ends = Collected()
    with ends.one():
        require_whole()
    with ends.one():
        fail_with([words for each in lost for words in each.proven])
    ends.end()
    open_ = [*(words for each in lost for words in each.possible), *undecided]
    try:
        ask()
    except NotApplicable:
        if not open_:
            raise
    if open_:
        raise Undecided("\n".join(open_))
