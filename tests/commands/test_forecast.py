"""The cost of a run, by what earlier runs of its kind took."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from niclab.bench.records import Role
from niclab.commands.certifying import forecast
from niclab.core.verdict import BenchFault
from niclab.report.timing import Timing

KIND = {"card": "x", "bench": "b", "plan": "quick", "finished": "2025-01-01T00:00:00+00:00"}
RUN = {"format": 1, "git": None, "who": {}, "versions": {}, "facts": {}, **KIND}


def ran(results: Path, name: str, **other: object) -> Path:
    folder = results / name
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({**RUN, "run": name, **other}))
    return folder


@pytest.fixture(autouse=True)
def walls(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Seconds that runs took, by name; any other broke off."""
    took: dict[str, float] = {}

    def timing(folder: Path) -> Timing:
        if folder.name not in took:
            raise BenchFault(f"{folder}: no output.xml")
        return Timing(took[folder.name], {}, 0, 0.0, {"dut": 3}, [])

    monkeypatch.setattr(forecast, "timing_of", timing)
    return took


def test_finished_whole_runs_of_the_same_kind_count_newest_first(tmp_path: Path, walls: dict[str, float]) -> None:
    first, last = ran(tmp_path, "2024-a"), ran(tmp_path, "2025-a")
    ran(tmp_path, "2026-a", finished=None)
    ran(tmp_path, "2026-b", partial="only suites Limits")
    ran(tmp_path, "2026-c", card="y")
    ran(tmp_path, "2026-d")
    ran(tmp_path, "2026-e", expected_tests=132, robot_rc=94)  # most tests ended with the bench
    walls |= dict.fromkeys(("2024-a", "2025-a", "2026-a", "2026-b", "2026-c", "2026-e"), 60.0)
    assert list(forecast.earlier_runs("b", "x", "quick", tmp_path)) == [last, first]
    assert forecast.earlier_runs("b", "x", "full", tmp_path) == {}


def test_a_run_that_a_broken_bench_cut_short_does_not_give_the_times(tmp_path: Path, walls: dict[str, float]) -> None:
    usual = ran(tmp_path, "2024-a")
    ran(tmp_path, "2025-a"), ran(tmp_path, "2026-a")
    walls |= {"2024-a": 1200.0, "2025-a": 1300.0, "2026-a": 20.0}
    within_s = dict.fromkeys(Role, 120.0)
    made = forecast.Forecast(9, {Role.DUT: 3}, within_s, forecast.earlier_runs("b", "x", "quick", tmp_path))
    assert made.usual == usual
    assert made.lines()[1] == "duration: about 20 min by 3 earlier runs; boots then: dut 3"
