"""The libraries as Robot Framework uses them: imported by path, arguments as text, verdicts in messages."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_parts import MODULE, Reply
from fake_switch import FakeSwitch
from fake_traffic import Rates
from robot.api import ExecutionResult
from robot.result import TestCase as Result  # type: ignore[import-untyped]  # the package has no marker
from robot.run import run as robot  # type: ignore[import-untyped]  # the package has no marker

from listeners.ProfileFilter import ProfileFilter
from niclab.bench.records import Role
from niclab.core.undo import Journal
from niclab.report import write_json
from niclab.report.evidence.runfolder import RUN_FILE
from niclab.stats.baselines import BaselineStore, listing
from niclab.stats.measurements import read
from niclab.traffic.limits import bottleneck

SETTINGS_OF_A_CARD = ("Pcie", "DriverPackages", "Firmware", "Defaults", "Offloads", "Settings")
LIBRARIES = Path(__file__).resolve().parents[2] / "libraries"
NAMES = (
    "Bench",
    "Card",
    "Driver",
    "HostLinks",
    "LinkFailures",
    "SwitchLinks",
    "SwitchPorts",
    "Bmc",
    "Power",
    "Console",
    "Traffic",
    *SETTINGS_OF_A_CARD,
)
SETTINGS = "\n".join(
    ["*** Settings ***", *(f"Library    {LIBRARIES / name}.py" for name in NAMES), "*** Test Cases ***", ""]
)
QUIET = ("ip -s", "lspci -vv", "cat /proc/interrupts", "vmstat", "if command -v", "sysctl -a", "for i in", "modinfo")
EVIDENCE: dict[str, Reply] = {"dmesg": "kernel words\n", **dict.fromkeys(QUIET, "")}
RUN = {"format": 1, "who": {}, "versions": {}, "facts": {}, "git": None, "bench": "virtual"}
TAKEN = """Suite Setup       Acquire Bench    {bench}    {card}
Suite Teardown    Release Bench
Test Setup        Ready The Bench
*** Test Cases ***"""


def run(bench: FakeBench, tests: str, *, take: bool = True, **options: object) -> dict[str, Result]:
    """Run these tests; the results by name, and the exit status is the number of failed ones."""
    suite = bench.folder / "toy.robot"
    head = (
        SETTINGS.replace("*** Test Cases ***", TAKEN.format(bench=bench.file, card=bench.sheet)) if take else SETTINGS
    )
    suite.write_text(head + tests)
    out = bench.folder / "out"
    quiet = {"log": None, "report": None, "console": "none", "stdout": io.StringIO(), "stderr": io.StringIO()}
    status = robot(str(suite), outputdir=str(out), **quiet, **options)
    tests_run = list(ExecutionResult(out / "output.xml").suite.all_tests)
    assert tests_run and status == sum(test.failed for test in tests_run)
    return {test.name: test for test in tests_run}


EVERYTHING = """
Everything
    BMC Should Report Power    dut    ON
    BMC Should Report Power    peer    on
    Sensors Should Be Readable    peer
    Console Should Answer    dut
    Every Port Should Be The Card On The Sheet
    Driver Should Be Loaded
    Every Link Should Be Up
    Every Link Should Run As On The Sheet
    Every Link Should Carry Traffic
    PCIe Link Should Be As On The Sheet
    Reboot    dut
    Ready The Bench
    Every Link Should Carry Traffic
"""


def test_a_good_bench_is_green_and_left_as_it_was(bench: FakeBench) -> None:
    bench.set_state(up=False)
    results = run(bench, EVERYTHING)
    assert results["Everything"].message == ""
    assert results["Everything"].passed and bench.said == ["up", "pull", "plug", "pull", "plug", "down"]
    assert Journal.for_bench("virtual").pending() == []
    assert not any(nic.admin_up or nic.addresses for nic in bench.cables.nics.values())


SWITCH = """
A Link Is Lost And Found
    Shut Switch Port    dut.p1
    ${state} =    Get Switch Port State    dut.p1
    Should Be Equal As Strings    ${state.oper.name}    DOWN
    Open All Shut Switch Ports
    ${octets} =    Get Switch Port Counter    dut.p1    in_octets
    Should Be Equal    ${octets}    ${1000}
    Switch Should Not Have Restarted
A Test That Leaves A Port Shut
    Shut Switch Port    peer.p1
A Port On No Switch
    Shut Switch Port    dut.p0
A Link That Is None
    Lose The Sideways Link    by=switch-port
