"""Tags become labels, links and parameters; links in log messages lead to evidence."""

from __future__ import annotations

import pytest

from niclab.core.verdict import BenchFault
from niclab.report.allure.tags import meaning_of
from niclab.report.evidence.evidence_links import EvidenceLink, evidence_links


@pytest.mark.parametrize(
    ("tag", "labels"),
    [
        ("allure.label.card:x710", [("card", "x710")]),
        ("allure.feature:PCIe: width", [("feature", "PCIe: width")]),
        ("allure.parentsuite:Cards", [("parentSuite", "Cards")]),
        ("allure.id:7", [("as_id", "7")]),
        ("allure.severity:blocker", [("severity", "blocker")]),
        ("Critical", [("severity", "critical")]),
        ("needs:switch", [("tag", "needs:switch")]),
        ("req:CARD-04", [("tag", "req:CARD-04"), ("requirement", "CARD-04")]),
        ("robot:continue-on-failure", []),
    ],
)
def test_tag_becomes_labels(tag: str, labels: list[tuple[str, str]]) -> None:
    meaning = meaning_of([tag])
    assert [(label["name"], label["value"]) for label in meaning.labels] == labels
    assert not meaning.problems


def test_tags_become_links_and_parameters() -> None:
    meaning = meaning_of(
        ["allure.tms.TC-1:https://a.example/1", "allure.issue:https://b.example", "allure.param.MTU:9000"]
    )
    assert meaning.links == [
        {"type": "tms", "name": "TC-1", "url": "https://a.example/1"},
        {"type": "issue", "name": "https://b.example", "url": "https://b.example"},
    ]
    assert meaning.parameters == [{"name": "MTU", "value": "9000"}]
    assert not meaning.labels


@pytest.mark.parametrize("tag", ["allure.severity:fatal", "allure.severty:blocker", "allure.feature:", "req:", "req: "])
def test_tag_that_means_nothing_is_a_problem(tag: str) -> None:
    assert len(meaning_of([tag]).problems) == 1


@pytest.mark.parametrize("mime", ["text/plain", "image/svg+xml"])
def test_evidence_link_survives_its_markup(mime: str) -> None:
    link = EvidenceLink('speed of <eth0> & "more"', mime, "evidence/a b#1.txt")
    assert evidence_links(f"see {link.markup()} and <a href='x'>another</a>") == [link]


def test_link_without_a_name_has_that_of_its_file() -> None:
    markup = '<a href="evidence/x.txt" type="text/plain" class="evidence"><br></a>'
    assert evidence_links(markup) == [EvidenceLink("x.txt", "text/plain", "evidence/x.txt")]


@pytest.mark.parametrize(
    ("markup", "wanted"),
    [
        ('<a class="evidence" href="evidence/x">x</a>', "both type and href"),
        ('<a class="evidence" type="text/plain">x</a>', "both type and href"),
        ('<a class="evidence" type="text/plain" href="evidence/x">x', "is not closed"),
    ],
)
def test_broken_evidence_link_is_an_error(markup: str, wanted: str) -> None:
    with pytest.raises(BenchFault, match=wanted):
        evidence_links(markup)


def test_a_requirement_links_to_its_row_of_the_certificate() -> None:
    (link,) = meaning_of(["req:DEL-07"]).links
    assert link["url"] == "../certificate.html#DEL-07" and link["type"] == "tms"
    assert link["name"] == (
        "DEL-07: The largest receive and transmit rings fit in memory (Red Hat Enterprise Linux 6.3 NIC Optimization "
        "and Best Practices with EqualLogic SANs (January 2014, revised July 2014), section 2.2.3)"
    )
    (link,) = meaning_of(["req:CARD-02/update"]).links
    assert link["url"] == "../certificate.html#CARD-02"
    assert link["name"] == "CARD-02/update: Another firmware is written and runs (Charter of this lab (2026), charter)"
    assert meaning_of(["req:XYZ-99", "touches:DEL-07"]).links == []
