"""Several cards over several benches: at once, with one report, one page and one exit status."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from robot_runs import RobotRun

from niclab.commands import cli
from niclab.commands.certifying import certify_all
from niclab.core.exit_status import ExitStatus
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.files.repository import REPOSITORY
from niclab.report.allure import allure
from niclab.report.allure.allure_tools import Tools
from niclab.report.certificate.certificate import certify
from niclab.report.pages.several import CardRun
from niclab.traffic.runs import turns

TOY = """
import os, shutil, signal, sys, time
from pathlib import Path
good, statuses, arguments = Path(sys.argv[1]), dict(each.split("=") for each in sys.argv[2].split()), sys.argv[3:]
card, results = arguments[arguments.index("--card") + 1], Path(arguments[arguments.index("--results") + 1])
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
(results / "began").write_text(f"{time.time()} {os.environ['NICLAB_MEASURING_LOCK']}")
if statuses[card] == "hangs":
    time.sleep(60)
until = time.time() + 30  # the other card runs at the same time
while len(list(results.parent.glob("*/began"))) < 2 and time.time() < until:
    time.sleep(0.05)
shutil.copytree(good, results / "20260101-run")
(results / "latest").symlink_to("20260101-run")
sys.exit(int(statuses[card]))
"""


class Toy:
    """``niclab certify`` as a program that copies a run."""

    def __init__(self, folder: Path, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._good, self._monkeypatch = folder, good, monkeypatch
        text = (REPOSITORY / "lab" / "benches" / "virtual.yaml").read_text()
        self.benches = [folder / f"bench{number}.yaml" for number in (1, 2)]
        for file in self.benches:
            file.write_text(text.replace("bench: virtual\n", f"bench: {file.stem}\n"))

    def run(self, statuses: str) -> int:
        command = (sys.executable, "-c", TOY, str(self._good), statuses)
        self._monkeypatch.setattr(certify_all, "NICLAB", command)
        cards = " ".join(each.partition("=")[0] for each in statuses.split())
        files = list(map(str, self.benches))
        return cli.main(["certify-all", *files, "--cards", cards, "--results", str(self.folder / "results")])

    @property
    def made(self) -> Path:
        (folder,) = (self.folder / "results").glob("all-*")
        return folder


@pytest.fixture
def toy(good_run: RobotRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    def generate(results: Path, out: Path, about: dict[str, Any], _: Tools) -> Path:
        out.mkdir()
        (out / "index.html").write_text(f"{about['card']} {len(list(results.glob('*-result.json')))}")
        return out / "index.html"

    good = shutil.copytree(good_run.folder, tmp_path / "good")
    certify(good, good_run.rc)
    monkeypatch.setattr(allure, "generate", generate)
    monkeypatch.setattr(certify_all, "look_for_tools", lambda: Tools(Path("node"), Path("cli.js")))
    return Toy(tmp_path, good, monkeypatch)


def test_two_cards_run_at_once_and_are_one_report(toy: Toy, good_run: RobotRun) -> None:
    assert toy.run("intel-82574l=0 intel-x520=6") == ExitStatus.WAIVED
    count = len(good_run.results)
    assert (toy.made / "allure-report" / "index.html").read_text() == f"intel-82574l, intel-x520 {2 * count}"
    results = [json.loads(file.read_text()) for file in (toy.made / "allure-results").glob("*-result.json")]
    for name in ("uuid", "historyId", "testCaseId"):
        assert len({each[name] for each in results}) == 2 * count
    assert {label["value"] for each in results for label in each["labels"] if label["name"] == "parentSuite"} == {
        "intel-82574l",
        "intel-x520",
    }
    attached = [source for each in results for source in sources(each)]
    assert attached and all((toy.made / "allure-results" / source).is_file() for source in attached)
    page = (toy.made / "summary.html").read_text()
    assert "2 of 2 cards certified" in page and "intel-x520" in page and "bench2" in page
    assert len({(toy.made / card / "began").read_text().split()[1] for card in ("intel-82574l", "intel-x520")}) == 1


def sources(value: object) -> list[str]:
    if isinstance(value, list):
        return [each for item in value for each in sources(item)]
    if not isinstance(value, dict):
        return []
    own = [str(value["source"])] if "source" in value else []
    return own + [each for item in value.values() for each in sources(item)]


def test_the_gravest_end_is_that_of_all(toy: Toy) -> None:
    assert toy.run("intel-82574l=4 intel-x520=1 emulex-oce11102=0 chelsio-t580-cr=9") == ExitStatus.CARD_FAILURE
    page = (toy.made / "summary.html").read_text()
    assert "1 of 4 cards certified" in page
    for words in ("card failure", "undecided", "bench fault"):
        assert words in page


def test_a_full_disk_of_one_card_takes_no_turn_from_the_others(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def full(_: object, card: str, *__: object) -> object:
        called.append(card)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(certify_all._Benches, "_certify", full)
    assert toy.run("intel-82574l=0 intel-x520=0 intel-82576=0") == ExitStatus.BENCH_FAULT
    assert sorted(called) == ["intel-82574l", "intel-82576", "intel-x520"]


def test_a_bench_that_cannot_be_restored_leaves_its_cards_to_the_others(
    toy: Toy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: Action) -> None:
        raise BenchFault('dut: Device "enp129s0f0" does not exist.')

    monkeypatch.setenv("HOME", str(toy.folder))
    undo = Action(ActionKind.SHELL, "dut", "ip address flush dev enp129s0f0")
    with Journal.for_bench("bench1").hold() as journal:
        journal.register("dut.p0", "gets an address", undo)
        assert journal.undo_all(fail).failed
    taken = list[tuple[str, str]]()

    def qualify(_: object, card: str, bench: str, __: object) -> CardRun:
        taken.append((card, bench))
        if len({each for _, each in taken}) < 2:
            until(lambda: len(taken) == 2, within=20, what="the other bench")
        if bench == "bench1":
            return CardRun(card, bench, ExitStatus.BENCH_FAULT, 0.0, None)
        until(lambda: ended, within=20, what="the other bench to take no further card")
        return CardRun(card, bench, ExitStatus.CERTIFIED, 0.0, toy.folder / "good")

    def work(benches: certify_all._Benches, bench: str, file: Path) -> None:
        begun(benches, bench, file)
        ended.append(bench)

    begun, ended = certify_all._Benches._work, list[str]()
    monkeypatch.setattr(certify_all._Benches, "_work", work)
    monkeypatch.setattr(certify_all._Benches, "_certify", qualify)
    assert toy.run("intel-82574l=0 intel-x520=0 intel-82576=0 emulex-oce11102=0") == 0
    assert len([bench for _, bench in taken if bench == "bench1"]) == 1
    assert len({card for card, bench in taken if bench == "bench2"}) == 4
    said = capsys.readouterr().out
    assert "bench1: takes no further card: 1 changes could not be undone, such as dut.p0: gets an address" in said


def test_a_request_to_end_reaches_every_run_and_no_other_begins(toy: Toy) -> None:
    def end() -> None:
        until(lambda: len(list(toy.folder.glob("results/all-*/*/began"))) == 2, within=20, what="both runs")
        os.kill(os.getpid(), signal.SIGTERM)

    ender = threading.Thread(target=end)
    ender.start()
    assert toy.run("intel-82574l=hangs intel-x520=hangs emulex-oce11102=0") == ExitStatus.BENCH_FAULT
    ender.join()
    assert not (toy.made / "emulex-oce11102").exists()
    assert "0 of 3 cards certified" in (toy.made / "summary.html").read_text()


@pytest.mark.parametrize(
    ("statuses", "said"), [("a=0", "no card sheet 'a'"), ("intel-x520=0 intel-x520=0", "each once")]
)
def test_a_wrong_card_stops_everything_before_it_begins(
    toy: Toy, statuses: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert toy.run(statuses) == ExitStatus.BENCH_FAULT
    assert said in capsys.readouterr().err and not (toy.folder / "results").exists()


def test_one_run_measures_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(turns.LOCK, str(tmp_path / "lock"))
    inside, most = 0, 0

    def measure() -> None:
        nonlocal inside, most
        with turns.turn_to_measure():
            inside += 1
            most = max(most, inside)
            time.sleep(0.1)
            inside -= 1

    threads = [threading.Thread(target=measure) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    with (
        turns.turn_to_measure(),
        pytest.raises(BenchFault, match="another run's measurement"),
        turns.turn_to_measure(within_s=0.2),
    ):
        pass
    monkeypatch.delenv(turns.LOCK)
    with turns.turn_to_measure(), turns.turn_to_measure():
        assert most == 1  # runs of no common controller wait for nobody
