"""``niclab soak``: its status, record and page, and a bench that is left as it was found, whatever ends it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_bench import FakeBench

from niclab.commands import cli, soak
from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.frames.soak.soak_series import Cycle, SoakFigure, SoakMeasure
from niclab.frames.soak.soaking import Soaked
from niclab.run.run import Run, acquired

RATE = SoakMeasure(SoakFigure.RATE, "dut.p0 sends")
STEADY = [Cycle(60.0 * n, {RATE: 900.0}) for n in range(12)]
FALLING = [Cycle(60.0 * n, {RATE: 900.0 - 50 * n}) for n in range(12)]
Soaking = Callable[[Run, Soaked], object]


@pytest.fixture
def soaks(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> Callable[[Soaking], tuple[int, Path]]:
    """Run the command; the soak itself does what a test says."""

    def run(soaking: Soaking) -> tuple[int, Path]:
        def soaked(run: Run, made: Soaked, show: Callable[[], object], *_: Any) -> None:
            show()
            soaking(run, made)
            show()

        monkeypatch.setattr(soak, "soak", soaked)
        words = ["soak", str(bench.file), "--hours", "0.5", "--card", str(bench.sheet)]
        status = cli.main([*words, "--results", str(bench.folder / "results")])
        (folder,) = (bench.folder / "results" / "soaks").iterdir()
        assert acquired() is None and bench.state["up"] is True
        return status, folder

    return run


def test_a_steady_soak_ends_with_nothing_wrong(soaks: Callable[[Soaking], tuple[int, Path]]) -> None:
    status, folder = soaks(lambda _, made: made.cycles.extend(STEADY))
    record, page = json.loads((folder / "soak.json").read_text()), (folder / "soak.html").read_text()
    assert status == ExitStatus.CERTIFIED and record["findings"] == [] and record["over"] is True
    assert len(record["cycles"]) == 12
    assert record["cycles"][1] == {"at_s": 60.0, "found": {"dut.p0 sends, Mbit/s": 900.0}}
    assert "<svg" in page and "Nothing so far" in page and "refresh" not in page and "over</p>" in page


def test_the_page_of_a_soak_that_goes_on_loads_itself_again(soaks: Callable[[Soaking], tuple[int, Path]]) -> None:
    seen = list[str]()

    def look(run: Run, made: Soaked) -> None:
        made.cycles.extend(STEADY)
        seen.append((run.run_dir / "soak.html").read_text())

    soaks(look)
    assert 'http-equiv="refresh"' in seen[0] and "running</p>" in seen[0]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CardFailure("dut.p0 <lost>"), ExitStatus.CARD_FAILURE),
        (BenchFault("peer"), ExitStatus.BENCH_FAULT),
        (Undecided("who?"), ExitStatus.UNDECIDED),
    ],
)
def test_what_happened_is_the_status(
    soaks: Callable[[Soaking], tuple[int, Path]], error: CardFailure | BenchFault | Undecided, status: ExitStatus
) -> None:
    found, folder = soaks(lambda _, made: made.events.append(error))
    assert found == status
    assert json.loads((folder / "soak.json").read_text())["findings"] == [f"{type(error).__name__}: {error}"]
    assert "<lost>" not in (folder / "soak.html").read_text()


def test_a_rate_that_falls_is_the_cards_to_be_proven(soaks: Callable[[Soaking], tuple[int, Path]]) -> None:
    """Without the pace of the servers nothing keeps it from being the card's."""
    status, folder = soaks(lambda _, made: made.cycles.extend(FALLING))
    assert status == ExitStatus.CARD_FAILURE
    assert "changed by -" in json.loads((folder / "soak.json").read_text())["findings"][0]


def test_a_signal_ends_it_and_the_bench_is_put_back(soaks: Callable[[Soaking], tuple[int, Path]]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    status, _ = soaks(lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    assert status == ExitStatus.BENCH_FAULT
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("hours", ["0", "-1", "inf", "nan"])
def test_a_length_that_is_none_is_refused(bench: FakeBench, capsys: pytest.CaptureFixture[str], hours: str) -> None:
    assert cli.main(["soak", str(bench.file), f"--hours={hours}", "--card", str(bench.sheet)]) == ExitStatus.BENCH_FAULT
    assert "--hours" in capsys.readouterr().err
