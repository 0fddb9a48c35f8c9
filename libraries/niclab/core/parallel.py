"""Asking several hosts or ports at the same time: each waits for a machine, none for the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
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
        return list(pool.map(question, asked))


def at_once(first: Callable[[], S], second: Callable[[], T]) -> tuple[S, T]:
    """The answers to two different questions; both are asked to the end, the error of ``second`` is raised first."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(first)
        second_said = second()
        return asked.result(), second_said
