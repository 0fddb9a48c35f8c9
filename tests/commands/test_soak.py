"""``niclab soak``: its status, record and page, and a bench that is left as it was found, whatever ends it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.commands import cli, soak
from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.frames.soak import soaking
from niclab.frames.soak.soak_series import Cycle, SoakFigure, SoakMeasure
from niclab.frames.soak.soaking import Soaked
from niclab.run.run import Run, acquired
from niclab.run.watching.carrier_watch import CarrierWatch
from niclab.run.watching.hygiene import BenchHygiene
from niclab.run.watching.kernel_watch import KernelWatch

RATE = SoakMeasure(SoakFigure.RATE, "dut.p0 sends")
STEADY = [Cycle(60.0 * n, {RATE: 900.0}) for n in range(12)]
FALLING = [Cycle(60.0 * n, {RATE: 900.0 - 50 * n}) for n in range(12)]
Soaking = Callable[[Run, Soaked], object]


@pytest.fixture
def soaks(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, Path]]:
    """Run the command; the soak itself looks at both kernels for some time, and does what a test says."""
    now = 1000.0
    monkeypatch.setattr(CarrierWatch, "clock", lambda _: now)

    def run(soaking: Soaking, seconds: float = 600.0) -> tuple[int, Path]:
        def soaked(run: Run, made: Soaked, show: Callable[[], object], *_: Any) -> None:
            nonlocal now
            for _looks in range(3):
                now += seconds
                run.part(KernelWatch).look()
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


def test_a_rate_that_falls_is_undecided(soaks: Callable[[Soaking], tuple[int, Path]]) -> None:
    status, folder = soaks(lambda _, made: made.cycles.extend(FALLING))
    assert status == ExitStatus.UNDECIDED
    assert "changed by -" in json.loads((folder / "soak.json").read_text())["findings"][0]


def test_a_signal_ends_it_and_the_bench_is_put_back(soaks: Callable[[Soaking], tuple[int, Path]]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    status, _ = soaks(lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    assert status == ExitStatus.BENCH_FAULT
    assert signal.getsignal(signal.SIGTERM) is before


def test_carriers_that_nobody_watched_are_undecided(soaks: Callable[..., tuple[int, Path]]) -> None:
    status, folder = soaks(lambda _, made: made.cycles.extend(STEADY), seconds=0.0)
    (found,) = json.loads((folder / "soak.json").read_text())["findings"]
    assert status == ExitStatus.UNDECIDED
    assert found.startswith("Undecided: carrier: 0 % of the run was watched; expected at least 30 %")


def end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_while_the_bmc_is_asked_ends_it(
    soaks: Callable[[Soaking], tuple[int, Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A BMC that does not answer is no fault of a soak: an end must not be taken for that."""
    bmc = SimpleNamespace(sensors=end)
    asked: Any = SimpleNamespace(server=lambda _: SimpleNamespace(bmc=bmc))

    def look(_: Run, made: Soaked) -> None:
        made.cycles.extend(STEADY)
        soaking._hottest(asked, Role.DUT)
        pytest.fail("it goes on")

    status, folder = soaks(look)
    assert status == ExitStatus.BENCH_FAULT
    said = "BenchFault: ended by SIGTERM; expected a soak that lasts its time"
    assert json.loads((folder / "soak.json").read_text())["findings"] == [said] and said in capsys.readouterr().out


