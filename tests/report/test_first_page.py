"""The first page of a certificate is the whole answer: it fits on one page, and nothing untested is hidden by it."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from robot_runs import RobotRun

from niclab.core.decision import Decision
from niclab.core.verdict import SheetSilent
from niclab.report import LOOK
from niclab.report.allure.allure_results import TestRecord
from niclab.report.certificate.certificate import certify
from niclab.report.certificate.coverage import Scope, cover
from niclab.report.pages.answer import MOST_FIGURES, answer_of, first_reasons, key_figures
from niclab.report.pages.blocks import Facts, Part, Table, Words
from niclab.report.pages.condensed import condensed
from niclab.report.pages.content import content_of
from niclab.report.pages.not_tested import Kind, untested
from niclab.report.pages.page import certificate_page
from niclab.report.pages.paper import TEMPLATE, inputs_of
from niclab.report.verdicts import Verdict
from niclab.scope.plan import load_plan
from niclab.scope.requirements import load_requirements


@pytest.fixture
def certificate(good_run: RobotRun, tmp_path: Path) -> dict[str, Any]:
    """The record of a run, covered by what decides a part of the plan quick."""
    folder = Path(shutil.copytree(good_run.folder, tmp_path / "run"))
    certify(folder, 0)
    content: dict[str, Any] = json.loads((folder / "certificate.json").read_text())
    return content


def record(verdict: Verdict, message: str, *requirements: str) -> TestRecord:
    return TestRecord("uuid", "Q.A test", verdict, message, requirements, 0, 1.0)


def covered(*tests: TestRecord, partial: bool = False) -> list[dict[str, object]]:
    scope = Scope(load_requirements(), load_plan("quick"), partial)
    return [each.as_json() for each in cover(scope, tests)]


def figure(**changes: Any) -> dict[str, Any]:
    made = {
        **{
            "kind": "throughput",
            "subject": "dut.p0 to peer.p0",
            "found": "24 Mbit/s",
            "expected": "at least 20 Mbit/s",
        },
        **{"source": "sheet x", "outcome": "met", "unit": "Mbit/s", "value": 24.0, "low": 23.0, "high": 25.0},
        **{"at_least": 20.0, "at_most": None, "runs": 8, "ended": 0.0, "test": "A Test"},
    }
    return {**made, **changes}


def table_of(part: Part) -> list[list[str]]:
    (table,) = (each for each in part.blocks if isinstance(each, Table))
    return [[cell.text for cell in row.cells] for row in table.rows]


def pages_of_the_answer(certificate: dict[str, Any]) -> int:
    typst = pytest.importorskip("typst")
    found = typst.query(
        LOOK / TEMPLATE,
        "<answer-ends>",
        field="value",
        one=True,
        root=LOOK,
        ignore_system_fonts=True,
        sys_inputs=inputs_of(content_of(certificate)),
    )
    return int(json.loads(found))


def test_the_answer_of_a_sound_run_is_one_page(certificate: dict[str, Any]) -> None:
    assert pages_of_the_answer(certificate) == 1


def test_the_answer_of_the_worst_run_is_one_page(certificate: dict[str, Any]) -> None:
    long = "cable (dut.p0 up, no carrier, its kernel says something long) " * 12
    certificate["requirements"] = covered()
    certificate["reasons"] = [f"{number}: {long}" for number in range(60)]
    certificate["verdict"] = "NOT CERTIFIED"
    certificate["facts"] |= dict.fromkeys(("serial_numbers", "driver", "firmware", "kernel", "system"), long)
    certificate["remarks"] = [{"about": "Warnings", "text": long, "details": [long]} for _ in range(30)]
    certificate["figures"] = [
        figure(subject=f"{number} {long}", found=long, expected=long, outcome=outcome)
        for number in range(30)
        for outcome in Decision
    ]
    assert pages_of_the_answer(certificate) == 1


def test_every_kind_of_untested_part_is_counted_on_the_first_page(certificate: dict[str, Any]) -> None:
    silent = SheetSilent.__name__
    certificate["requirements"] = covered(
        record(Verdict.PASS, "", "EMX-01"),
        record(Verdict.NOT_APPLICABLE, f"{silent}: the sheet says nothing", "EMX-05"),
        record(Verdict.NOT_APPLICABLE, "NotApplicable: no BMC", "CARD-07/bmc"),
        record(Verdict.PASS, "", "CARD-03/idle"),
        record(Verdict.NOT_APPLICABLE, "NotApplicable: not on this port", "CARD-03/idle"),
    )
    last = answer_of(certificate)[-1]
    rows = {row[0]: row for row in table_of(last)}
    parts = [part for each in certificate["requirements"] for part in each["parts"]]
    not_covered = [name for name, part in load_requirements().every_part().items() if part.not_covered]
    counts = {name: int(row[1]) for name, row in rows.items()}
    assert counts == {
        Kind.NO_TEST.value: len(not_covered),
        Kind.LEFT_OUT.value: len(parts) - len(not_covered) - 4,
        Kind.NO_ANSWER.value: 1,
        Kind.NOT_APPLICABLE.value: 1,
        Kind.IN_PART.value: 1,
    }
    assert last.title == f"What was not tested: {len(parts) - 2} of {len(parts)} parts, and 1 part tested in part"
    assert rows[Kind.NO_ANSWER.value][2] == "EMX-05" and rows[Kind.NOT_APPLICABLE.value][2] == "CARD-07"
    assert rows[Kind.IN_PART.value][2] == "CARD-03"


def test_a_run_of_some_suites_leaves_out_the_rest(certificate: dict[str, Any]) -> None:
    certificate["requirements"] = covered(record(Verdict.PASS, "", "EMX-01"), partial=True)
    kinds = {each.kind for each in untested(certificate)}
    assert kinds == {Kind.LEFT_OUT, Kind.IN_PART}


def test_every_untested_part_is_on_the_page_with_its_reason(certificate: dict[str, Any]) -> None:
    certificate["requirements"] = covered(record(Verdict.NOT_APPLICABLE, "NotApplicable: no BMC", "CARD-07/bmc"))
    page = html.unescape(certificate_page(certificate)).split("<h2>What was not tested, and why</h2>")[1]
    section = re.sub(r"<br>|\s+", " ", page.split("<h2>")[0])
    lost = [each for each in untested(certificate) if each.title not in section or each.reason not in section]
    assert lost == [] and section.count("CARD-07") >= 2


def test_reasons_that_the_first_page_shortens_follow_in_full(certificate: dict[str, Any]) -> None:
    certificate["reasons"] = ["x" * 300, *(f"reason {number}" for number in range(9))]
    content = content_of(certificate)
    assert content.reasons[-1] == "and 5 more: see Every reason" and content.reasons[0].endswith("…")
    assert content.parts[0].title == "Every reason"
    assert [row[1] for row in table_of(content.parts[0])] == certificate["reasons"]


def test_reasons_that_fit_are_said_once(certificate: dict[str, Any]) -> None:
    certificate["reasons"] = ["one", "two"]
    content = content_of(certificate)
    assert content.reasons == ("one", "two") == first_reasons(["one", "two"])
    assert "Every reason" not in [each.title for each in content.parts]


def test_key_figures_are_what_is_not_met_then_the_nearest_of_each_kind() -> None:
    near = figure(subject="near", low=20.5)
    below = figure(subject="below", outcome="missed", low=10.0, high=15.0)
    far_below = figure(subject="far below", outcome="missed", low=5.0, high=9.0)
    slow = figure(kind="failover", subject="slow", unit="ms", low=10.0, high=990.0, at_least=None, at_most=1000.0)
    fast = {**slow, "subject": "fast", "high": 20.0}
    width = figure(kind="pcie", subject="width", unit="", value=None, low=None, high=None, at_least=None)
    unclear = figure(kind="traffic", subject="unclear", outcome="undecided", unit="percent")
    found = key_figures(condensed([figure(), near, fast, slow, width, unclear, below, far_below]))
    assert [each["subject"] for each in found] == ["far below", "unclear", "near", "slow", "width"]
    assert len(found) == MOST_FIGURES


def outages(outcome: Decision, *intervals: tuple[float, float]) -> str:
    limits = {"at_least": None, "at_most": 1100.0, "value": None, "unit": "ms", "outcome": outcome}
    (row,) = condensed(figure(kind="failover", low=low, high=high, **limits) for low, high in intervals)
    return str(row["found"])


def test_a_missed_limit_is_shown_with_its_proof() -> None:
    found = outages(Decision.MISSED, (2300.0, 2350.0), (1101.0, 60000.0))
    assert found == "2 times: at least 1101 ms, worst at least 2300 ms"
    found = outages(Decision.MISSED, (1100.2, 1100.4), (1100.04, 1100.3))
    assert found == "2 times: at least 1100.04 ms, worst at least 1100.2 ms"


def test_a_limit_that_is_met_is_shown_as_met_by_a_measured_value() -> None:
    found = outages(Decision.MET, (10.0, 20.0), (900.0, 1099.7))
    assert found == "2 times: median at most 1099.7 ms, worst at most 1099.7 ms"
    assert outages(Decision.MET, (1.0, 1100.0), (1.0, 3.2)).endswith("worst at most 1100 ms")


def test_the_first_page_says_how_many_figures_are_not_met(certificate: dict[str, Any]) -> None:
    certificate["figures"] = [figure(), figure(subject="b", outcome="missed"), figure(subject="c", outcome="undecided")]
    titles = [each.title for each in answer_of(certificate)]
    assert "Key figures: 3 of 3 (1 met, 1 missed, 1 undecided)" in titles


def test_what_was_noted_is_named_on_the_first_page(certificate: dict[str, Any]) -> None:
    certificate["remarks"] = [{"about": "Ports", "text": "The bench file names 1 of the 2 ports.", "details": []}]
    certificate["equipment"] = {"deviations": ["a", "b"]}
    certificate["identity"] = {"unknown": ["c"], "known_issues": ["d"]}
    (words,) = (each for each in answer_of(certificate)[0].blocks if isinstance(each, Words))
    assert "Ports: The bench file names 1 of the 2 ports. Deviations" in words.text
    assert "its sheet: 2. " in words.text and "does not know: 1. " in words.text and "card: 1." in words.text


@pytest.mark.parametrize(
    ("scales", "said"),
    [
        ((40.0, 40.0, 40.0), "line rate / 40 on paths a, b, c: 1000 Mbit/s is 25 Mbit/s"),
        (
            (1, 1600.0, 40.0),
            "line rate / 1600 on path b: 1000 Mbit/s is 0.625 Mbit/s; "
            "line rate / 40 on path c: 1000 Mbit/s is 25 Mbit/s",
        ),
        ((1, 1.0, 1), None),
    ],
)
def test_scaled_rates_are_named_on_the_first_page_and_in_full(
    certificate: dict[str, Any], scales: tuple[float, ...], said: str | None
) -> None:
    paths = [
        {"name": name, "ends": [f"dut.p{place}", f"peer.p{place}"], "through": "direct", "rate_scale": scale}
        for place, (name, scale) in enumerate(zip("abc", scales, strict=True))
    ]
    ports = {role: [{"name": f"{role}.p{place}"} for place in range(3)] for role in ("dut", "peer")}
    blank = dict.fromkeys(("pci", "slot", "mac", "pcie_link"), "")
    servers = {role: {"os": "linux", "ports": [each | blank for each in ports[role]]} for role in ports}
    certificate["equipment"] = {"servers": servers, "switch": None, "paths": paths}
    content = content_of(certificate)
    (whole,) = (each for each in content.parts if each.title == "Card, software and bench")
    for part in (content.answer[0], whole):
        facts = dict(next(each for each in part.blocks if isinstance(each, Facts)).rows)
        assert facts.get("Rates") == said
    assert html.unescape(certificate_page(certificate)).count("line rate / 40") == (2 if said else 0)
    assert pages_of_the_answer(certificate) == 1


def test_tests_that_did_not_pass_come_before_figures_and_the_others(certificate: dict[str, Any]) -> None:
    certificate["tests"][0]["verdict"] = Verdict.CARD_FAILURE.value
    titles = [each.title for each in content_of(certificate).parts]
    order = ["Tests that did not pass", "Measured against limits", "What was not tested, and why", "Other tests"]
    assert [each for each in titles if each in order] == order
