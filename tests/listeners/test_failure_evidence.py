"""Evidence of every failure: kept by a listener that the library ``Bench`` brings, whatever teardowns there are."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_parts import Reply
from robot.api import ExecutionResult
from robot.run import run as robot  # type: ignore[import-untyped]  # the package has no marker

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.run.watching import failure_evidence

LIBRARIES = Path(__file__).resolve().parents[2] / "libraries"
QUIET = ("ip -s", "lspci -vv", "cat /proc/interrupts", "vmstat", "if command -v", "sysctl -a", "for i in", "modinfo")
REPLIES: dict[str, Reply] = {"dmesg": "kernel words\n", **dict.fromkeys(QUIET, "")}
TOP = """*** Settings ***
Library           {libraries}/Bench.py
Suite Setup       Acquire Bench    {bench}    {card}
Suite Teardown    Release Bench
"""
LIBRARY = "*** Settings ***\nLibrary    {libraries}/Bench.py\n"


def run(bench: FakeBench, *files: str, **options: object) -> ExecutionResult:
    """Run suite files below a folder whose suite setup acquires the bench."""
    for ssh in bench.ssh.values():
        ssh.replies |= REPLIES
    folder, out = bench.folder / "suites", bench.folder / "out"
    folder.mkdir()
    values = {"libraries": LIBRARIES, "bench": bench.file, "card": bench.sheet}
    (folder / "__init__.robot").write_text(TOP.format(**values))
    for number, text in enumerate(files):
        (folder / f"file{number}.robot").write_text(LIBRARY.format(**values) + text)
    quiet = {"log": None, "report": None, "console": "none", "stdout": io.StringIO(), "stderr": io.StringIO()}
    robot(str(folder), outputdir=str(out), **quiet, **options)
    return ExecutionResult(out / "output.xml")


def kernel_logs(bench: FakeBench) -> list[str]:
    return sorted(path.name for path in (bench.folder / "out" / "evidence").glob("*kernel-log*"))


def test_a_teardown_of_its_own_costs_a_test_no_evidence(bench: FakeBench) -> None:
    tests = "*** Test Cases ***\nBad\n    Fail    no\n    [Teardown]    No Operation\nGood\n    No Operation\n"
    (test, _) = run(bench, tests).suite.all_tests
    assert len(kernel_logs(bench)) == 2  # dut and peer, of one test
    messages = [item.message for item in test.body if item.type == "MESSAGE"]
    assert any('class="evidence"' in text and "dut-kernel-log" in text for text in messages), messages


def test_a_failed_suite_setup_has_evidence_once_and_not_for_each_of_its_tests(bench: FakeBench) -> None:
    tests = "Suite Setup    Fail    no\n*** Test Cases ***\nOne\n    No Operation\nTwo\n    No Operation\n"
    suite = run(bench, tests).suite.suites[0]
    assert len(kernel_logs(bench)) == 2
    messages = [item.message for item in suite.setup.body if item.type == "MESSAGE"]
    assert any("dut-kernel-log" in text for text in messages), messages


def test_a_failed_setup_inside_a_test_is_the_tests(bench: FakeBench) -> None:
    run(bench, "*** Test Cases ***\nOne\n    [Setup]    Fail    no\n    No Operation\n")
    assert len(kernel_logs(bench)) == 2


def test_the_evidence_is_attached_to_the_test_in_allure(bench: FakeBench) -> None:
    results = bench.folder / "allure"
    listener = f"{LIBRARIES / 'listeners' / 'AllureResults.py'}:{results}"
    run(bench, "*** Test Cases ***\nBad\n    Fail    no\n", listener=listener)
    kept = Counter("kernel words" in path.read_text() for path in results.glob("*-attachment*"))
    assert kept[True] == 2


def test_a_bench_that_could_not_be_acquired_has_none(bench: FakeBench) -> None:
    bench.set_state(fail={"status": 1, "up": 1})
    suite = run(bench, "*** Test Cases ***\nOne\n    No Operation\n").suite
    assert suite.setup.message.startswith("BenchFault: controller: ")
    assert not (bench.folder / "out" / "evidence").exists() or kernel_logs(bench) == []


def test_what_one_server_cannot_show_does_not_cost_the_other_its_evidence(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []

    def fail(*_: object) -> list[tuple[str, str]]:
        raise BenchFault("dut: is broken")

    for ssh in bench.ssh.values():
        ssh.replies |= REPLIES
    monkeypatch.setattr(bench.dut, "evidence_commands", fail)
    with pytest.raises(BenchFault, match=r"^dut: is broken$"):
        failure_evidence.collect(taken, lambda name, _: kept.append(name))
    assert "peer-kernel-log.txt" in kept and "dut-console.txt" in kept and "dut-kernel-log.txt" not in kept


class TestComplete:
    @pytest.fixture
    def shown(self, bench: FakeBench, taken: Run) -> FakeBench:
        """Servers on which every tool says something."""
        assert taken
        for ssh in bench.ssh.values():
            ssh.replies |= dict.fromkeys(REPLIES, "words\n")
        return bench

    def test_every_tool_of_the_requirement_is_asked_on_both_servers(self, shown: FakeBench, taken: Run) -> None:
        kept: dict[str, str] = {}
        failure_evidence.require_complete(taken, kept.__setitem__)
        for server in ("dut", "peer"):
            mine = "".join(text.splitlines()[0] for name, text in kept.items() if name.startswith(server) and text)
            wanted = ("ip -s", "lspci", "modinfo e1000e", "vmstat", "mpstat", "netstat -s", "sysctl -a", "tcpdump")
            wanted += tuple(f"ethtool {option} $i" for option in ("-i", "-c", "-g", "-k", "-S"))
            assert [word for word in wanted if word not in mine] == []
        assert shown and "for i in enp1s0 enp2s0; do" in kept["dut-counters.txt"]

    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ("== enp1s0\nsh: 1: ethtool: not found\n", r"sh: 1: ethtool: not found; expected the tool to be installed"),
            ("", r"shows nothing; expected some text"),
        ],
    )
    def test_a_tool_that_is_missing_or_silent_is_named(
        self, shown: FakeBench, taken: Run, said: str, words: str
    ) -> None:
        shown.ssh[Role.PEER].replies["for i in"] = said
        kept: list[str] = []
        with pytest.raises(BenchFault, match=rf"^peer-drivers\.txt: .*{words}"):
            failure_evidence.require_complete(taken, lambda name, _: kept.append(name))
        assert "dut-frames.txt" in kept and "peer-frames.txt" in kept