def test_only_who_insists_ends_what_puts_the_bench_back(
    soaks: Callable[[Soaking], tuple[int, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, reached = BenchHygiene.finish, list[int]()

    def insisting(hygiene: BenchHygiene) -> Any:
        for count in range(3):
            reached.append(count)
            end()
        return finish(hygiene)

    monkeypatch.setattr(BenchHygiene, "finish", insisting)
    status, folder = soaks(lambda *_: end())
    assert status == ExitStatus.BENCH_FAULT and reached == [0, 1]
    assert "niclab restore" in json.loads((folder / "soak.json").read_text())["findings"][1]


def test_a_first_signal_while_the_bench_is_put_back_changes_nothing(
    soaks: Callable[[Soaking], tuple[int, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = BenchHygiene.finish
    monkeypatch.setattr(BenchHygiene, "finish", lambda hygiene: (end(), finish(hygiene))[1])
    assert soaks(lambda _, made: made.cycles.extend(STEADY))[0] == ExitStatus.CERTIFIED


def left_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state after the run cannot be compared, or was another one before."""
    finish = BenchHygiene.finish

    def finished(hygiene: BenchHygiene) -> Any:
        hygiene._faults.append("dut: mtu is 1400")
        return finish(hygiene)

    monkeypatch.setattr(BenchHygiene, "finish", finished)


def test_a_fault_of_the_comparison_is_a_fault_of_the_bench(
    soaks: Callable[[Soaking], tuple[int, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    left_changed(monkeypatch)
    status, folder = soaks(lambda _, made: made.cycles.extend(STEADY))
    (found,) = json.loads((folder / "soak.json").read_text())["findings"]
    assert status == ExitStatus.BENCH_FAULT and "dut: mtu is 1400" in found


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (CardFailure("dut.p0: Detected Hardware Unit Hang"), ExitStatus.CARD_FAILURE),
        (Undecided("dut: has booted"), ExitStatus.UNDECIDED),
    ],
)
def test_what_a_kernel_says_while_the_bench_is_put_back_counts(
    soaks: Callable[[Soaking], tuple[int, Path]],
    monkeypatch: pytest.MonkeyPatch,
    said: CardFailure | Undecided,
    status: ExitStatus,
) -> None:
    finish = BenchHygiene.finish

    def finished(hygiene: BenchHygiene) -> Any:
        monkeypatch.setattr(KernelWatch, "_look_at", lambda *_, **__: [said])
        return finish(hygiene)

    monkeypatch.setattr(BenchHygiene, "finish", finished)
    ended, folder = soaks(lambda _, made: made.cycles.extend(STEADY))
    assert ended == status
    assert str(said) in json.loads((folder / "soak.json").read_text())["findings"][0]


def test_a_signal_does_not_hide_changes_that_are_left(
    soaks: Callable[[Soaking], tuple[int, Path]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left_changed(monkeypatch)
    status, folder = soaks(lambda *_: end())
    assert status == ExitStatus.BENCH_FAULT and "dut: mtu is 1400" in capsys.readouterr().out
    assert "dut: mtu is 1400" in json.loads((folder / "soak.json").read_text())["findings"][1]


@pytest.mark.parametrize(
    ("noted", "status"), [([CardFailure("dut.p0 lost")], ExitStatus.CARD_FAILURE), ([], ExitStatus.BENCH_FAULT)]
)
def test_a_server_that_does_not_answer_afterwards_hides_nothing(
    soaks: Callable[[Soaking], tuple[int, Path]],
    monkeypatch: pytest.MonkeyPatch,
    noted: list[CardFailure],
    status: ExitStatus,
) -> None:
    """A kernel that broke answers no question about what is left changed."""
    finish = BenchHygiene.finish

    def silent(hygiene: BenchHygiene) -> Any:
        finish(hygiene)
        raise BenchFault("dut: no answer")

    def broken(_: Run, made: Soaked) -> None:
        made.cycles.extend(STEADY)
        made.events.extend(noted)

    monkeypatch.setattr(BenchHygiene, "finish", silent)
    found, folder = soaks(broken)
    record = json.loads((folder / "soak.json").read_text())
    assert found == status and record["over"] is True
    assert record["findings"] == [*(f"CardFailure: {each}" for each in noted), "BenchFault: dut: no answer"]


@pytest.mark.parametrize("hours", ["0", "-1", "inf", "nan"])
def test_a_length_that_is_none_is_refused(bench: FakeBench, capsys: pytest.CaptureFixture[str], hours: str) -> None:
    assert cli.main(["soak", str(bench.file), f"--hours={hours}", "--card", str(bench.sheet)]) == ExitStatus.BENCH_FAULT
    assert "--hours" in capsys.readouterr().err
