"""Endings of a check: its first error counts."""

from __future__ import annotations

import pytest

from niclab.core.verdict import BenchFault, CardFailure, Undecided, ended_by, fail_with


@pytest.mark.parametrize("error", [CardFailure, BenchFault, KeyboardInterrupt])
def test_a_fault_of_the_end_hides_no_error_before_it(error: type[BaseException]) -> None:
    ends = list[str]()

    def end() -> None:
        ends.append("ended")
        raise BenchFault("no answer")

    with pytest.raises(error, match="first") as found, ended_by(end):
        raise error("first")
    assert found.value.__notes__ == ["no answer"]
    with pytest.raises(BenchFault, match="no answer"), ended_by(end):
        pass
    assert ends == ["ended", "ended"]


def test_a_doubt_hides_no_problem() -> None:
    fail_with([])
    with pytest.raises(Undecided, match=r"^a\nb$"):
        fail_with([], ["a", "b"])
    with pytest.raises(CardFailure, match=r"^wrong$"):
        fail_with(["wrong"], ["a"])
