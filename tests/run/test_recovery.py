"""The recovery ladder: each step is taken or skipped for a reason, each is evidence, and none ends in a pass."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_bench import FakeBench
from fake_parts import FakeConsole
from test_failure_evidence import run as run_suites

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure
from niclab.report.verdicts import Verdict, classify
from niclab.run.acquiring import recover as ladder
from niclab.run.acquiring.recover import RecoveryStep, StepEnding, ensure_ready, recover
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.watching.kernel_watch import KernelWatch
from niclab.transports import ConnectionLost
from niclab.transports.bmc.bmc import PowerAction, PowerState
from niclab.transports.console.kernel_death import KernelDeath

SYNC = "[   50.000000] sysrq: Emergency Sync\r\n[   50.000001] Emergency Sync complete\r\n"
BLOCKED = "[   51.000000] sysrq: Show Blocked State\r\n"
IN_THE_DRIVER = (
    "[   51.000001] task:kworker/0:1     state:D stack:    0 pid:   12 ppid:     2 flags:0x00004000\r\n"
    "[   51.000002]  __schedule+0x2cd/0x890\r\n[   51.000003]  e1000_down+0x11/0x22 [e1000e]\r\n"
)
ELSEWHERE = IN_THE_DRIVER.replace("e1000_down+0x11/0x22 [e1000e]", "ext4_sync+0x11/0x22 [ext4]")
NO_POWER = ["skipped", "skipped", "skipped", "skipped", "recovered"]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "_TRACES_S", 0.0)
    monkeypatch.setattr(ladder, "RESET_SHOWS_WITHIN_S", 0.1)


@pytest.fixture
def bench(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> FakeBench:
    """The servers are given a fifth of a second to boot."""
    write = bench.write

    def written(*, commands: bool, cables: bool) -> None:
        write(commands=commands, cables=cables)
        bench.give_to_boot(0.2)

    written(commands=True, cables=True)
    monkeypatch.setattr(bench, "write", written)
    return bench


@pytest.fixture
def dut(taken: Run) -> Server:
    return taken.server(Role.DUT)


@pytest.fixture
def console(bench: FakeBench) -> FakeConsole:
    return bench.consoles[Role.DUT]


def steps(taken: Run) -> dict[str, dict[str, Any]]:
    lines = (taken.evidence_folder / ladder.FILE).read_text().splitlines()
    return {each["step"]: each for each in map(json.loads, lines)}


def outcomes(taken: Run) -> list[str]:
    return [each["outcome"] for each in steps(taken).values()]


def test_every_step_is_taken_until_the_server_answers(
    bench: FakeBench, taken: Run, dut: Server, console: FakeConsole
) -> None:
    bench.dut.crash()
    console.reactions = {"s": SYNC, "w": BLOCKED}
    recovery = recover(dut)
    assert console.keys == ["9", "s", "w"] and bench.bmcs[Role.DUT]["ipmi"].orders == [
        PowerAction.NMI,
        PowerAction.RESET,
    ]
    assert outcomes(taken) == ["failed", "done", "done", "recovered"] and recovery.by == RecoveryStep.RESET
    found = steps(taken)
    assert "no shell for user root within" in found["console login"]["text"]
    assert "Show Blocked State" in found["SysRq"]["text"]
    assert "Kernel panic - not syncing" in found["BMC NMI"]["text"]
    assert all(each["deadline_s"] > 0 and each["seconds"] >= 0 and each["ended"] > 0 for each in found.values())
    assert str(recovery).startswith("dut did not answer and was recovered by BMC reset (console login failed: ")


def test_a_shell_on_the_console_is_asked_and_its_kernel_left_alone(
    bench: FakeBench, taken: Run, dut: Server, console: FakeConsole
) -> None:
    bench.dut.crash()
    console.shell = True
    recover(dut)
    assert outcomes(taken) == ["done", "skipped", "skipped", "recovered"]
    assert "# dmesg | tail" in steps(taken)["console login"]["text"] and console.lines == ["exit"]
    assert console.keys == [] and bench.bmcs[Role.DUT]["ipmi"].orders == [PowerAction.RESET]
    assert steps(taken)["SysRq"]["text"] == "its console answers"


def test_a_server_that_answers_again_is_left_alone(bench: FakeBench, dut: Server, console: FakeConsole) -> None:
    bench.dut.crash()
    console.shell = True
    console.run = lambda *_: (bench.dut.boot(), (0, ""))[1]  # type: ignore[method-assign]
    assert recover(dut).by == RecoveryStep.CONSOLE and bench.bmcs[Role.DUT]["ipmi"].orders == []


@pytest.mark.parametrize("step", ["console", "nmi"])
def test_a_server_that_answers_again_is_not_crashed(
    bench: FakeBench, dut: Server, console: FakeConsole, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A busy driver under the NMI would be charged with the panic."""
    bench.dut.crash()

    def comes_back(*_: object) -> None:
        bench.dut.boot()
        raise BenchFault("dut: no answer in time")

    if step == "console":
        monkeypatch.setattr(dut, "log_in_on_console", comes_back)
    else:
        monkeypatch.setattr(console, "expect_death", comes_back)
    found = recover(dut)
    assert found.by == (RecoveryStep.CONSOLE if step == "console" else RecoveryStep.NMI)
    assert PowerAction.RESET not in bench.bmcs[Role.DUT]["ipmi"].orders
    assert len(dut.recoveries) == 1 and "dut: no answer in time" in dut.recoveries[0]


