"""Two runs are compared, and all runs of a card are remembered, from their folders alone."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")

from niclab.commands import cli
from niclab.commands.results.compare import differences
from niclab.commands.results.history import fill
from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault
from niclab.report.evidence.runfolder import DEMONSTRATION
from niclab.report.store.results_store import FILE, ResultsStore
from niclab.stats.measurements import Key, Measurement, add
from niclab.stats.questions import Direction

STEADY = (940.0, 941.0, 939.5, 940.5, 940.2, 939.8)


def measured(samples: tuple[float, ...], test: str = "dut to peer", firmware: str = "1") -> Measurement:
    key = Key(
        card="x",
        firmware=firmware,
        driver="e1000e",
        slot="0000:01:00.0",
        pcie_link="8 GT/s x8",
        os="Debian",
        kernel="6.1",
        peer="y",
        tool="iperf3",
        parameters={"mtu": "1500", "way": test.replace(" ", "-")},
    )
    return Measurement(
        test=test,
        metric="tcp_mbps",
        unit="Mbit/s",
        better=Direction.HIGHER,
        samples=samples,
        taken="2026-11-21T10:58:03+00:00",
        key=key,
    )


def make(results: Path, name: str, samples: tuple[float, ...], firmware: str, subject: str = "physical card") -> Path:
    folder = results / name
    folder.mkdir(parents=True)
    run = {
        "format": 1,
        "run": name,
        "card": "x",
        "bench": "b",
        "subject": subject,
        "plan": "quick",
        "who": {},
        "versions": {},
        "git": None,
        "started": f"{name[:4]}-01-01T00:00:00+00:00",
        "facts": {"firmware": firmware, "driver": "e1000e", "system": "Debian"},
    }
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "certificate.json").write_text(json.dumps({"verdict": "CERTIFIED"}))
    add(folder, measured(samples, firmware=firmware))
    return folder


def test_a_clear_change_is_real_and_noise_is_not() -> None:
    tenth_less = tuple(0.9 * value for value in STEADY)
    (worse,) = differences([measured(STEADY)], [measured(tenth_less)])
    assert worse.real and worse.answer == "worse"
    assert worse.low is not None and worse.high is not None and worse.low < -10 < worse.high
    (same,) = differences([measured(STEADY)], [measured(STEADY[::-1])])
    assert not same.real and same.answer == "not shown"


def test_more_questions_make_wider_intervals() -> None:
    one, other = (940.0, 950.0, 930.0, 945.0), (935.0, 948.0, 925.0, 941.0)
    (alone,) = differences([measured(one)], [measured(other)])
    tests = [f"figure {number}" for number in range(20)]
    family = differences([measured(one, test) for test in tests], [measured(other, test) for test in tests])
    assert alone.low is not None and all(each.low is not None and each.low < alone.low for each in family)


def test_too_few_samples_give_no_answer() -> None:
    (found,) = differences([measured(STEADY[:2])], [measured(STEADY)])
    assert (found.answer, found.real, found.change) == ("too few runs", False, None)


def test_compare_says_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = make(tmp_path, "2025-a", STEADY, "1")
    new = make(tmp_path, "2026-b", tuple(0.9 * value for value in STEADY), "2", DEMONSTRATION)
    page = tmp_path / "page.html"
    assert cli.main(["compare", str(old), str(new), "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert "firmware: 1; 2" in out and "1 real difference, 1 of them worse" in out
    text = page.read_text()
    assert f'<p class="demonstration">{DEMONSTRATION}</p>' in text and "http" not in text.replace(
        "http://www.w3.org", ""
    )


def test_runs_without_a_common_figure_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = make(tmp_path, "2025-a", STEADY, "1"), tmp_path / "2026-b"
    new.mkdir()
    (new / "run.json").write_text((old / "run.json").read_text())
    add(new, measured(STEADY, "peer to dut"))
    assert cli.main(["compare", str(old), str(new)]) == ExitStatus.BENCH_FAULT
    assert "have no figure in common" in capsys.readouterr().err


def test_the_store_is_filled_from_the_folders_again_and_again(tmp_path: Path) -> None:
    make(tmp_path, "2025-a", STEADY, "1")
    make(tmp_path, "2026-b", STEADY, "2")
    (tmp_path / "2027-broken").mkdir()
    (tmp_path / "2027-broken" / "run.json").write_text("{}")
    results = ResultsStore(tmp_path / FILE)
    assert (fill(tmp_path, results), fill(tmp_path, results)) == (2, 2)
    assert [(each.run, each.firmware) for each in results.runs_of("x")] == [("2025-a", "1"), ("2026-b", "2")]
    assert [(of_run[1], figure.samples) for of_run, figure in results.figures_of("x")] == [
        ("2026-b", STEADY),
        ("2025-a", STEADY),
    ]


def test_a_store_of_another_version_is_refused_and_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path, "2025-a", STEADY, "1")
    with sqlite3.connect(tmp_path / FILE) as store:
        store.execute("CREATE TABLE runs (run TEXT PRIMARY KEY, card TEXT, bench TEXT, started TEXT, verdict TEXT)")
        store.execute("INSERT INTO runs VALUES ('2025-a', 'x', 'b', '2025', 'CERTIFIED')")
    store.close()
    assert cli.main(["history", "x", "--results", str(tmp_path)]) == ExitStatus.BENCH_FAULT
    said = capsys.readouterr().err
    assert "history.sqlite: has the form of another version, columns run, card, bench, started, verdict;" in said
    assert "niclab store fill --results FOLDER" in said
    (tmp_path / FILE).rename(tmp_path / "older.sqlite")
    assert cli.main(["store", "fill", "--results", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 runs taken\n"


def test_the_page_of_a_card_has_a_trend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path, "2025-a", STEADY, "1")
    make(tmp_path, "2026-b", STEADY, "2")
    assert cli.main(["history", "x", "--results", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(tmp_path / "history-x.html")
    page = (tmp_path / "history-x.html").read_text()
    assert page.count("<svg") == 2 and "2 of 2 runs certified" in page  # logo and one figure
    assert "http" not in page.replace("http://www.w3.org", "")


def test_a_card_without_runs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path, "2025-a", STEADY, "1")
    assert cli.main(["history", "z", "--results", str(tmp_path)]) == ExitStatus.BENCH_FAULT
    assert "holds no finished run of card 'z'" in capsys.readouterr().err


def test_a_store_that_cannot_be_written_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("no database, but long enough to be taken for a damaged one")
    with pytest.raises(BenchFault, match=r"history\.sqlite"):
        ResultsStore(tmp_path / FILE)
