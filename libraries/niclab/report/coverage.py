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
from niclab.scope.requirements import Requirements


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
    ``reason`` says why it is not verified, empty where it is.
    """

    requirement: str
    title: str
    source: str
    status: Status
    reason: str
    tests: tuple[str, ...]
    asked: int

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


def unfulfilled(plan: Plan, coverage: Sequence[Coverage]) -> list[str]:
    """Name the requirements of the plan that keep it from being fulfilled.

    Args:
        plan: Plan of the run.
        coverage: The run's coverage, see :func:`cover`.

    Returns:
        One sentence for each requirement that is not verified, unless it is not applicable and the plan allows that.
    """
    allowed = plan.may_be_not_applicable
    return [
        f"Plan {plan.plan} requires {each.requirement} ({each.title}): {each.status.value}; {each.reason}."
        for each in coverage
        if each.requirement in plan.requires
        and each.status is not Status.VERIFIED
        and not (each.status is Status.NOT_APPLICABLE and each.requirement in allowed)
    ]


def headline(plan: Plan, coverage: Sequence[Coverage]) -> str:
    """Return the scope in words: ``plan quick: 29 of 42 requirements decided``.

    Args:
        plan: Plan of the run.
        coverage: The run's coverage, see :func:`cover`.
    """
    decided = sum(each.status in (Status.VERIFIED, Status.FAILED) for each in coverage)
    return f"plan {plan.plan}: {decided} of {len(coverage)} requirements decided"


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
    silent = [test for test in deciding if test.message.startswith(f"{SheetSilent.__name__}:")]
    if silent:
        return Status.NOT_TESTED, _first_line(silent[0].message)
    if deciding:
        return Status.NOT_APPLICABLE, _first_line(deciding[0].message)
    return Status.NOT_TESTED, f"no test of profile {plan.profile.value} decides it"


def _first_line(message: str) -> str:
    text = next((line.strip() for line in message.splitlines() if line.strip()), "no message")
    return re.sub(r"^[A-Z][A-Za-z]*: ", "", text).rstrip(".")