def test_a_line_without_break_skips_nothing_else(bench: FakeBench, taken: Run, dut: Server) -> None:
    bench.dut.crash()
    bench.consoles[Role.DUT].carries_break = False
    recover(dut)
    found = steps(taken)["SysRq"]
    assert found["outcome"] == StepEnding.SKIPPED and "carries no BREAK" in found["text"]
    assert outcomes(taken) == ["failed", "skipped", "done", "recovered"]


@pytest.mark.parametrize("cause", ["panic", "ordered"])
def test_a_kernel_that_is_dead_is_not_asked(
    bench: FakeBench, taken: Run, dut: Server, console: FakeConsole, cause: str
) -> None:
    if cause == "ordered":
        dut.crash()
        bench.dut.crash()
    else:
        bench.dut.crash()
        console.deaths = [KernelDeath("dut console: the kernel died:\nKernel panic - not syncing", ())]
    recover(dut)
    assert outcomes(taken) == ["skipped" if cause == "ordered" else "done", "skipped", "skipped", "recovered"]
    assert bench.bmcs[Role.DUT]["ipmi"].orders == [PowerAction.RESET]
    assert len(dut.recoveries) == (cause == "panic")


def test_an_oops_of_earlier_does_not_hide_a_shell(
    bench: FakeBench, taken: Run, dut: Server, console: FakeConsole
) -> None:
    bench.dut.crash()
    console.shell, console.deaths = True, [KernelDeath("dut console: the kernel died:\nBUG: x", ())]
    recover(dut)
    assert steps(taken)["SysRq"]["text"] == "its console answers"


def test_a_server_without_power_is_powered_on(bench: FakeBench, taken: Run, dut: Server) -> None:
    bench.dut.crash(PowerState.OFF)
    recover(dut)
    assert outcomes(taken) == NO_POWER and bench.bmcs[Role.DUT]["ipmi"].orders == [PowerAction.ON]


def test_a_reset_that_does_not_help_is_followed_by_a_power_cycle(bench: FakeBench, taken: Run, dut: Server) -> None:
    bench.dut.crash()
    bench.bmcs[Role.DUT]["ipmi"].resets = False
    assert recover(dut).by == RecoveryStep.POWER_CYCLE
    assert "dut console to say anything after a reset: not within 0.1 s" in steps(taken)["BMC reset"]["text"]
    assert outcomes(taken) == ["failed", "failed", "done", "failed", "recovered"]


def test_without_console_and_bmc_it_is_out_of_service(taken: Run, dut: Server, bench: FakeBench) -> None:
    bench.dut.crash()
    dut.__dict__.pop("bmc", None)
    dut.description = dut.description.model_copy(update={"bmc": None, "console": None})
    with pytest.raises(
        BenchFault, match=r"^dut is out of service: it does not answer, and cannot be recovered:"
    ) as said:
        recover(dut)
    assert outcomes(taken) == ["skipped"] * 5
    assert "power cycle: skipped: bench virtual: dut has no BMC" in str(said.value)


