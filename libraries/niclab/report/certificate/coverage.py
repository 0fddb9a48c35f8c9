"""The requirements that a run has decided, part by part, and whether that fulfils its plan."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from niclab.core.profile import Profile
from niclab.core.verdict import Deviation, SheetSilent, SheetUnknown
from niclab.report.allure.allure_results import TestRecord
from niclab.report.verdicts import Verdict, first_line
from niclab.scope.plan import Plan
from niclab.scope.requirements import About, RequirementPart, Requirements

_MOST_REASONS = 3
NOT_COVERED = "not covered: "
"""Begins the reason of a part for which no test exists."""


class Status(Enum):
    """The verdict of a certificate on a requirement, or on a part of one."""

    VERIFIED = "verified"
    IN_PART = "verified in part"
    FAILED = "failed"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "not applicable"
    NOT_TESTED = "not tested"


class Gap(Enum):
    """The reason why a test that decides a part was not asked. The value begins the test's message."""

    SILENT = SheetSilent.__name__
    UNKNOWN = SheetUnknown.__name__
    DEVIATION = Deviation.__name__
    NOT_APPLICABLE = "NotApplicable"


_WITHOUT_ANSWER = (Gap.SILENT, Gap.UNKNOWN)


@dataclass(frozen=True)
class PartCoverage:
    """One part of a requirement on a certificate.

    ``reason`` says why it is not verified, empty where it is. ``tests`` are the names of the tests that decide it and
    were run; ``asked`` is how many of them were applicable. ``gaps``: why the others were not, and what the sheet does
    not know; none where one of the alternatives of a part is enough. ``failed``: names of the tests that found the card
    wrong.
    """

    part: str
    title: str
    status: Status
    reason: str
    tests: tuple[str, ...]
    asked: int
    gaps: tuple[tuple[Gap, str], ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name within the requirement, empty where the requirement has no parts."""
        return self.part.partition("/")[2]

    def as_json(self) -> dict[str, object]:
        """Return the entry of ``certificate.json``."""
        return {
            "id": self.part,
            "title": self.title,
            "status": self.status.value,
            "reason": self.reason,
            "tests": list(self.tests),
            "asked": self.asked,
        }


@dataclass(frozen=True)
class Coverage:
    """One requirement on a certificate. ``reason`` says why it is not verified, empty where it is."""

    requirement: str
    title: str
    source: str
    status: Status
    reason: str
    parts: tuple[PartCoverage, ...]

    def as_json(self) -> dict[str, object]:
        """Return the entry of ``certificate.json``."""
        return {
            "id": self.requirement,
            "title": self.title,
            "source": self.source,
            "status": self.status.value,
            "reason": self.reason,
            "parts": [each.as_json() for each in self.parts],
        }


@dataclass(frozen=True)
class Scope:
    """The rules by which a run's tests are judged.

    ``partial``: only some suites were run, so that nobody knows whether every test of a part was. ``unknown``: facts of
    the sheet that the tests of a part passed over, by the part.
    """

    requirements: Requirements
    plan: Plan
    partial: bool = False
    unknown: Mapping[str, Sequence[str]] = field(default_factory=dict)


def cover(scope: Scope, tests: Sequence[TestRecord]) -> list[Coverage]:
    """Decide every requirement by the tests that are declared to decide its parts.

    Args:
        scope: What it is judged by.
        tests: Every test of the run.

    Returns:
        One entry for each requirement, in the order of the file.
    """
    return [_cover(scope, name, tests) for name in scope.requirements.requirements]


def decides_for_the_lab(requirements: Requirements, test: TestRecord) -> bool:
    """Tell whether a test decides requirements of the lab alone, and so says nothing about the card.

    Args:
        requirements: All requirements of the lab.
        test: The test.
    """
    whole = [each.partition("/")[0] for each in test.requirements]
    known = [requirements.requirements[each] for each in whole if each in requirements.requirements]
    return bool(known) and all(each.about is About.LAB for each in known)


def unfulfilled(
    requirements: Requirements, plan: Plan, coverage: Sequence[Coverage], waived: Iterable[str] = ()
) -> list[str]:
    """Name the parts that keep the plan from being fulfilled.

    Args:
        requirements: All requirements of the lab.
        plan: Plan of the run.
        coverage: The run's coverage, see :func:`cover`.
        waived: Names of tests whose failure a waiver covers.

    Returns:
        One sentence for each required part that is not verified, unless the plan allows that it is not applicable or
        unknown; and for each about which the sheet is silent. A waiver covers a failure, and no missing answer.
    """
    required, excused = set(plan.parts(requirements)), set(waived)
    return [
        f"Plan {plan.plan} requires {part.part} ({part.title}): {lack}."
        for each in coverage
        for part in each.parts
        if part.part in required and (lack := _lack(plan, part, excused))
    ]


def headline(requirements: Requirements, plan: Plan, coverage: Sequence[Coverage]) -> str:
    """Return the scope in words: ``plan quick: 20 of 46 requirements verified, 9 in part; not asked: firmware update``.

    It says whether the plan is fulfilled, what it left out, and for what there is no test.

    Args:
        requirements: All requirements of the lab.
        plan: Plan of the run.
        coverage: The run's coverage, see :func:`cover`.
    """
    count = {status: sum(each.status is status for each in coverage) for status in Status}
    words = [f"{count[Status.VERIFIED]} of {len(coverage)} requirements verified"]
    words += [f"{count[Status.IN_PART]} in part"] if count[Status.IN_PART] else []
    words += [f"{count[Status.FAILED]} failed"] if count[Status.FAILED] else []
    missed = " not fulfilled" if unfulfilled(requirements, plan, coverage) else ""
    left_out = ", ".join(_left_out(requirements, plan, coverage))
    said = [f"plan {plan.plan}{missed}: {', '.join(words)}", f"not asked: {left_out}" if left_out else ""]
    return "; ".join(filter(None, [*said, _without_test(requirements)]))


def _left_out(requirements: Requirements, plan: Plan, coverage: Sequence[Coverage]) -> Iterator[str]:
    """Yield what the plan does not require and the run has not asked, in the words of the plan where it has some."""
    parts = {part.part: part for each in coverage for part in each.parts}
    asked = set(plan.parts(requirements))
    open_parts = [
        name
        for name, part in parts.items()
        if name not in asked and part.status is Status.NOT_TESTED and not requirements.chosen(name)[name].not_covered
    ]
    named = set[str]()
    for words, names in plan.not_asked.items():
        group = {part for name in names for part in requirements.chosen(name)}
        if group & set(open_parts):
            yield words
        named |= group
    yield from dict.fromkeys(name.partition("/")[0] for name in open_parts if name not in named)


def _without_test(requirements: Requirements) -> str:
    """For what no test exists: requirements by their ids, single parts by their number."""
    lacking = [name for name, part in requirements.every_part().items() if part.not_covered]
    wholly = [
        each
        for each in requirements.requirements
        if all(part.not_covered for part in requirements.parts(each).values())
    ]
    parts = sum(name.partition("/")[0] not in wholly for name in lacking)
    words = [", ".join(wholly)] * bool(wholly)
    words += [f"{parts} part{'s' * (parts != 1)} of others"] * bool(parts)
    return f"no test exists for {' and for '.join(words)}" if words else ""


def _cover(scope: Scope, requirement: str, tests: Sequence[TestRecord]) -> Coverage:
    requirements = scope.requirements
    parts = tuple(
        _cover_part(scope, name, part, [test for test in tests if name in test.requirements])
        for name, part in requirements.parts(requirement).items()
    )
    status = _of_parts([each.status for each in parts])
    reason = "" if status is Status.VERIFIED else "; ".join(_said_of(parts)) if parts[0].name else parts[0].reason
    whole = requirements.requirements[requirement]
    return Coverage(requirement, whole.title, requirements.source(requirement), status, reason, parts)


def _cover_part(scope: Scope, name: str, part: RequirementPart, deciding: Sequence[TestRecord]) -> PartCoverage:
    not_asked = [test for test in deciding if test.verdict is Verdict.NOT_APPLICABLE]
    gaps = [(_gap(test), _reason(test.message)) for test in not_asked]
    gaps += [(Gap.UNKNOWN, text) for text in scope.unknown.get(name, ()) if deciding]
    asked = len(deciding) - len(not_asked)
    if part.alternatives and asked and not any(gap in _WITHOUT_ANSWER for gap, _ in gaps):
        gaps = []
    status, reason = _judge(deciding, asked, gaps) if deciding else _without_tests(scope.plan, part)
    if scope.partial and (status is Status.VERIFIED or not deciding):
        status, reason = Status.IN_PART if deciding else Status.NOT_TESTED, "only some suites were run"
    failed = tuple(test.name for test in deciding if test.verdict is Verdict.CARD_FAILURE)
    return PartCoverage(
        name, part.title, status, reason, tuple(test.name for test in deciding), asked, tuple(gaps), failed
    )


def _judge(deciding: Sequence[TestRecord], asked: int, gaps: Sequence[tuple[Gap, str]]) -> tuple[Status, str]:
    for status, verdicts in (
        (Status.FAILED, (Verdict.CARD_FAILURE,)),
        (Status.UNDECIDED, (Verdict.BENCH_FAULT, Verdict.UNDECIDED)),
    ):
        for test in deciding:
            if test.verdict in verdicts:
                return status, f"{test.name.rpartition('.')[2]}: {_reason(test.message)}"
    if asked and not gaps:
        return Status.VERIFIED, ""
    lacks = [text for gap, text in gaps if gap in _WITHOUT_ANSWER]
    said = _joined(lacks or [text for _, text in gaps])
    if asked:
        return Status.IN_PART, f"{asked} of {len(deciding)} tests; {said}" if asked < len(deciding) else said
    return Status.NOT_TESTED if lacks else Status.NOT_APPLICABLE, said


def _without_tests(plan: Plan, part: RequirementPart) -> tuple[Status, str]:
    if part.not_covered:
        return Status.NOT_TESTED, f"{NOT_COVERED}{part.not_covered}"
    if part.of_sheet and plan.profile is Profile.FULL:
        return Status.NOT_APPLICABLE, "the sheet predicts no effect"
    return Status.NOT_TESTED, f"profile {plan.profile.value}"


def _of_parts(found: Sequence[Status]) -> Status:
    for status in (Status.FAILED, Status.UNDECIDED):
        if status in found:
            return status
    if set(found) == {Status.VERIFIED}:
        return Status.VERIFIED
    if {Status.VERIFIED, Status.IN_PART} & set(found):
        return Status.IN_PART
    return Status.NOT_APPLICABLE if set(found) == {Status.NOT_APPLICABLE} else Status.NOT_TESTED


def _said_of(parts: Sequence[PartCoverage]) -> Iterator[str]:
    """Describe the parts by status: ``verified: check; not tested: update, rollback (profile quick)``."""
    for status in (Status.FAILED, Status.UNDECIDED, Status.VERIFIED, Status.IN_PART, *_NEITHER):
        by_reason: dict[str, list[str]] = {}
        for part in parts:
            if part.status is status:
                by_reason.setdefault(part.reason, []).append(part.name)
        said = [f"{', '.join(names)}{f' ({reason})' if reason else ''}" for reason, names in by_reason.items()]
        if said:
            yield f"{status.value}: {', '.join(said)}"


_NEITHER = (Status.NOT_APPLICABLE, Status.NOT_TESTED)


def _lack(plan: Plan, part: PartCoverage, excused: Collection[str]) -> str:
    """Return what keeps a required part from being fulfilled; empty if nothing does. ``excused``: tests that failed."""
    is_excused = bool(part.failed) and set(part.failed) <= set(excused)
    if part.status is Status.VERIFIED or (is_excused and not part.gaps):
        return ""
    if part.gaps and (is_excused or part.status not in (Status.FAILED, Status.UNDECIDED)):
        lacks = [text for gap, text in part.gaps if not _allowed(plan, part.part, gap)]
        return f"{part.status.value}; {_joined(lacks)}" if lacks else ""
    allowed = part.status is Status.NOT_APPLICABLE and _allowed(plan, part.part, Gap.NOT_APPLICABLE)
    return "" if allowed else f"{part.status.value}; {part.reason}"


def _allowed(plan: Plan, part: str, gap: Gap) -> bool:
    allowances: Mapping[Gap, Mapping[str, str]] = {
        Gap.NOT_APPLICABLE: plan.may_be_not_applicable,
        Gap.UNKNOWN: plan.may_be_unknown,
    }
    return gap is Gap.DEVIATION or plan.may_be_without(part, allowances.get(gap, {}))


def _gap(test: TestRecord) -> Gap:
    named = re.match(r"[A-Z][A-Za-z]*(?=:)", first_line(test.message))
    return next((gap for gap in Gap if named and gap.value == named[0]), Gap.NOT_APPLICABLE)


def _joined(texts: Sequence[str]) -> str:
    each = list(dict.fromkeys(texts))
    more = len(each) - _MOST_REASONS
    return "; ".join(each[:_MOST_REASONS]) + (f"; and {more} more" if more > 0 else "")


def _reason(message: str) -> str:
    return re.sub(r"^[A-Z][A-Za-z]*: ", "", first_line(message) or "no message").rstrip(".")
