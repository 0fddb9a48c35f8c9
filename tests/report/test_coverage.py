"""The verdict of a certificate on each requirement and its parts, and when a plan is fulfilled."""

from __future__ import annotations

from pathlib import Path

import pytest

from niclab.core.verdict import BenchFault
from niclab.report.allure.allure_results import TestRecord
from niclab.report.certificate.coverage import (
    Coverage,
    Scope,
    Status,
    cover,
    decides_for_the_lab,
    headline,
    unfulfilled,
)
from niclab.report.verdicts import Verdict
from niclab.scope.plan import PLANS, Plan, load_plan
from niclab.scope.requirements import Requirements, load_requirements

REQUIREMENTS = """
documents:
  EMX: {title: Emulex document, issued: "2013"}
  CARD: {title: Charter, issued: "2026"}
requirements:
  EMX-01: {title: The width, place: Hardware}
  EMX-02: {title: The driver, place: Notes}
  EMX-03: {title: The effect, place: Notes, of_sheet: true}
  EMX-04: {title: The offline tool, place: Notes, not_covered: the lab runs no tool of a vendor}
  CARD-02:
    title: Firmware check, update and rollback
    place: charter
    parts:
      check: {title: The firmware is one the sheet allows}
      update: {title: Another firmware runs, alternatives: true}
      rollback: {title: The first firmware runs again}
      tool: {title: The tool of the vendor, not_covered: the lab runs none}
"""
PLAN = """
plan: small
description: both
profile: quick
requires: [EMX-01, EMX-02, CARD-02/check, CARD-02/update]
not_asked: {going back: [CARD-02/rollback]}
may_be_not_applicable: {EMX-02: a card without a package}
"""


@pytest.fixture
def requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Requirements:
    file = tmp_path / "requirements.yaml"
    file.write_text(REQUIREMENTS)
    found = load_requirements(file)
    monkeypatch.setattr("niclab.scope.plan.load_requirements", lambda: found)
    return found


def made(tmp_path: Path, text: str = PLAN) -> Plan:
    (tmp_path / "small.yaml").write_text(text)
    return load_plan("small", tmp_path)


@pytest.fixture
def plan(requirements: Requirements, tmp_path: Path) -> Plan:
    assert requirements.requirements  # the ones that plans are read against
    return made(tmp_path)


def record(verdict: Verdict, message: str = "", *requirements: str, name: str = "A test") -> TestRecord:
    return TestRecord("uuid", name, verdict, message, requirements or ("EMX-01",), 0, 1.0)


ALL_GOOD = (
    record(Verdict.PASS),
    record(Verdict.PASS, "", "EMX-02"),
    record(Verdict.PASS, "", "CARD-02/check", "CARD-02/update"),
)
NOT_APPLICABLE = record(Verdict.NOT_APPLICABLE, "NotApplicable: no BMC.")


def first(requirements: Requirements, plan: Plan, *tests: TestRecord) -> Coverage:
    return cover(Scope(requirements, plan), tests)[0]


def firmware(requirements: Requirements, plan: Plan, *tests: TestRecord) -> Coverage:
    return cover(Scope(requirements, plan), tests)[-1]


def test_a_requirement_is_verified_when_every_test_passed(requirements: Requirements, plan: Plan) -> None:
    found = first(requirements, plan, record(Verdict.PASS), record(Verdict.PASS))
    assert (found.status, found.reason, found.parts[0].asked) == (Status.VERIFIED, "", 2)
    assert found.source == "Emulex document (2013), Hardware"


def test_a_part_of_which_one_test_was_not_asked_is_verified_in_part(requirements: Requirements, plan: Plan) -> None:
    found = first(requirements, plan, record(Verdict.PASS), NOT_APPLICABLE)
    assert (found.status, found.reason) == (Status.IN_PART, "1 of 2 tests; no BMC")


def test_one_of_its_alternatives_verifies_a_part(requirements: Requirements, plan: Plan) -> None:
    other = record(Verdict.NOT_APPLICABLE, "NotApplicable: runs after a reset", "CARD-02/update")
    found = firmware(requirements, plan, record(Verdict.PASS, "", "CARD-02/update"), other)
    assert found.parts[1].status is Status.VERIFIED


