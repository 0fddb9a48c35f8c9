"""Endings of a check: its first error counts."""

from __future__ import annotations

import re

import pytest

from niclab.core.verdict import (
    BenchFault,
    CardFailure,
    Collected,
    Deviation,
    KernelFailure,
    NotApplicable,
    SheetSilent,
    SheetUnknown,
    Undecided,
    ended_by,
    fail_with,
    none_applies,
    proven_first,
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
    with pytest.raises(CardFailure, match=r"^wrong\nundecided: a$"):
        fail_with(["wrong"], ["a"])


@pytest.mark.parametrize("ended", [BenchFault, NotApplicable, SheetSilent, Undecided])
def test_what_ends_a_block_hides_nothing_that_is_proven(ended: type[Exception]) -> None:
    proven = list[str]()
    with pytest.raises(CardFailure, match=r"^wrong\nundecided: gone$"), proven_first(lambda: proven):
        proven.append("wrong")
        raise ended("gone")
    with pytest.raises(ended, match=r"^gone$"), proven_first(list):
        raise ended("gone")
    with pytest.raises(CardFailure, match=r"^worse$"), proven_first(lambda: proven):
        raise CardFailure("worse")
    with proven_first(lambda: proven):
        pass


def judged(*ends: BaseException | None) -> None:
    """Judge parts that end so."""
    collected = Collected()
    for end in ends:
        with collected.one():
            if end is not None:
                raise end
    collected.end()


def test_parts_that_end_well_are_a_check_that_does() -> None:
    judged(None, None)


@pytest.mark.parametrize(
    ("ends", "verdict", "says"),
    [
        ((Undecided("a"), None, CardFailure("b"), CardFailure("c")), CardFailure, r"^b\nc\nundecided: a$"),
        ((Undecided("a"), None, Undecided("b")), Undecided, r"^a\nb$"),
        ((CardFailure("a"), BenchFault("b")), CardFailure, r"^a\nundecided: b$"),
        ((CardFailure("a"), SheetSilent("b")), CardFailure, r"^a\nundecided: b$"),
        ((Undecided("a"), BenchFault("b"), CardFailure("c")), BenchFault, "^b$"),
        ((Undecided("a"), NotApplicable("b"), CardFailure("c")), Undecided, "^a$"),
        ((Undecided("a"), SheetUnknown("b")), Undecided, "^a$"),
        ((None, NotApplicable("b")), NotApplicable, "^b$"),
        ((Undecided("a"), KernelFailure("b")), KernelFailure, "^b$"),
    ],
)
def test_a_part_that_cannot_be_judged_hides_no_other(
    ends: tuple[Exception, ...], verdict: type[Exception], says: str
) -> None:
    with pytest.raises(verdict) as found:
        judged(*ends)
    assert type(found.value) is verdict and re.search(says, str(found.value))


def test_what_ended_the_check_early_is_a_note_of_the_doubts_before() -> None:
    with pytest.raises(Undecided) as found:
        judged(Undecided("a"), NotApplicable("b"))
    assert found.value.__notes__ == ["b"]


@pytest.mark.parametrize("kind", [CardFailure, Undecided])
def test_notes_of_parts_are_kept(kind: type[Exception]) -> None:
    part = kind("a")
    part.add_note("not put back")
    with pytest.raises(kind) as found:
        judged(part, None)
    assert found.value.__notes__ == ["not put back"]


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
