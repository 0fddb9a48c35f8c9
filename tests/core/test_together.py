"""Asking several subjects at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from niclab.core.parallel import side_by_side, together


def test_answers_stand_in_the_order_of_the_subjects() -> None:
    everybody = threading.Barrier(3)  # passes only when all three are asked at once

    def question(subject: int) -> int:
        everybody.wait(timeout=10)
        return subject * 2

    assert side_by_side(question, [3, 1, 2]) == [6, 2, 4]


def test_nobody_to_ask() -> None:
    assert side_by_side(lambda subject: subject, []) == []


def test_the_first_error_is_raised_after_all_were_asked() -> None:
    asked = []

    def question(subject: str) -> None:
        asked.append(subject)
        if subject != "fine":
            raise ValueError(subject)

    with pytest.raises(ValueError, match="first"):
        side_by_side(question, ["fine", "first", "second"])
    assert sorted(asked) == ["fine", "first", "second"]


def test_managers_are_left_whatever_one_of_them_says() -> None:
    left = list[str]()

    @contextmanager
    def manager(name: str, fails: bool = False) -> Iterator[None]:
        try:
            yield
        finally:
            left.append(name)
        if fails:
            raise ValueError(name)

    with together([manager("a"), manager("b")]):
        assert left == []
    assert sorted(left) == ["a", "b"]
    with pytest.raises(ValueError, match=r"^c$"), together([manager("c", True), manager("d")]):
        pass
    with pytest.raises(KeyError), together([manager("e", True), manager("f")]):
        raise KeyError("of the block")
    assert sorted(left) == ["a", "b", "c", "d", "e", "f"]


def test_all_are_asked_though_the_first_fails_at_once() -> None:
    for _ in range(200):
        asked = list[int]()

        def question(subject: int, asked: list[int] = asked) -> None:
            asked.append(subject)
            if subject == 0:
                raise ValueError(subject)

        with pytest.raises(ValueError, match="0"):
            side_by_side(question, range(4))
        assert sorted(asked) == [0, 1, 2, 3]
