"""Endings of a check: its first error counts."""

from __future__ import annotations

import pytest

from niclab.core.verdict import (
    BenchFault,
    CardFailure,
    Deviation,
    NotApplicable,
    SheetSilent,
    SheetUnknown,
    Undecided,
    ended_by,
    fail_with,
    none_applies,
)


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


@pytest.mark.parametrize("missing", [SheetSilent, SheetUnknown])
@pytest.mark.parametrize("other", [NotApplicable, Deviation])
def test_what_does_not_apply_hides_no_missing_answer(missing: type[NotApplicable], other: type[NotApplicable]) -> None:
    """A plan may allow that a question does not apply, and never that the sheet is silent."""
    for reasons in ([("a", missing("no fact")), ("b", other("no"))], [("b", other("no")), ("a", missing("no fact"))]):
        assert type(none_applies(reasons)) is missing
    both = [("a", SheetUnknown("nobody knows")), ("b", SheetSilent("no fact")), ("c", other("no"))]
    assert type(none_applies(both)) is SheetSilent


def test_a_reason_that_all_share_is_the_reason() -> None:
    assert type(none_applies([("a", Deviation("no")), ("b", Deviation("nor this"))])) is Deviation
    assert type(none_applies([("a", Deviation("no")), ("b", NotApplicable("nor this"))])) is NotApplicable
