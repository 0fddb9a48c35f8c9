"""The page of all cards has a row for each card, system, plan and bench: its newest run, and when it passed last."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")

from niclab.commands.results import all_cards, results_places
from niclab.core.verdict import BenchFault
from niclab.report.store.results_store import ResultsStore, StoredRun


def stored(
    card: str, day: int, verdict: str, system: str = "Debian 12", bench: str = "hall-3", serials: str = "S1"
) -> StoredRun:
    started, name = f"2026-11-{day}T10:00:00+00:00", f"{day}-{card}-{bench}"
    return StoredRun("a", name, card, started, verdict, "2.1", "ixgbe 6.1", system, "quick", bench, "physical", serials)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ResultsStore:
    url = f"sqlite:///{tmp_path / 'lab.sqlite'}"
    monkeypatch.setenv(results_places.URL, url)
    return ResultsStore(url)


def test_the_newest_run_of_each_card_and_system_is_a_row(
    store: ResultsStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in (
        stored("x520", 20, "CERTIFIED"),
        stored("x520", 23, "NOT CERTIFIED"),
        stored("x520", 21, "CERTIFIED", system="FreeBSD 14.1"),
        stored("i350", 22, "CERTIFIED", bench="hall-4"),
    ):
        store.put(each, [])
    assert all_cards.run(tmp_path) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said[:-1]] == ["i350", "x520", "x520"]
    assert said[1].split()[1:4] == ["2026-11-23T10:00", "NOT", "CERTIFIED"]
    page = (tmp_path / all_cards.PAGE).read_text()
    assert said[-1] == str(tmp_path / all_cards.PAGE)
    assert "2 of 3 certified" in page
    assert "1 of 2 runs certified, last certified 2026-11-20" in page
    assert "1 of 1 runs certified, last certified 2026-11-21" in page


@pytest.mark.parametrize(("broken", "rows"), [(22, 1), (24, 2)])
def test_a_run_that_saw_no_system_is_a_row_until_the_next_one(
    store: ResultsStore, tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: int, rows: int
) -> None:
    store.put(stored("x520", 23, "CERTIFIED"), [])
    store.put(stored("x520", broken, "NOT CERTIFIED", system=all_cards.NOT_RECORDED), [])
    all_cards.run(tmp_path)
    assert len(capsys.readouterr().out.splitlines()) - 1 == rows


def test_two_cards_of_one_kind_are_two_rows(
    store: ResultsStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A good one that was tested later on the same bench hides no bad one."""
    store.put(stored("x520", 20, "NOT CERTIFIED", serials=""), [])
    store.put(stored("x520", 21, "NOT CERTIFIED", serials="S1"), [])
    store.put(stored("x520", 22, "CERTIFIED", serials="S2"), [])
    all_cards.run(tmp_path)
    assert [line.split()[2:4] for line in capsys.readouterr().out.splitlines()[:-1]] == [
        ["CERTIFIED", "Debian"],
        ["NOT", "CERTIFIED"],
    ]
    assert "1 of 2 certified" in (tmp_path / all_cards.PAGE).read_text()


def test_a_card_that_is_certified_with_waivers_is_certified(store: ResultsStore, tmp_path: Path) -> None:
    store.put(stored("x520", 22, "CERTIFIED WITH WAIVERS"), [])
    all_cards.run(tmp_path)
    page = (tmp_path / all_cards.PAGE).read_text()
    assert "1 of 1 certified" in page and "1 of 1 runs certified, last certified 2026-11-22" in page


def test_a_lab_without_runs_has_no_page(store: ResultsStore, tmp_path: Path) -> None:
    store.close()
    with pytest.raises(BenchFault, match="holds no finished run; expected at least one"):
        all_cards.run(tmp_path)
