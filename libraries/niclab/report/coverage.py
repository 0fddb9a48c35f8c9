"""Which requirements a run has decided, and whether that fulfils its plan."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from niclab.core.verdict import SheetSilent
from niclab.report.results import TestRecord
from niclab.report.verdicts import Verdict
from niclab.scope.plan import Plan
from niclab.scope.requirements import About, Requirements


class Status(Enum):
    """What a certificate says of a requirement."""

    VERIFIED = "verified"
    FAILED = "failed"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "not applicable"
    NOT_TESTED = "not tested"


@dataclass(frozen=True)
class Coverage:
    """One requirement on a certificate.

    ``tests`` are the names of the tests that decide it and were run; ``asked`` is how many of them were applicable.
    ``reason`` says why it is not verified, empty where it is. ``silent`` are the messages of tests that could not be
    asked because the sheet says nothing about it, also where others have verified it.
    """

    requirement: str
    title: str
    source: str
    status: Status
    reason: str
    tests: tuple[str, ...]
    asked: int
    silent: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return the entry of ``certificate.json``."""
        return {
            "id": self.requirement,
            "title": self.title,
            "source": self.source,
            "status": self.status.value,
            "reason": self.reason,
            "tests": list(self.tests),
            "asked": self.asked,
            "silent": list(self.silent),
        }


def cover(requirements: Requirements, plan: Plan, tests: Sequence[TestRecord]) -> list[Coverage]:
    """Decide every requirement by the tests that are declared to decide it.

    Args:
        requirements: All requirements of the lab.
        plan: Plan of the run; it gives the reason where a requirement was not tested.
        tests: Every test of the run.

    Returns:
        One entry for each requirement, in the order of the file.
    """
    return [_cover(requirements, plan, requirement, tests) for requirement in requirements.requirements]


def decides_for_the_lab(requirements: Requirements, test: TestRecord) -> bool:
    """Tell whether a test decides requirements of the lab alone, and so says nothing about the card.

    Args:
        requirements: All requirements of the lab.
        test: The test.
    """
    known = [requirements.requirements[each] for each in test.requirements if each in requirements.requirements]
    return bool(known) and all(each.about is About.LAB for each in known)


def unfulfilled(plan: Plan, coverage: Sequence[Coverage]) -> list[str]:
    """Name the requirements of the plan that keep it from being fulfilled.

    Args:
        plan: Plan of the run.
        coverage: The run's coverage, see :func:`cover`.

    Returns:
        One sentence for each requirement that is not verified, unless it is not applicable and the plan allows that;
        and for each about which the sheet is silent, wholly or in part.
    """
    return [
        f"Plan {plan.plan} requires {each.requirement} ({each.title}): {lack}."
        for each in coverage
        if each.requirement in plan.requires and (lack := _lack(plan, each))
    ]


def _lack(plan: Plan, each: Coverage) -> str:
    """What keeps a requirement of the plan from being fulfilled, if anything does."""
    if each.status is Status.VERIFIED:
        return f"verified in part; {'; '.join(each.silent)}" if each.silent else ""
    allowed = each.status is Status.NOT_APPLICABLE and each.requirement in plan.may_be_not_applicable
    return "" if allowed else f"{each.status.value}; {each.reason}"


def headline(plan: Plan, coverage: Sequence[Coverage]) -> str:
    """Return the scope in words: ``plan quick: 29 of 42 requirements decided``.

    It says so where the plan is not fulfilled, and where the sheet is silent about what the plan requires.

    Args:
        plan: Plan of the run.
        coverage: The run's coverage, see :func:`cover`.
    """
    decided = sum(each.status in (Status.VERIFIED, Status.FAILED) for each in coverage)
    silent = {message for each in coverage if each.requirement in plan.requires for message in each.silent}
    unknown = f"; the sheet is silent about {len(silent)} of what the plan requires" if silent else ""
    missed = "" if not unfulfilled(plan, coverage) else " not fulfilled"
    return f"plan {plan.plan}{missed}: {decided} of {len(coverage)} requirements decided{unknown}"


def _cover(requirements: Requirements, plan: Plan, requirement: str, tests: Sequence[TestRecord]) -> Coverage:
    deciding = [test for test in tests if requirement in test.requirements]
    status, reason = _judge(plan, deciding)
    return Coverage(
        requirement,
        requirements.requirements[requirement].title,
        requirements.source(requirement),
        status,
        reason,
        tuple(test.name for test in deciding),
        sum(test.verdict is not Verdict.NOT_APPLICABLE for test in deciding),
        tuple(dict.fromkeys(_first_line(test.message) for test in deciding if _is_silent(test))),
    )


def _judge(plan: Plan, deciding: Sequence[TestRecord]) -> tuple[Status, str]:
    for status, verdicts in (
        (Status.FAILED, (Verdict.CARD_FAILURE,)),
        (Status.UNDECIDED, (Verdict.BENCH_FAULT, Verdict.UNDECIDED)),
    ):
        for test in deciding:
            if test.verdict in verdicts:
                return status, f"{test.name}: {_first_line(test.message)}"
    if any(test.verdict is Verdict.PASS for test in deciding):
        return Status.VERIFIED, ""
    silent = [test for test in deciding if _is_silent(test)]
    if silent:
        return Status.NOT_TESTED, _first_line(silent[0].message)
    if deciding:
        return Status.NOT_APPLICABLE, _first_line(deciding[0].message)
    return Status.NOT_TESTED, f"no test of profile {plan.profile.value} decides it"


def _is_silent(test: TestRecord) -> bool:
    return test.message.startswith(f"{SheetSilent.__name__}:")


def _first_line(message: str) -> str:
    text = next((line.strip() for line in message.splitlines() if line.strip()), "no message")
    return re.sub(r"^[A-Z][A-Za-z]*: ", "", text).rstrip(".")