def test_a_reading_of_the_version_is_no_update(requirements: Requirements, plan: Plan) -> None:
    refused = record(Verdict.NOT_APPLICABLE, "NotApplicable: written by a tool", "CARD-02/update")
    found = firmware(requirements, plan, record(Verdict.PASS, "", "CARD-02/check"), refused)
    assert found.status is Status.IN_PART
    assert found.reason == (
        "verified: check; not applicable: update (written by a tool); "
        "not tested: rollback (profile quick), tool (not covered: the lab runs none)"
    )


def test_one_failure_fails_it_although_another_test_passed(requirements: Requirements, plan: Plan) -> None:
    bad = record(Verdict.CARD_FAILURE, "CardFailure: dut.p0: x4; expected x8", name="Suite.Width")
    found = first(requirements, plan, record(Verdict.PASS), record(Verdict.UNDECIDED, "Undecided: ?"), bad)
    assert (found.status, found.reason) == (Status.FAILED, "Width: dut.p0: x4; expected x8")
    part = record(Verdict.CARD_FAILURE, "CardFailure: old", "CARD-02/update", name="Update")
    found = firmware(requirements, plan, record(Verdict.PASS, "", "CARD-02/check"), part)
    assert found.status is Status.FAILED and found.reason.startswith("failed: update (Update: old); verified: check; ")


@pytest.mark.parametrize("verdict", [Verdict.BENCH_FAULT, Verdict.UNDECIDED])
def test_trouble_of_the_lab_leaves_it_undecided(requirements: Requirements, plan: Plan, verdict: Verdict) -> None:
    assert first(requirements, plan, record(Verdict.PASS), record(verdict, "x")).status is Status.UNDECIDED


def test_not_applicable_gives_the_reason(requirements: Requirements, plan: Plan) -> None:
    found = first(requirements, plan, NOT_APPLICABLE)
    assert (found.status, found.reason) == (Status.NOT_APPLICABLE, "no BMC")


@pytest.mark.parametrize("kind", ["SheetSilent", "SheetUnknown"])
@pytest.mark.parametrize("where", ["", "Skipped in parent suite setup:\n"])
def test_a_sheet_without_an_answer_is_not_tested(requirements: Requirements, plan: Plan, where: str, kind: str) -> None:
    silent = record(Verdict.NOT_APPLICABLE, f"{where}{kind}: sheet a says nothing about rings")
    found = first(requirements, plan, silent)
    assert (found.status, found.reason) == (Status.NOT_TESTED, "sheet a says nothing about rings")
    found = first(requirements, plan, record(Verdict.PASS), silent)
    assert (found.status, found.reason) == (Status.IN_PART, "1 of 2 tests; sheet a says nothing about rings")


def test_what_a_run_did_not_ask_says_why(requirements: Requirements, plan: Plan, tmp_path: Path) -> None:
    found = cover(Scope(requirements, plan), [])
    assert [each.requirement for each in found] == ["EMX-01", "EMX-02", "EMX-03", "EMX-04", "CARD-02"]
    assert {each.status for each in found} == {Status.NOT_TESTED}
    assert [each.reason for each in found[:4]] == [
        *("profile quick",) * 3,
        "not covered: the lab runs no tool of a vendor",
    ]
    full = made(tmp_path, PLAN.replace("profile: quick", "profile: full"))
    effect = cover(Scope(requirements, full), [])[2]
    assert (effect.status, effect.reason) == (Status.NOT_APPLICABLE, "the sheet predicts no effect")


def test_a_partial_run_verifies_nothing_wholly(requirements: Requirements, plan: Plan) -> None:
    found = cover(Scope(requirements, plan, partial=True), ALL_GOOD)
    assert (found[0].status, found[0].reason) == (Status.IN_PART, "only some suites were run")
    assert found[2].reason == "only some suites were run"


