"""Asking several subjects at the same time."""

from __future__ import annotations

import threading

import pytest

from niclab.core.parallel import side_by_side


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