"""


def test_a_switch_is_used_and_left_as_it_was(bench: FakeBench, switch: FakeSwitch) -> None:
    results = run(bench, SWITCH)
    for name in ("A Link Is Lost And Found", "A Test That Leaves A Port Shut"):
        assert results[name].message == "" and results[name].passed
    assert results["A Port On No Switch"].skipped
    assert "dut.p0 is not on a managed switch" in results["A Port On No Switch"].message
    assert "cannot be converted to MemberLink" in results["A Link That Is None"].message
    assert Journal.for_bench("virtual").pending() == []
    assert switch.admin("Gi1/0/2") == 1 and switch.switch().vlans.existing() == {1}


def test_verdicts_keep_their_names(bench: FakeBench) -> None:
    bench.dut.nics[0].device = replace(bench.dut.nics[0].device, device_id="10d4")
    bench.edit(bench.sheet, ("required: {unknown: nobody measured it}", 'required: ["2.1-0"]'))
    for nic in bench.dut.nics:
        nic.info = replace(nic.info, firmware=None)
    for ssh in bench.ssh.values():
        ssh.replies |= EVIDENCE
    tests = """
Red
    Every Port Should Be The Card On The Sheet
Fault
    BMC Should Report Power    peer    OFF
Skipped
    Package Should Be As On The Sheet
Undecided
    All Ports Should Run The Same Firmware