def test_the_headline_says_what_was_left_out(requirements: Requirements, plan: Plan) -> None:
    assert headline(requirements, plan, cover(Scope(requirements, plan), ALL_GOOD)) == (
        "plan small: 2 of 5 requirements verified, 1 in part; not asked: going back, EMX-03; "
        "no test exists for EMX-04 and for 1 part of others"
    )
    bad = [*ALL_GOOD, record(Verdict.CARD_FAILURE, "CardFailure: x4", name="Width")]
    said = headline(requirements, plan, cover(Scope(requirements, plan), bad))
    assert said.startswith("plan small not fulfilled: 1 of 5 requirements verified, 1 in part, 1 failed; not asked: ")


def test_a_plan_is_fulfilled_by_the_parts_it_requires(requirements: Requirements, plan: Plan) -> None:
    def lacks(*tests: TestRecord) -> list[str]:
        return unfulfilled(requirements, plan, cover(Scope(requirements, plan), tests))

    width, driver, check = ALL_GOOD
    assert lacks(width, driver, check) == []
    assert lacks(width, record(Verdict.NOT_APPLICABLE, "NotApplicable: no package", "EMX-02"), check) == []
    assert lacks(width, driver, record(Verdict.NOT_APPLICABLE, "NotApplicable: no package", "EMX-02"), check) == []
    assert lacks(NOT_APPLICABLE, driver, check) == ["Plan small requires EMX-01 (The width): not applicable; no BMC."]
    assert lacks(width, NOT_APPLICABLE, driver, check) == [
        "Plan small requires EMX-01 (The width): verified in part; no BMC."
    ]
    assert lacks(width, driver, record(Verdict.PASS, "", "CARD-02/check")) == [
        "Plan small requires CARD-02/update (Another firmware runs): not tested; profile quick."
    ]
    assert len(lacks()) == 4


def test_an_allowance_covers_neither_silence_nor_unknown(requirements: Requirements, tmp_path: Path) -> None:
    def lacks(kind: str, plan: Plan) -> list[str]:
        lacking = record(Verdict.NOT_APPLICABLE, f"{kind}: sheet a does not know the package", "EMX-02")
        return unfulfilled(requirements, plan, cover(Scope(requirements, plan), [*ALL_GOOD, lacking]))

    plan = made(tmp_path)
    said = "Plan small requires EMX-02 (The driver): verified in part; sheet a does not know the package."
    assert lacks("SheetSilent", plan) == lacks("SheetUnknown", plan) == [said]
    assert lacks("Deviation", plan) == []
    allowing = made(tmp_path, f"{PLAN}may_be_unknown: {{EMX-02: the vendor keeps it secret}}\n")
    assert lacks("SheetUnknown", allowing) == [] and lacks("SheetSilent", allowing) == [said]


def test_a_fact_that_a_test_passed_over_leaves_a_gap(requirements: Requirements, tmp_path: Path) -> None:
    unknown = {"EMX-01": ["sheet a does not know rings.rx.default: queues"], "EMX-03": ["nobody asked"]}
    plan = made(tmp_path)
    found = cover(Scope(requirements, plan, unknown=unknown), ALL_GOOD)
    assert (found[0].status, found[0].reason) == (Status.IN_PART, "sheet a does not know rings.rx.default: queues")
    assert found[2].reason == "profile quick" and len(unfulfilled(requirements, plan, found)) == 1
    allowing = made(tmp_path, f"{PLAN}may_be_unknown: {{EMX-01: it depends on the server}}\n")
    assert unfulfilled(requirements, allowing, found) == []


def test_a_waived_failure_is_no_lack(requirements: Requirements, plan: Plan) -> None:
    bad = record(Verdict.CARD_FAILURE, "CardFailure: x4", name="Width")
    other = record(Verdict.CARD_FAILURE, "CardFailure: x2", name="Other")
    found = cover(Scope(requirements, plan), [*ALL_GOOD, bad])
    assert unfulfilled(requirements, plan, found, {"Width"}) == []
    found = cover(Scope(requirements, plan), [*ALL_GOOD, bad, other])
    assert len(unfulfilled(requirements, plan, found, {"Width"})) == 1


