"""The certificate tells its reader what must be known of a run beyond its verdicts."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from robot_runs import RobotRun

from niclab.core.exit_status import ExitStatus
from niclab.core.exposure import Exposed, Exposure
from niclab.core.marks import MarkKind
from niclab.files.repository import REPOSITORY
from niclab.report.certificate.certificate import certify, verify
from niclab.report.certificate.detection_power import missed
from niclab.report.evidence.evidence import seal
from niclab.report.evidence.inputs import Input, keep_inputs
from niclab.report.evidence.runfolder import record_ports
from niclab.report.evidence.sums import SUMS_NAME
from niclab.report.own_checks.carrier_check import KeptCarrier, KeptPort, Unwatched, keep_carrier
from niclab.run.run_notes import RunNotes


@pytest.fixture
def run_dir(good_run: RobotRun, tmp_path: Path) -> Path:
    """A copy of the good run whose evidence is not sealed yet."""
    folder = Path(shutil.copytree(good_run.folder, tmp_path / good_run.folder.name))
    (folder / "evidence" / "index.json").unlink()
    return folder


def rewrite_run(run_dir: Path, **changes: object) -> None:
    file = run_dir / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def remarks_of(run_dir: Path) -> dict[str, Any]:
    seal(run_dir / "evidence")
    assert certify(run_dir, 0) is ExitStatus.CERTIFIED and verify(run_dir) == []
    certificate = json.loads((run_dir / "certificate.json").read_text())
    page = (run_dir / "certificate.html").read_text()
    for each in certificate["remarks"]:
        assert each["text"] in page and all(line in page for line in each["details"])
    return {each["about"]: (each["text"], each["details"]) for each in certificate["remarks"]}


def test_a_run_without_remarks_shows_its_time_alone(run_dir: Path) -> None:
    rewrite_run(run_dir, git={"commit": "1" * 40, "local_changes": False}, earlier_attempts=[])
    assert remarks_of(run_dir) == {}
    page = (run_dir / "certificate.html").read_text()
    section = page.split("<h2>Circumstances</h2>")[1].split("</table>")[0]
    assert (
        section.count("<tr>") == 4
        and "Controls" in section
        and "<td>Time</td>" in section
        and "traffic 0 s, boots 0 s" in section
    )


def test_what_the_run_would_have_missed(run_dir: Path) -> None:
    notes = RunNotes(run_dir / "evidence")
    notes.exposed(Exposure.FRAMES, 5000, "dut.p0 sends")
    notes.exposed(Exposure.FRAMES, 2550, "dut.p1 receives")
    notes.exposed(Exposure.FRAMES, 1000, "dut.p1 sends")
    notes.exposed(Exposure.FRAMES, 520, "dut.p1 sends")
    notes.exposed(Exposure.LOADED_SECONDS, 120)
    for _ in range(6):
        notes.exposed(Exposure.LINK_FAILURES, 1)
    notes.mark(MarkKind.BOOT, "dut", 60)
    notes.mark(MarkKind.BOOT, "dut", 60)
    assert remarks_of(run_dir)["Power"][1] == [
        "9,070 frames compared: damage rarer than 1 in 3,023 is seen with less than 95 %",
        "dut.p1 sends the fewest of them, 1,520: of this part damage rarer than 1 in 506 is seen with less than 95 %",
        "dut booted 2 times: a fault of one boot in ten is missed with 81 %",
        "6 link failures: a fault of one failure in ten is missed with 53 %",
        "120 s under load: what comes less than once in 40 s is seen with less than 95 %",
    ]


def test_the_fewest_runs_of_a_figure_say_what_was_missed() -> None:
    assert missed(Exposed(), Counter(), (14, 8)) == (
        "at least 8 traffic runs a figure: a fault of one run in ten is missed with 43 %",
    )


def test_discarded_runs_and_recoveries_are_counted(run_dir: Path) -> None:
    notes = RunNotes(run_dir / "evidence")
    for _ in range(2):
        notes.mark(MarkKind.DISCARDED, "dut.p0 to peer.p0: 20 Mbit/s not counted: dut stood still for 300 ms")
    notes.mark(MarkKind.RECOVERY, "dut: BMC reset", 61.2)
    notes.mark(MarkKind.BOOT, "dut", 60)
    found = remarks_of(run_dir)
    assert found["Traffic"][0] == "2 runs not counted" and len(found["Traffic"][1]) == 2
    assert found["Recoveries"] == ("1 by the lab, because a server did not answer", ["dut: BMC reset: 61 s"])


def test_warnings_are_shown(run_dir: Path) -> None:
    output = run_dir / "output.xml"
    output.write_text(output.read_text().replace("<errors>", '<errors><msg level="WARN">run 7 is far below</msg>'))
    assert remarks_of(run_dir)["Warnings"] == ("1 warning", ["run 7 is far below"])


def test_a_changed_lab_is_shown(run_dir: Path) -> None:
    git = {"commit": "1" * 40, "local_changes": True, "changes_sha256": "2" * 64}
    rewrite_run(run_dir, git=git, local_changes_allowed=True)
    said = ("The files of the lab differ from the commit.", [f"SHA-256 of the differences: {'2' * 64}"])
    assert remarks_of(run_dir)["Lab"] == said


@pytest.mark.parametrize(("of_bench", "shown"), [(1, True), (2, False)])
def test_ports_that_the_bench_file_leaves_out_are_shown(run_dir: Path, of_bench: int, shown: bool) -> None:
    record_ports(run_dir, of_card=2, of_bench=of_bench)
    said = remarks_of(run_dir).get("Ports")
    text = "The bench file names 1 of the 2 ports of the card; the others were not tested."
    assert said == ((text, []) if shown else None)


def test_a_sheet_from_elsewhere_is_shown(run_dir: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "mine.yaml"
    text = (REPOSITORY / "lab" / "cards" / "intel-82574l.yaml").read_text()
    sheet.write_text(text.replace("card: intel-82574l\n", "card: mine\n"))
    shutil.rmtree(run_dir / "evidence" / "inputs" / "card")
    keep_inputs(run_dir, {Input.SHEET: sheet}, "intel-82574l")
    assert remarks_of(run_dir)["Sheet"][0] == f"The sheet is not one of lab/cards/: {sheet}"


def test_the_files_that_decide_are_in_the_evidence_without_secrets(run_dir: Path, tmp_path: Path) -> None:
    bench = tmp_path / "mine.yaml"
    bench.write_text("bench: mine\ndescription: hunter2 is the password\n")
    shutil.rmtree(run_dir / "evidence" / "inputs" / "bench")
    keep_inputs(run_dir, {Input.BENCH: bench}, "intel-82574l")
    seal(run_dir / "evidence", ["hunter2"])
    certify(run_dir, 0)
    copy = run_dir / "evidence" / "inputs" / "bench" / "mine.yaml"
    assert "hunter2" not in copy.read_text() and copy.read_text().startswith("bench: mine")
    sums = (run_dir / SUMS_NAME).read_text()
    for kind in ("card/intel-82574l", "bench/mine", "plan/toy", "requirements/requirements"):
        assert f"  evidence/inputs/{kind}.yaml\n" in sums


def test_earlier_attempts_are_shown_newest_last(run_dir: Path) -> None:
    noted = [
        {"run": "first", "bench": "hall-3", "started": "1", "verdict": "NOT CERTIFIED"},
        {"run": "second", "bench": "hall-4", "started": "2", "verdict": "CERTIFIED"},
    ]
    rewrite_run(run_dir, earlier_attempts=noted)
    text, details = remarks_of(run_dir)["Attempts"]
    assert text == "2 earlier runs of this card, 1 of them certified"
    assert details == ["first on hall-3: NOT CERTIFIED", "second on hall-4: CERTIFIED"]


def test_a_store_that_cannot_be_asked_is_shown(run_dir: Path) -> None:
    rewrite_run(run_dir, earlier_attempts=[], attempts_unknown="lab db: connection refused")
    assert remarks_of(run_dir)["Attempts"][0] == "There may be other earlier runs: lab db: connection refused"


@pytest.mark.parametrize(
    ("subject", "allowed", "said"),
    [("physical card", False, True), ("physical card", True, False), ("DEMONSTRATION, emulated card", False, False)],
)
def test_a_real_card_is_certified_by_committed_files_alone(
    run_dir: Path, subject: str, allowed: bool, said: bool
) -> None:
    git = {"commit": "1" * 40, "local_changes": True, "changes_sha256": "2" * 64}
    rewrite_run(run_dir, git=git, subject=subject, local_changes_allowed=allowed)
    seal(run_dir / "evidence")
    certify(run_dir, 0)
    record = json.loads((run_dir / "certificate.json").read_text())
    assert any("--allow-local-changes" in reason for reason in record["reasons"]) is said
    assert (record["verdict"] == "NOT CERTIFIED") is said


def test_tests_of_the_lab_are_counted_apart(run_dir: Path) -> None:
    seal(run_dir / "evidence")
    certify(run_dir, 0)
    page = (run_dir / "certificate.html").read_text()
    assert "3 tests of the card: 2 pass, 1 not applicable; 0 tests of the lab itself." in page


def test_it_says_how_long_the_carrier_of_each_port_was_watched(run_dir: Path) -> None:
    ports = {
        "dut.p0": KeptPort(50, 12, 0, {Unwatched.TOUCHED: 40.0, Unwatched.BOOTED: 10.0}),
        "dut.p1": KeptPort(100, 0, 0),
    }
    keep_carrier(
        run_dir / "evidence",
        KeptCarrier(ports, {"peer.p0": "FreeBSD keeps no count"}, (), datetime(2026, 1, 1, tzinfo=UTC)),
    )
    assert remarks_of(run_dir)["Carrier"] == (
        "50 % of the run was watched",
        [
            "dut.p0: 50 s of 100 s watched; 12 changes on purpose, 0 not; "
            "not watched: 40 s links were touched, 10 s a server booted",
            "dut.p1: 100 s of 100 s watched; 0 changes on purpose, 0 not",
            "peer.p0: not watched: FreeBSD keeps no count",
        ],
    )