def test_a_server_out_of_service_is_not_tried_again(bench: FakeBench, dut: Server) -> None:
    bench.dut.crash()
    bench.bmcs[Role.DUT]["ipmi"].boots = bench.bmcs[Role.DUT]["ipmi"].resets = False
    for _ in range(2):
        with pytest.raises(BenchFault, match=r"^dut is out of service"):
            ensure_ready([dut])
    orders = bench.bmcs[Role.DUT]["ipmi"].orders
    assert orders == [PowerAction.NMI, PowerAction.RESET, PowerAction.OFF, PowerAction.ON]


@pytest.fixture
def watch(taken: Run) -> KernelWatch:
    found = taken.part(KernelWatch)
    found.begin()
    return found


@pytest.mark.parametrize("told", [IN_THE_DRIVER, ELSEWHERE, ""])
def test_a_dut_that_hangs_is_charged_by_its_kernels_words(
    bench: FakeBench, watch: KernelWatch, console: FakeConsole, told: str
) -> None:
    bench.dut.crash()
    console.reactions = {"s": SYNC, "w": BLOCKED + told}
    console.last_words = ConnectionLost("dut console: the line died")
    (found,) = watch.look()
    assert isinstance(found, CardFailure if told == IN_THE_DRIVER else BenchFault)
    assert "was recovered by BMC reset" in str(found) and bench.dut.alive
    assert ("blocked task: task:kworker/0:1" in str(found)) is bool(told)
    assert watch.look() == []


def test_a_crash_in_the_driver_that_the_nmi_shows_is_the_cards(
    bench: FakeBench, watch: KernelWatch, console: FakeConsole
) -> None:
    bench.dut.crash()
    console.last_words = (
        "Kernel panic - not syncing: NMI: Not continuing",
        "RIP: 0010:e1000_watchdog_task+0x1a/0x2f0 [e1000e]",
    )
    (found,) = watch.look()
    assert isinstance(found, CardFailure) and "panic: Kernel panic - not syncing: NMI" in str(found)


def test_a_recovery_by_a_keyword_is_no_pass(bench: FakeBench, taken: Run, watch: KernelWatch) -> None:
    bench.peer.crash()
    ensure_ready(taken.servers.values())
    (found,) = watch.look()
    assert isinstance(found, BenchFault) and "peer did not answer and was recovered by BMC reset" in str(found)
    assert watch.look() == []


def test_a_server_that_the_lab_has_crashed_is_recovered_in_silence(
    bench: FakeBench, taken: Run, watch: KernelWatch
) -> None:
    """But not the next time: it has booted since."""
    taken.server(Role.PEER).crash()
    bench.peer.crash()
    ensure_ready(taken.servers.values())
    assert watch.look() == []
    taken.server(Role.PEER).crash()
    taken.server(Role.PEER).reset()
    assert watch.look() == []
    bench.peer.crash()
    ensure_ready(taken.servers.values())
    assert len(watch.look()) == 1


def test_the_rest_of_the_run_is_skipped_with_the_reason(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down() -> None:
        bench.dut.crash()
        bench.bmcs[Role.DUT]["ipmi"].boots = bench.bmcs[Role.DUT]["ipmi"].resets = False

    monkeypatch.setattr("builtins.break_down", break_down, raising=False)
    first = "*** Test Cases ***\nBreaks\n    Evaluate    break_down()\nSame Suite\n    Fail    never run\n"
    second = "Suite Setup    Fail    never run\n*** Test Cases ***\nNext Suite\n    Fail    never run\n"
    broken, *rest = run_suites(bench, first, second).suite.all_tests
    assert broken.status == "FAIL" and classify(broken.status, broken.message) is Verdict.BENCH_FAULT
    assert len(rest) == 2
    for test in rest:
        assert test.status == "SKIP" and "BenchFault: dut is out of service: it does not answer" in test.message
        assert classify(test.status, test.message) is Verdict.BENCH_FAULT