def test_a_waiver_hides_no_answer_that_is_missing(requirements: Requirements, plan: Plan) -> None:
    def lacks(kind: str, part: str) -> list[str]:
        bad = record(Verdict.CARD_FAILURE, "CardFailure: x4", part, name="Bad")
        lacking = record(Verdict.NOT_APPLICABLE, f"{kind}: sheet a says nothing about it", part)
        return unfulfilled(requirements, plan, cover(Scope(requirements, plan), [*ALL_GOOD, bad, lacking]), {"Bad"})

    said = "Plan small requires EMX-01 (The width): failed; sheet a says nothing about it."
    assert lacks("SheetSilent", "EMX-01") == lacks("SheetUnknown", "EMX-01") == lacks("NotApplicable", "EMX-01")
    assert lacks("SheetSilent", "EMX-01") == [said] and lacks("Deviation", "EMX-01") == []
    assert lacks("NotApplicable", "EMX-02") == [] and len(lacks("SheetSilent", "EMX-02")) == 1
    assert lacks("NotApplicable", "CARD-02/update") == [] and len(lacks("SheetSilent", "CARD-02/update")) == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("plan: small", "plan: big", "big is not the name of the file"),
        ("[EMX-01, EMX-02", "[EMX-01, EMX-99", "EMX-99"),
        ("CARD-02/check,", "CARD-02/chek,", "CARD-02/chek"),
        ("[EMX-01, EMX-02", "[EMX-01, EMX-01", "EMX-01 again"),
        ("[EMX-01, EMX-02", "[EMX-01, CARD-02", "CARD-02/check again"),
        ("back: [CARD-02/rollback]", "back: [CARD-02/check]", "CARD-02/check again"),
        ("{EMX-02: a", "{EMX-03: a", "a requirement of requires"),
        ("profile: quick", "profile: fast", "quick or full"),
    ],
)
@pytest.mark.usefixtures("requirements")
def test_a_mistake_in_a_plan_is_one_clear_error(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(BenchFault, match=said):
        made(tmp_path, PLAN.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("EMX-01: {title", "ABC-01: {title", "there is no document ABC"),
        ("place: charter", "place: charter\n    of_sheet: true", "the requirement has parts"),
        ("not_covered: the lab runs none}", "not_covered: none, of_sheet: true}", "not_covered alone"),
    ],
)
def test_a_mistake_in_the_requirements_is_one_clear_error(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = tmp_path / "requirements.yaml"
    file.write_text(REQUIREMENTS.replace(old, new))
    with pytest.raises(BenchFault, match=said):
        load_requirements(file)


@pytest.mark.usefixtures("plan")
def test_an_unknown_plan_names_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "requirements.yaml").unlink()
    with pytest.raises(BenchFault, match=r"other\.yaml: no such plan; expected one of small"):
        load_plan("other", tmp_path)


def test_the_lab_s_own_plans_account_for_every_part() -> None:
    known = load_requirements()
    assert len(known.requirements) == 54
    can_be_tested = {name for name, part in known.every_part().items() if not part.not_covered}
    plans = {file.stem: load_plan(file.stem) for file in PLANS.glob("*.yaml")}
    assert plans.keys() >= {"quick", "qualification"}
    assert list(plans["qualification"].requires) == list(known.requirements)
    left_out = {part for names in plans["quick"].not_asked.values() for each in names for part in known.chosen(each)}
    assert set(plans["quick"].parts(known)) | left_out == can_be_tested


def test_the_tests_of_the_lab_itself_are_known(requirements: Requirements) -> None:
    all_of_them = load_requirements()
    of_lab = record(Verdict.PASS, "", "CARD-07/bmc")
    mixed = record(Verdict.PASS, "", "CARD-07/bmc", "CARD-02/check")
    assert decides_for_the_lab(all_of_them, of_lab) and not decides_for_the_lab(all_of_them, mixed)
    assert not decides_for_the_lab(requirements, of_lab)
