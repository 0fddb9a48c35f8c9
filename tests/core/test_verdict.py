"""Endings of a check: its first error counts."""

from __future__ import annotations

import pytest

from niclab.core.verdict import BenchFault, CardFailure, ended_by


@pytest.mark.parametrize("error", [CardFailure, BenchFault, KeyboardInterrupt])
def test_a_fault_of_the_end_hides_no_error_before_it(error: type[BaseException]) -> None:
    ends = list[str]()

    def end() -> None:
        ends.append("ended")
        raise BenchFault("no answer")

    with pytest.raises(error, match="first"), ended_by(end):
        raise error("first")
    with pytest.raises(BenchFault, match="no answer"), ended_by(end):
        pass
    assert ends == ["ended", "ended"]
