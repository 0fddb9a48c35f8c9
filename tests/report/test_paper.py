"""The certificate as content, PDF and record: what is said, and that one who reads it alone understands it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from robot_runs import RobotRun

from niclab.core import figures
from niclab.core.decision import Decision
from niclab.core.exit_status import ExitStatus
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.verdict import BenchFault
from niclab.report.allure.allure_results import read_results
from niclab.report.certificate.certificate import certify, cover_report, verify
from niclab.report.certificate.certificate_record import CertificateRecord
from niclab.report.certificate.measured import figures_of
from niclab.report.evidence.evidence import seal
from niclab.report.evidence.sums import write_sums
from niclab.report.pages import chart_parts, drawings
from niclab.report.pages.blocks import Table
from niclab.report.pages.content import content_of
from niclab.run.run_notes import RunNotes

MISSED = NotedFigure(
    kind=FigureKind.FAILOVER,
    subject="active link lost by cable, dut to peer",
    found="1200.0 to 1300.0 ms",
    expected="at most 1100 ms",
    source="sheet intel-82574l allows 1100 ms",
    outcome=Decision.MISSED,
    unit="ms",
    low=1200.0,
    high=1300.0,
    at_most=1100.0,
)
MET = NotedFigure(FigureKind.PCIE, "PCI Express of dut.p0", "x4 at 8 GT/s", "x4 at 8 GT/s", "sheet x", Decision.MET)


@pytest.fixture
def run_dir(good_run: RobotRun, tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(good_run.folder, tmp_path / "run"))
    notes = RunNotes(folder / "evidence")
    for figure in (MET, MET, MISSED):
        notes.figure(figure)
    seal(folder / "evidence", [])
    return folder


def record_of(run_dir: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((run_dir / "certificate.json").read_text())
    return content


def test_a_certificate_has_the_published_form(run_dir: Path) -> None:
    certify(run_dir, 0)
    record = CertificateRecord.model_validate_json((run_dir / "certificate.json").read_bytes())
    assert [each.outcome for each in record.figures] == ["met", "met", "missed"]
    assert verify(run_dir) == []


def test_a_run_without_anything_has_the_published_form(tmp_path: Path) -> None:
    certify(tmp_path, 252)
    record = CertificateRecord.model_validate_json((tmp_path / "certificate.json").read_bytes())
    assert record.verdict == "NOT CERTIFIED" and record.card is None


def test_the_figure_that_is_missed_comes_first_and_equal_ones_are_one_row(run_dir: Path) -> None:
    certify(run_dir, 0)
    content = content_of(record_of(run_dir))
    (part,) = (each for each in content.parts if each.title == "Measured against limits")
    (table,) = (each for each in part.blocks if isinstance(each, Table))
    assert [(row.cells[0].text, row.cells[3].text) for row in table.rows] == [
        (MISSED.subject, "Missed"),
        (MET.subject, "Met"),
    ]
    page = (run_dir / "certificate.html").read_text()
    assert "1200.0 to 1300.0 ms" in page and "<svg" in page.split("</header>")[1]


def test_what_is_not_known_is_said_not_to_be_recorded(run_dir: Path) -> None:
    certify(run_dir, 0)
    page = (run_dir / "certificate.html").read_text()
    assert "<td>Controls</td><td>not recorded" in page and "<dt>Serial</dt><dd>not recorded</dd>" in page


def test_the_paper_is_covered_by_the_sums(run_dir: Path) -> None:
    pytest.importorskip("typst")
    certify(run_dir, 0)
    paper = run_dir / "certificate.pdf"
    assert (
        paper.read_bytes().startswith(b"%PDF-")
        and "  certificate.pdf\n" in (run_dir / "certificate.sha256").read_text()
    )
    paper.write_bytes(paper.read_bytes() + b" ")
    assert any(problem.startswith("certificate.pdf: is not the file") for problem in verify(run_dir))


def test_missing_typst_is_a_warning(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (run_dir / "certificate.pdf").write_bytes(b"of an earlier issue")
    monkeypatch.setitem(sys.modules, "typst", None)
    assert certify(run_dir, 0) is ExitStatus.CERTIFIED
    assert "no certificate.pdf: " in capsys.readouterr().err
    assert not (run_dir / "certificate.pdf").exists() and verify(run_dir) == []


def test_a_printed_chart_has_no_variables() -> None:
    (svg,) = drawings.ranges([{**vars(MISSED), "kind": "failover"}])
    assert "var(--" in svg
    paper = chart_parts.printed(svg)
    assert "var(--" not in paper and "prefers-color-scheme" not in paper and "#b3261e" in paper


def test_a_figure_of_the_last_moment_is_of_its_test(run_dir: Path) -> None:
    tests = read_results(run_dir / "allure-results").tests
    ended = tests[0].start_ms / 1000 + tests[0].seconds
    line = json.dumps({**vars(MET), "ended": ended + 0.0004})
    (run_dir / "evidence" / figures.FILE).write_text(line + "\n")
    ((figure,), _) = figures_of(run_dir, tests)
    assert figure["test"] == tests[0].name.rpartition(".")[2]


def test_a_certificate_of_an_older_format_is_issued_again(run_dir: Path) -> None:
    certify(run_dir, 0)
    file = run_dir / "certificate.json"
    file.write_text(file.read_text().replace('"format": 5', '"format": 2'))
    write_sums(run_dir)
    cover_report(run_dir)
    assert record_of(run_dir)["format"] == 5 and verify(run_dir) == []


def test_an_older_certificate_of_other_files_stays_as_it_is(run_dir: Path) -> None:
    certify(run_dir, 0)
    file = run_dir / "certificate.json"
    file.write_text(file.read_text().replace('"format": 5', '"format": 2'))
    with pytest.raises(BenchFault, match="does not cover the new report"):
        cover_report(run_dir)


def test_unreadable_figures_are_a_reason(run_dir: Path) -> None:
    (run_dir / "evidence" / figures.FILE).write_text("x\n")
    assert certify(run_dir, 0) is not ExitStatus.CERTIFIED
    assert "figures.jsonl:1: is no note" in " ".join(map(str, record_of(run_dir)["reasons"]))  # type: ignore[call-overload]
