"""What a certificate says of each requirement, and when a plan is fulfilled."""

from __future__ import annotations

from pathlib import Path

import pytest

from niclab.core.verdict import BenchFault
from niclab.report.coverage import Coverage, Status, cover, decides_for_the_lab, headline, unfulfilled
from niclab.report.results import TestRecord
from niclab.report.verdicts import Verdict
from niclab.scope.plan import PLANS, Plan, load_plan
from niclab.scope.requirements import Requirements, load_requirements

REQUIREMENTS = """
documents:
  EMX: {title: Emulex document, issued: "2013"}
requirements:
  EMX-01: {title: The width, place: Hardware}
  EMX-02: {title: The driver, place: Notes}
"""
PLAN = """
plan: small
description: both
profile: quick
requires: [EMX-01, EMX-02]
may_be_not_applicable: {EMX-02: a card without a package}
"""


@pytest.fixture
def requirements(tmp_path: Path) -> Requirements:
    file = tmp_path / "requirements.yaml"
    file.write_text(REQUIREMENTS)
    return load_requirements(file)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "small.yaml").write_text(PLAN)
    return load_plan("small", tmp_path)


def record(verdict: Verdict, message: str = "", *requirements: str, name: str = "A test") -> TestRecord:
    return TestRecord("uuid", name, verdict, message, requirements or ("EMX-01",), 0, 1.0)


def first(requirements: Requirements, plan: Plan, *tests: TestRecord) -> Coverage:
    return cover(requirements, plan, tests)[0]


def test_a_requirement_whose_test_passed_is_verified(requirements: Requirements, plan: Plan) -> None:
    found = first(requirements, plan, record(Verdict.PASS), record(Verdict.NOT_APPLICABLE, "NotApplicable: one queue"))
    assert (found.status, found.reason, found.asked, len(found.tests)) == (Status.VERIFIED, "", 1, 2)
    assert found.source == "Emulex document (2013), Hardware"


def test_one_failure_fails_it_although_another_test_passed(requirements: Requirements, plan: Plan) -> None:
    bad = record(Verdict.CARD_FAILURE, "CardFailure: dut.p0: x4; expected x8", name="Width")
    found = first(requirements, plan, record(Verdict.PASS), record(Verdict.UNDECIDED, "Undecided: ?"), bad)
    assert (found.status, found.reason) == (Status.FAILED, "Width: dut.p0: x4; expected x8")


@pytest.mark.parametrize("verdict", [Verdict.BENCH_FAULT, Verdict.UNDECIDED])
def test_trouble_of_the_lab_leaves_it_undecided(requirements: Requirements, plan: Plan, verdict: Verdict) -> None:
    assert first(requirements, plan, record(Verdict.PASS), record(verdict, "x")).status is Status.UNDECIDED


def test_not_applicable_gives_the_reason(requirements: Requirements, plan: Plan) -> None:
    found = first(requirements, plan, record(Verdict.NOT_APPLICABLE, "NotApplicable: no BMC."))
    assert (found.status, found.reason) == (Status.NOT_APPLICABLE, "no BMC")


def test_a_silent_sheet_is_not_tested(requirements: Requirements, plan: Plan) -> None:
    message = "SheetSilent: sheet a says nothing about rings"
    found = first(requirements, plan, record(Verdict.NOT_APPLICABLE, message))
    assert (found.status, found.reason) == (Status.NOT_TESTED, "sheet a says nothing about rings")


def test_every_requirement_is_listed_also_without_a_test(requirements: Requirements, plan: Plan) -> None:
    found = cover(requirements, plan, [])
    assert [each.requirement for each in found] == ["EMX-01", "EMX-02"]
    assert {each.status for each in found} == {Status.NOT_TESTED}
    assert found[0].reason == "no test of profile quick decides it"
    assert headline(plan, found) == "plan small not fulfilled: 0 of 2 requirements decided"


def test_a_plan_is_fulfilled_by_what_it_requires(requirements: Requirements, plan: Plan) -> None:
    lacking = record(Verdict.NOT_APPLICABLE, "NotApplicable: no package", "EMX-02")
    assert unfulfilled(plan, cover(requirements, plan, [record(Verdict.PASS), lacking])) == []
    silent = record(Verdict.NOT_APPLICABLE, "SheetSilent: sheet a says nothing about packages", "EMX-02")
    assert unfulfilled(plan, cover(requirements, plan, [record(Verdict.PASS), silent])) == [
        "Plan small requires EMX-02 (The driver): not tested; sheet a says nothing about packages."
    ]
    assert len(unfulfilled(plan, cover(requirements, plan, []))) == 2
    only_asked = record(Verdict.NOT_APPLICABLE, "NotApplicable: conventional PCI")
    assert unfulfilled(plan, cover(requirements, plan, [only_asked, lacking])) == [
        "Plan small requires EMX-01 (The width): not applicable; conventional PCI."
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("plan: small", "plan: big", "big is not the name of the file"),
        ("[EMX-01, EMX-02]", "[EMX-01, EMX-99]", "EMX-99"),
        ("[EMX-01, EMX-02]", "[EMX-01, EMX-01]", "EMX-01 again"),
        ("{EMX-02: a", "{EMX-03: a", "a requirement of requires"),
        ("profile: quick", "profile: fast", "quick or full"),
    ],
)
def test_a_mistake_in_a_plan_is_one_clear_error(tmp_path: Path, old: str, new: str, said: str) -> None:
    (tmp_path / "small.yaml").write_text(PLAN.replace(old, new))
    with pytest.raises(BenchFault, match=said):
        load_plan("small", tmp_path)


def test_an_unknown_plan_names_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    with pytest.raises(BenchFault, match=r"other\.yaml: no such plan; expected one of small"):
        load_plan("other", tmp_path)


def test_the_lab_s_own_files_are_whole() -> None:
    known = load_requirements()
    assert len(known.requirements) == 46
    plans = [load_plan(file.stem) for file in PLANS.glob("*.yaml")]
    assert {plan.plan for plan in plans} >= {"quick", "qualification"}


def test_a_sheet_that_is_silent_about_one_check_of_many_fails_the_plan(requirements: Requirements, plan: Plan) -> None:
    silent = record(Verdict.NOT_APPLICABLE, "SheetSilent: sheet x says nothing about rings")
    decided = record(Verdict.PASS, "", "EMX-02")
    found = cover(requirements, plan, [record(Verdict.PASS), silent, decided])
    assert [each.status for each in found] == [Status.VERIFIED, Status.VERIFIED]
    assert unfulfilled(plan, found) == [
        "Plan small requires EMX-01 (The width): verified in part; sheet x says nothing about rings."
    ]
    assert headline(plan, found) == (
        "plan small not fulfilled: 2 of 2 requirements decided; the sheet is silent about 1 of what the plan requires"
    )


def test_the_tests_of_the_lab_itself_are_known(requirements: Requirements) -> None:
    all_of_them = load_requirements()
    of_lab = record(Verdict.PASS, "", "CARD-07")
    mixed = record(Verdict.PASS, "", "CARD-07", "CARD-02")
    assert decides_for_the_lab(all_of_them, of_lab) and not decides_for_the_lab(all_of_them, mixed)
    assert not decides_for_the_lab(requirements, of_lab)
