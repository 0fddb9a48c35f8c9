"""measurements.json, the baseline store, and ``niclab baseline``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from niclab.commands.cli import main
from niclab.core.exit_status import ExitStatus
from niclab.core.verdict import BenchFault
from niclab.report.certificate.waived import Waived
from niclab.report.evidence.runfolder import ALLURE_RESULTS_FOLDER, finish_run, new_run
from niclab.report.verdicts import Verdict
from niclab.stats.baselines import Accepting, BaselineStore
from niclab.stats.measurements import FILE, Key, Measurement, add, read
from niclab.stats.questions import Direction

KEY: dict[str, Any] = {
    "card": "intel-x710",
    "firmware": "9.20 0x8000d95e",
    "driver": "i40e 2.24.6",
    "slot": "0000:17:00.0",
    "pcie_link": "8 GT/s x8",
    "os": "Debian 12",
    "kernel": "6.1.0-28-amd64",
    "peer": "intel-x710, i40e 2.24.6, Debian 12",
    "tool": "iperf3 3.12",
    "parameters": {"mtu": "1500", "sender": "dut", "seconds": "60"},
}


def measurement(**changes: Any) -> Measurement:
    key = KEY | {name: value for name, value in changes.items() if name in KEY}
    fields: dict[str, Any] = {
        "test": "TCP Reaches The Limit",
        "metric": "tcp_mbps",
        "unit": "Mbit/s",
        "better": Direction.HIGHER,
        "samples": (9412.0, 9409.5, 9413.0),
        "taken": "2026-11-21T10:58:03+00:00",
    }
    fields |= {name: value for name, value in changes.items() if name not in KEY}
    return Measurement(**fields, key=Key(**key))


@pytest.fixture
def store(tmp_path: Path) -> BaselineStore:
    return BaselineStore(tmp_path / "baselines")


@pytest.fixture
def finished(tmp_path: Path) -> Callable[..., Path]:
    def make(*measurements: Measurement) -> Path:
        run_dir = new_run(tmp_path / "results", "intel-x710", "hall-3", repository=tmp_path)
        for each in measurements:
            add(run_dir, each)
        finish_run(run_dir, 0)
        return run_dir

    return make


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    one, other = measurement(), measurement(parameters={"mtu": "9000"})
    add(tmp_path, one)
    add(tmp_path, other)
    assert read(tmp_path) == (one, other)


def test_the_same_key_twice_is_refused(tmp_path: Path) -> None:
    add(tmp_path, measurement())
    with pytest.raises(BenchFault, match="has the same key as that of 'TCP Reaches The Limit'; expected parameters"):
        add(tmp_path, measurement(samples=(1.0,), parameters={"seconds": "60", "sender": "dut", "mtu": "1500"}))
    assert len(read(tmp_path)) == 1
    content = json.loads((tmp_path / FILE).read_text())
    content["measurements"] *= 2
    (tmp_path / FILE).write_text(json.dumps(content))
    with pytest.raises(BenchFault, match=r"measurements\.1: tcp_mbps .* has the same key"):
        read(tmp_path)


DAMAGES = [
    ("{", "", "is not JSON"),
    ('"format": 1', '"format": 2', "format: 2 is not wanted; expected 1"),
    ('"format": 1', '"format": true', "format: True is not wanted"),
    ("9409.5", '"9409.5"', r"measurements\.0\.samples\.1: '9409.5' is not wanted; expected a finite number"),
    ("9409.5", "NaN", "is not JSON: NaN is not a number"),
    ("9409.5", "1e999", r"samples\.1: inf is not wanted"),
    ("9409.5", "null", r"samples\.1: None is not wanted"),
    ('"better": "higher"', '"better": "up"', "better: 'up' is not wanted; expected higher or lower"),
    ('"unit": "Mbit/s"', '"unit": " "', "unit: ' ' is not wanted"),
    ('"unit": "Mbit/s",', "", r"measurements\.0\.unit: is missing"),
    ('"unit": "Mbit/s"', '"units": "Mbit/s"', r"measurements\.0\.units: is not known here"),
    ('"unit": "Mbit/s"', '"unit": "Mbit/s", "unit": "bit/s"', "'unit' occurs twice in one object"),
    ("T10:58:03+00:00", "", "taken: '2026-11-21' is not wanted; expected a time with its offset"),
    ('"firmware": "9.20 0x8000d95e"', '"firmware": 9.2', "firmware: 9.2 is not wanted; expected a text"),
    ('"mtu": "1500"', '"mtu": 1500', r"parameters\.mtu: 1500 is not wanted"),
]


@pytest.mark.parametrize(("old", "new", "problem"), DAMAGES)
def test_damaged_measurements_are_one_clear_error(tmp_path: Path, old: str, new: str, problem: str) -> None:
    add(tmp_path, measurement())
    path = tmp_path / FILE
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BenchFault, match=problem) as caught:
        read(tmp_path)
    assert str(path) in str(caught.value)


def test_missing_measurements_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(BenchFault, match=r"measurements\.json: cannot be read: No such file"):
        read(tmp_path)


def test_text_of_another_encoding_is_an_error(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b'{"format": 1, "x": "\xff"}')
    with pytest.raises(BenchFault, match="is not JSON"):
        read(tmp_path)


def test_accepted_run_is_found_by_the_same_key_only(store: BaselineStore, finished: Callable[..., Path]) -> None:
    run_dir = finished(measurement())
    (path,) = store.accept(run_dir)
    found = store.find(measurement(samples=(1.0, 2.0, 3.0)))
    assert found is not None
    assert found.days[-1].samples == (9412.0, 9409.5, 9413.0)
    assert (found.days[-1].run, found.days[-1].bench) == (run_dir.name, "hall-3")
    assert path.parent == store.folder
    for name in KEY:
        other: Any = {"mtu": "9000"} if name == "parameters" else "another"
        assert store.find(measurement(**{name: other})) is None
    assert store.find(measurement(unit="bit/s")) is None
    assert store.find(measurement(metric="udp_mbps")) is None


def test_baseline_is_replaced_only_when_asked_for(store: BaselineStore, finished: Callable[..., Path]) -> None:
    first, second = finished(measurement()), finished(measurement(samples=(9500.0, 9501.0, 9502.0)))
    store.accept(first)
    with pytest.raises(
        BenchFault, match=f"holds a baseline of 2026-11-21 from run {first.name}; expected --another-day"
    ):
        store.accept(second)
    held = store.find(measurement())
    assert held is not None and held.days[-1].run == first.name
    store.accept(second, Accepting.REPLACE)
    held = store.find(measurement())
    assert held is not None
    assert [entry.run for entry in held.history] == [first.name, second.name]


def test_runs_of_several_days_hold_together(store: BaselineStore, finished: Callable[..., Path]) -> None:
    first, second = finished(measurement()), finished(measurement(samples=(9500.0, 9501.0, 9502.0)))
    store.accept(first)
    with pytest.raises(
        BenchFault, match=f"holds a run of 2026-11-21 already, {first.name}; expected one of another day"
    ):
        store.accept(second, Accepting.ANOTHER_DAY)
    third = finished(measurement(samples=(9500.0, 9501.0, 9502.0), taken="2026-11-22T10:58:03+00:00"))
    store.accept(third, Accepting.ANOTHER_DAY)
    held = store.find(measurement())
    assert held is not None
    assert [day.run for day in held.days] == [first.name, third.name]
    assert held.mean == pytest.approx((9411.5 + 9501) / 2)
    assert held.source == f"baseline of 2 days, the last 2026-11-22, run {third.name}"
    store.accept(third, Accepting.REPLACE)
    held = store.find(measurement())
    assert held is not None
    assert ([day.run for day in held.days], len(held.history)) == ([third.name], 3)


def test_a_baseline_holds_no_more_days_than_it_has(store: BaselineStore, finished: Callable[..., Path]) -> None:
    (path,) = store.accept(finished(measurement()))
    path.write_text(path.read_text().replace('"holding": 1', '"holding": 2'))
    with pytest.raises(BenchFault, match=r"holding: .*2.* expected at most the 1 of history"):
        store.all()


def test_all_of_a_run_is_accepted_or_nothing(store: BaselineStore, finished: Callable[..., Path]) -> None:
    run_dir = finished(measurement(), measurement(parameters={"mtu": "9000"}, samples=(1.0, 2.0)))
    with pytest.raises(BenchFault, match="2 samples; expected at least 3"):
        store.accept(run_dir)
    assert not store.folder.exists()


def test_unfinished_and_empty_runs_are_refused(store: BaselineStore, tmp_path: Path) -> None:
    run_dir = new_run(tmp_path / "results", "intel-x710", "hall-3", repository=tmp_path)
    add(run_dir, measurement())
    with pytest.raises(BenchFault, match="the run is not finished"):
        store.accept(run_dir)
    (run_dir / FILE).write_text('{"format": 1, "measurements": []}')
    with pytest.raises(BenchFault, match="no measurements; expected at least one"):
        store.accept(run_dir)


def told(run_dir: Path, verdict: Verdict) -> None:
    """A test of the run has ended so."""
    result = {
        "uuid": "1",
        "fullName": "Suites.Firmware Is Right",
        "labels": [{"name": "verdict", "value": verdict.value}],
        "status": verdict.allure_status,
        "statusDetails": {"message": "CardFailure: dut.p0 is wrong"},
        "start": 1000,
        "stop": 2000,
    }
    folder = run_dir / ALLURE_RESULTS_FOLDER
    folder.mkdir(exist_ok=True)
    (folder / "1-result.json").write_text(json.dumps(result))


def test_figures_of_a_card_that_was_found_wrong_are_no_baseline(
    store: BaselineStore, finished: Callable[..., Path]
) -> None:
    """Cards that are as bad would be green; but where figures have changed for good, they have missed the old ones."""
    run_dir = finished(measurement())
    told(run_dir, Verdict.CARD_FAILURE)
    for how in Accepting:
        with pytest.raises(BenchFault, match=r"the card was found wrong by Firmware Is Right; expected figures of a"):
            store.accept(run_dir, how)
    assert not store.folder.exists()
    told(run_dir, Verdict.UNDECIDED)
    store.accept(run_dir)
    later = finished(measurement(samples=(9500.0, 9501.0, 9502.0), taken="2026-11-22T10:58:03+00:00"))
    told(later, Verdict.CARD_FAILURE)
    with pytest.raises(BenchFault, match="the card was found wrong by"):
        store.accept(later, Accepting.ANOTHER_DAY)
    store.accept(later, Accepting.REPLACE)


def test_a_failure_that_a_waiver_covers_keeps_no_figures_away(
    store: BaselineStore, finished: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = finished(measurement())
    told(run_dir, Verdict.CARD_FAILURE)
    covered = Waived(tests={"Suites.Firmware Is Right": ["known-firmware"]})
    monkeypatch.setattr("niclab.stats.baselines.waived", lambda *_: covered)
    assert len(store.accept(run_dir)) == 1


def test_another_direction_is_refused(store: BaselineStore, finished: Callable[..., Path]) -> None:
    store.accept(finished(measurement()))
    with pytest.raises(BenchFault, match="better: higher is not wanted; expected lower"):
        store.find(measurement(better=Direction.LOWER))


def test_renamed_or_edited_baseline_is_refused(store: BaselineStore, finished: Callable[..., Path]) -> None:
    (path,) = store.accept(finished(measurement()))
    good = path.read_text()
    path.write_text(good.replace("i40e 2.24.6", "i40e 2.24.7", 1))
    with pytest.raises(BenchFault, match="the file was renamed or its key was changed"):
        store.find(measurement())
    path.write_text(good[:-20])
    with pytest.raises(BenchFault, match="is not JSON"):
        store.all()
    path.write_text(good.replace("9412.0,\n", "", 1))
    with pytest.raises(BenchFault, match=r"history\.0\.samples"):
        store.all()


def test_nearest_baseline_says_what_differs(store: BaselineStore, finished: Callable[..., Path]) -> None:
    store.accept(finished(measurement(firmware="9.00", driver="i40e 2.20.0"), measurement(firmware="9.10")))
    nearest = store.nearest(measurement())
    assert nearest is not None
    assert nearest[1] == ["firmware: 9.20 0x8000d95e here, 9.10 there"]
    assert store.nearest(measurement(card="other")) is None
    other = Key(**KEY | {"parameters": {"mtu": "1500"}})
    assert Key(**KEY).differences(other)[0] == "parameters.seconds: 60 here, not set there"


def test_command_accepts_and_lists(
    store: BaselineStore, finished: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir, folder = finished(measurement()), str(store.folder)
    assert main(["baseline", "list", "--store", folder]) == 0
    assert "no baselines" in capsys.readouterr().out
    assert main(["baseline", "accept", str(run_dir), "--store", folder]) == 0
    assert capsys.readouterr().out.startswith(f"accepted: {folder}/intel-x710-tcp_mbps-")
    assert main(["baseline", "accept", str(run_dir), "--store", folder]) == ExitStatus.BENCH_FAULT
    assert "niclab: tcp_mbps of 'TCP Reaches The Limit'" in capsys.readouterr().err
    assert main(["baseline", "accept", str(run_dir), "--store", folder, "--replace"]) == 0
    capsys.readouterr()
    assert main(["baseline", "list", "--store", folder]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("intel-x710  tcp_mbps 9411.5 Mbit/s (mean of 3)  2026-11-21")
    assert "mtu=1500 seconds=60 sender=dut" in shown
    assert main(["baseline", "accept", str(run_dir / "missing"), "--store", folder]) == ExitStatus.BENCH_FAULT