"""
    results = run(bench, tests)
    assert results["Red"].message.startswith("CardFailure: dut.p0 (0000:01:00.0) is 8086:10d4")
    assert results["Fault"].message == "BenchFault: peer: FakeBmc reports power on; expected off"
    assert results["Skipped"].skipped and "no package of it is named" in results["Skipped"].message
    assert results["Undecided"].failed and results["Undecided"].message.startswith("Undecided: dut: none of")
    evidence = {path.name for path in (bench.folder / "out" / "evidence").iterdir()}
    assert any("dut-console" in name for name in evidence), evidence


def test_evidence_is_of_failed_tests_only(bench: FakeBench) -> None:
    for ssh in bench.ssh.values():
        ssh.replies |= EVIDENCE
    results = run(bench, "\nGood\n    Every Link Should Be Up\n")
    evidence = bench.folder / "out" / "evidence"
    assert results["Good"].passed and not list(evidence.glob("*kernel-log*"))
    run(bench, "\nBad\n    Fail    no\n")
    assert any("kernel words" in path.read_text() for path in evidence.glob("*dut-kernel-log*"))
    assert list(evidence.glob("*peer-kernel-log*"))


def test_what_a_test_lost_is_made_ready_for_the_next(bench: FakeBench) -> None:
    """A driver that is gone is loaded, links that are down are set up, each with a warning or an undo."""
    bench.dut.loaded = replace(MODULE, name="e1000e")
    results = run(bench, "\nReboots\n    Reboot    peer\nNext\n    Every Link Should Carry Traffic\n")
    assert results["Next"].passed, results["Next"].message
    bench.dut.loaded = None
    results = run(bench, "\nUnloaded\n    Every Link Should Carry Traffic\nSeen\n    Driver Should Be Loaded\n")
    assert results["Unloaded"].passed, results["Unloaded"].message
    assert results["Seen"].message.startswith("CardFailure: dut: driver e1000e is not loaded after boot")


def test_wrong_cables_stop_the_run_before_any_verdict(bench: FakeBench) -> None:
    bench.cables.wires = {"a": ("dut.p0", "peer.p1"), "b": ("dut.p1", "peer.p0")}
    results = run(bench, EVERYTHING)
    assert "BenchFault: path a broken: still carrier at peer.p0" in results["Everything"].message
    assert Journal.for_bench("virtual").pending() == []


@pytest.mark.parametrize("call", ["Power Cycle    switch", "BMC Should Report Power    dut    HALF", "Crash    ${7}"])
def test_a_wrong_argument_is_refused_before_anything_is_done(bench: FakeBench, call: str) -> None:
    results = run(bench, f"\nWrong\n    {call}\n", take=False)
    assert results["Wrong"].message.startswith("ValueError: Argument ")
    assert bench.bmcs[next(iter(bench.bmcs))]["ipmi"].orders == []


def test_without_a_taken_bench_every_keyword_says_what_to_do(bench: FakeBench) -> None:
    results = run(bench, "\nAlone\n    Every Link Should Be Up\n", take=False)
    assert results["Alone"].message.startswith("BenchFault: no bench is acquired: run 'robot suites/'")


def test_a_dry_run_touches_nothing(bench: FakeBench) -> None:
    results = run(bench, EVERYTHING, dryrun=True)
    assert results["Everything"].passed
    assert bench.state["said"] == [] and not Journal.for_bench("virtual").path.exists()
    assert [ssh.commands for ssh in bench.ssh.values()] == [[], []]


def test_the_quick_profile_leaves_out_what_is_slow(bench: FakeBench) -> None:
    tests = "\nFast\n    No Operation\nSlow\n    [Tags]    slow\n    No Operation\n"
    modifier = f"{LIBRARIES / 'listeners' / 'ProfileFilter.py'}"
    assert set(run(bench, tests, take=False, prerunmodifier=f"{modifier}:quick")) == {"Fast"}
    assert set(run(bench, tests, take=False, prerunmodifier=f"{modifier}:full")) == {"Fast", "Slow"}
    with pytest.raises(ValueError, match=r"^profile 'fast'; expected one of quick, full$"):
        ProfileFilter("fast")


LEFT_OUT = {
    "Offloads Should Be As Delivered": "says nothing about offloads",
    "Offload Should Switch As On The Sheet    tso4": "says nothing about offloads",
    "Offload Counters Should Follow The Switch    every": "says nothing about offloads",
    "Ring Should Take Its Range    every": "says nothing about rings",
    "Coalescing Parameter Should Be Settable    rx-usecs": "says nothing about coalescing",
    "MTU Should Take Its Range": "says nothing about mtu",
    "Install The Driver Package    REQUIRED    peer": "e1000e comes with linux, and no package of it is named",
    "Driver Should Be Of The Package    previous    dut": "e1000e comes with linux, and no package of it is named",
    "Activation Should Be    DRIVER_RELOAD": "says nothing about how firmware is updated",
    "Foreign Image Should Be Refused": "says nothing about how firmware is updated",
}


def test_what_the_sheet_leaves_out_is_skipped_with_the_reason(bench: FakeBench) -> None:
    results = run(bench, "\n" + "".join(f"Test {n}\n    {call}\n" for n, call in enumerate(LEFT_OUT)))
    for test, words in zip(results.values(), LEFT_OUT.values(), strict=True):
        assert test.skipped and words in test.message, (test.name, test.status, test.message)


@pytest.mark.parametrize(
    "call",
    [
        "Install The Driver Package    latest",
        "Install The Driver Package    REQUIRED    other",
        "Activation Should Be    soon",
        "Firmware Should Run    maybe",
        "Offload Counters Should Follow The Switch    every    soon",
    ],
)
def test_a_word_that_is_no_argument_is_an_error(bench: FakeBench, call: str) -> None:
    for ssh in bench.ssh.values():
        ssh.replies |= EVIDENCE
    (test,) = run(bench, f"\nWrong\n    {call}\n").values()
    assert test.failed and "ValueError: Argument" in test.message


def test_throughput_leaves_its_chart_in_log_and_allure_and_its_samples_in_the_run(
    bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ssh in bench.ssh.values():
        ssh.replies |= EVIDENCE
    rates = Rates(bench)
    rates.figures["b", Role.PEER] = (23.5, 23.6, 23.4)
    monkeypatch.setattr(bottleneck, "LOOK_S", 0.001)
    results_folder, out = bench.folder / "allure", bench.folder / "out"
    results = run(
        bench,
        """
Sends
    TCP Should Reach The Limit    sender=dut    profile=quick
Receives
    TCP Should Reach The Limit    sender=peer    profile=quick
Wrong
    TCP Should Reach The Limit    sender=dut    profile=thorough
""",
        listener=f"{LIBRARIES / 'listeners' / 'AllureResults.py'}:{results_folder}",
    )
    assert results["Sends"].passed, results["Sends"].message
    assert results["Receives"].message.startswith("CardFailure: peer.p1 to dut.p1: 23.50 Mbit/s, 95 % interval ")
    assert "ValueError" in results["Wrong"].message and "'thorough'" in results["Wrong"].message
    attached = sorted(path.suffix for path in results_folder.glob("*-attachment*"))
    assert attached.count(".svg") == attached.count(".csv") == 4
    assert any("limit at least 42.5" in path.read_text() for path in results_folder.glob("*.svg"))
    taken = read(out)
    assert [each.samples[0] for each in taken] == [47.0, 47.0, 47.0, 23.5]
    write_json(out / RUN_FILE, {**RUN, "finished": "2026-11-21T10:58:03+00:00"})
    store = BaselineStore(bench.folder / "baselines")
    assert len(store.accept(out)) == 4 and len(listing(store.all())) == 4
