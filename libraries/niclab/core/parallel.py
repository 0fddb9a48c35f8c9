"""Asking several hosts or ports at the same time: each waits for a machine, none for the controller."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def side_by_side(question: Callable[[S], T], subjects: Iterable[S]) -> list[T]:
    """``question`` of every subject, asked at once; the answers in the order of the subjects.

    All are asked to the end; then the first error among them, in that order, is raised.
    """
    asked = list(subjects)
    if not asked:
        return []
    with ThreadPoolExecutor(len(asked)) as pool:
        answers = [pool.submit(question, subject) for subject in asked]
    # not map(), which gives up what has not begun when one fails
    return [answer.result() for answer in answers]


def at_once(first: Callable[[], S], second: Callable[[], T]) -> tuple[S, T]:
    """The answers to two different questions; both are asked to the end, the error of ``second`` is raised first."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(first)
        second_said = second()
        return asked.result(), second_said


@contextmanager
def together(managers: Sequence[AbstractContextManager[object]]) -> Iterator[None]:
    """Enter context managers at once, and leave them at once after the ``with`` block.

    All are left, whatever goes wrong; then the first error among them, in their order, is raised.

    Args:
        managers: The context managers.
    """
    stacks = [ExitStack() for _ in managers]
    try:
        side_by_side(lambda each: each[0].enter_context(each[1]), zip(stacks, managers, strict=True))
        yield
    except BaseException:
        failure = sys.exc_info()
        side_by_side(lambda stack: stack.__exit__(*failure), stacks)
        raise
    side_by_side(lambda stack: stack.close(), stacks)
