"""Earlier runs of a card are found over days, folders, benches and controllers, by its serial numbers."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from niclab.commands.certifying import attempts
from niclab.commands.results import history, results_places
from niclab.report import read_json_object, write_json
from niclab.report.evidence.runfolder import RUN_FILE, new_run, read_run, record_facts

Made = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    monkeypatch.delenv(results_places.URL, raising=False)
    monkeypatch.setattr(attempts, "REPOSITORY", tmp_path)

    def make(
        folder: str, day: str, serial: str = "S1", bench: str = "hall-3", verdict: str = "", card: str = "x710"
    ) -> Path:
        run_dir = new_run(tmp_path / "results" / folder, card, bench, repository=tmp_path)
        if serial:
            record_facts(run_dir, serial_numbers=serial)
        started = f"{day}T10:00:00+00:00"
        write_json(run_dir / RUN_FILE, read_json_object(run_dir / RUN_FILE) | {"started": started})
        if verdict:
            write_json(run_dir / "certificate.json", {"verdict": verdict})
        return run_dir

    return make


def found(run_dir: Path) -> list[tuple[str, str]]:
    attempts.note_attempts(run_dir)
    return [(each["run"], each["verdict"]) for each in read_run(run_dir)["earlier_attempts"]]


def test_runs_of_the_same_serial_number_are_earlier_attempts(made: Made) -> None:
    first = made("", "2026-11-20", verdict="NOT CERTIFIED")
    second = made("build-7-x710", "2026-11-23", bench="hall-4", serial="S0, S1")
    third = made("all-1/x710", "2026-11-24", verdict="CERTIFIED")
    made("", "2026-11-21", serial="S2")
    made("", "2026-11-21", card="x520")
    made("", "2026-11-26")
    wanted = [(first.name, "NOT CERTIFIED"), (second.name, "no certificate"), (third.name, "CERTIFIED")]
    assert found(made("build-8-x710", "2026-11-25")) == wanted
    assert found(made("", "2026-11-22")) == wanted[:1]


def test_a_card_without_serial_number_is_known_by_its_bench(made: Made) -> None:
    first = made("", "2026-11-20", serial="")
    made("", "2026-11-20", serial="", bench="hall-4")
    assert found(made("", "2026-11-25", serial="")) == [(first.name, "no certificate")]


def test_the_store_knows_runs_whose_folders_are_elsewhere(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = made("", "2026-11-20", verdict="NOT CERTIFIED")
    monkeypatch.setenv(results_places.URL, f"sqlite:///{tmp_path / 'lab.sqlite'}")
    attempts.put_into_store(old)
    with closing(history.open_store(tmp_path)) as store:
        assert [each.serials for each in store.runs_of("x710")] == ["S1"]
    old.rename(tmp_path / "archive")
    assert found(made("", "2026-11-25")) == [(old.name, "NOT CERTIFIED")]


def test_a_store_that_cannot_be_asked_is_noted(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(results_places.URL, "sqlite:////nowhere/at/all.sqlite")
    run_dir = made("", "2026-11-25")
    assert found(run_dir) == [] and "unable to open" in read_run(run_dir)["attempts_unknown"]


@pytest.mark.parametrize("driver", ["pg8000", "unheard_of"])
def test_a_driver_that_is_not_installed_is_a_warning(
    made: Made, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], driver: str
) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")
    monkeypatch.setitem(sys.modules, "pg8000", None)
    monkeypatch.setenv(results_places.URL, f"postgresql+{driver}://lab@nowhere/lab")
    run_dir = made("", "2026-11-25")
    attempts.put_into_store(run_dir)
    assert "the run is not in the store of results: results store: " in capsys.readouterr().err
    assert found(run_dir) == [] and driver in read_run(run_dir)["attempts_unknown"]


def test_a_database_that_is_silent_holds_no_run_up(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg", reason="the extra `store` is not installed")
    monkeypatch.setattr("niclab.report.store.results_store._CONNECT_WITHIN_S", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and says nothing
        url = f"postgresql+psycopg://lab@127.0.0.1:{silent.getsockname()[1]}/lab"
        monkeypatch.setenv(results_places.URL, url)
        run_dir = made("", "2026-11-25")
        assert found(run_dir) == [] and "timeout" in read_run(run_dir)["attempts_unknown"]
