"""The doctor finds each fault, says how it is mended, and changes nothing that stays."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.commands import cli, doctor
from niclab.commands.doctor import Finding
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault
from niclab.transports import AuthenticationFailed


@pytest.fixture(autouse=True)
def well(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bench without a fault."""
    monkeypatch.setattr(doctor, "Server", bench.server_class)
    for host in bench.hosts.values():
        host.clock = time.time


def examine(bench: FakeBench, *, cables: bool = True) -> list[Finding]:
    return list(doctor.examine(bench.file, str(bench.sheet), cables=cables, scratch=bench.folder / "scratch"))


def only_fault(bench: FakeBench) -> Finding:
    (fault,) = [finding for finding in examine(bench) if finding.fault]
    assert fault.mend and f"mend: {fault.mend}" in str(fault) and fault.fault in str(fault)
    return fault


def state(bench: FakeBench) -> list[object]:
    nics = [(name, nic.admin_up, list(nic.addresses)) for name, nic in bench.cables.nics.items()]
    return [*nics, bench.pulled(), Journal.for_bench("virtual").pending(), bench.state["up"]]


def test_a_good_bench_has_no_fault_and_is_left_as_it_was(bench: FakeBench) -> None:
    before = state(bench)
    found = examine(bench)
    assert [finding.fault for finding in found if finding.fault] == []
    server = ["ssh", "privileges", "tools", "clock", "p0", "p1", "ipmi", "redfish", "console"]
    looked = [finding.what for finding in found]
    assert looked == ["file", "journal", *server, *server, "cables", "cables"]
    assert all(str(finding).startswith("ok") for finding in found)
    assert state(bench) == before
    assert sorted(bench.closed) == ["dut", "peer"]


def test_without_cables_no_link_is_touched(bench: FakeBench) -> None:
    found = examine(bench, cables=False)
    assert "cables" not in [finding.what for finding in found]
    assert bench.said == [] and bench.dut.changes == []


Spoil = Callable[[FakeBench], object]
FAULTS: list[tuple[str, str, Spoil, str, str]] = [
    ("dut", "privileges", lambda bench: setattr(bench.dut, "root", False), "root is not root", "log in as root"),
    ("peer", "tools", lambda bench: bench.peer.missing_tools.add("iperf3"), "missing: iperf3", "install what is"),
    ("dut", "clock", lambda bench: setattr(bench.dut, "clock", lambda: time.time() + 9), r"\+9\.0 s from", "NTP"),
    ("peer", "clock", lambda bench: setattr(bench.peer, "clock", lambda: time.time() - 9), r"-9\.0 s from", "NTP"),
    ("dut", "p1", lambda bench: setattr(bench.nic("dut.p1"), "pci", "x"), "no network interface", "'pci' of dut.p1"),
    ("peer", "console", lambda bench: setattr(bench.consoles[Role.PEER], "silent", True), "not within", "url"),
]


@pytest.mark.parametrize(
    ("subject", "what", "spoil", "fault", "mend"), FAULTS, ids=[f"{row[0]}-{row[1]}" for row in FAULTS]
)
def test_each_fault_is_found_and_mended_by_name(
    bench: FakeBench, subject: str, what: str, spoil: Spoil, fault: str, mend: str
) -> None:
    spoil(bench)
    found = only_fault(bench)
    assert (found.subject, found.what) == (subject, what)
    assert mend in found.mend
    assert re.search(fault, found.fault)
    assert bench.dut.changes == [] and bench.said == []  # no cable is proven on a bench with faults


@pytest.mark.parametrize("protocol", ["ipmi", "redfish"])
def test_a_bmc_that_lets_nobody_in_is_found(bench: FakeBench, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AuthenticationFailed("dut BMC: password refused")

    monkeypatch.setattr(bench.bmcs[Role.DUT][protocol], "power_status", refuse)
    found = only_fault(bench)
    assert (found.subject, found.what) == ("dut", protocol) and "BMC_PASSWORD" in found.mend


def test_a_server_that_does_not_answer_is_not_asked_more(bench: FakeBench) -> None:
    bench.peer.crash()
    found = only_fault(bench)
    assert (found.subject, found.what) == ("peer", "ssh")
    assert "ssh-keyscan -p 2222 127.77.1.11 >>" in found.mend and "key_file" in found.mend


def test_a_bench_that_is_down_is_not_brought_up(bench: FakeBench) -> None:
    bench.set_state(up=False)
    found = only_fault(bench)
    assert found.what == "power" and found.mend.startswith("run: ") and found.mend.endswith(" up")
    assert bench.said == []


def test_a_status_command_that_cannot_run_is_found(bench: FakeBench) -> None:
    bench.tool_file.unlink()
    assert only_fault(bench).what == "power"


def test_a_wrong_file_is_found(bench: FakeBench) -> None:
    bench.edit(bench.file, ("os: linux", "os: plan9"))
    found = only_fault(bench)
    assert found.what == "file" and "plan9" in found.fault and "example-real.yaml" in found.mend


def test_a_bench_in_use_is_found(bench: FakeBench) -> None:
    with Journal.for_bench("virtual").hold():
        found = only_fault(bench)
    assert found.what == "lock" and "in use by pid" in found.fault and "wait for the other run" in found.mend


def test_what_a_killed_run_left_is_found_and_stays(bench: FakeBench) -> None:
    with Journal.for_bench("virtual").hold() as journal:
        journal.register("dut.p0", "set up", Action(ActionKind.SHELL, "dut", "ip link set dev enp1s0 down"))
    before = state(bench)
    found = only_fault(bench)
    assert found.what == "journal" and f"niclab restore {bench.file}" in found.mend
    assert state(bench) == before and bench.said == []


def test_wrong_cables_are_found_and_everything_is_put_back(bench: FakeBench) -> None:
    before = state(bench)
    bench.cables.wires = {"a": ("dut.p0", "peer.p1"), "b": ("dut.p1", "peer.p0")}
    found = only_fault(bench)
    assert found.what == "cables" and "still carrier at peer.p0" in found.fault and "'paths'" in found.mend
    assert state(bench) == before


def test_links_that_cannot_be_put_back_are_found(bench: FakeBench) -> None:
    bench.ssh[Role.PEER].replies["ip link set dev enp1s0 down"] = BenchFault("peer: busy")
    found = only_fault(bench)
    assert found.what == "journal" and "could not be undone" in found.fault and "niclab restore" in found.mend


@pytest.mark.parametrize(("faulty", "status", "last"), [(False, 0, "the bench is ready"), (True, 1, "1 fault")])
def test_the_command_says_and_returns_it(
    bench: FakeBench, faulty: bool, status: int, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.dut.root = not faulty
    assert cli.main(["doctor", str(bench.file), "--card", str(bench.sheet), "--no-cables"]) == status
    assert capsys.readouterr().out.splitlines()[-1] == last


def test_several_faults_are_counted(bench: FakeBench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.dut.root = bench.peer.root = False
    assert cli.main(["doctor", str(bench.file), "--card", str(bench.sheet)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 faults"


def test_the_cards_that_are_in_are_named(bench: FakeBench) -> None:
    bench.give_slots("intel-82574l", "intel-82574l")
    found = {finding.what: finding for finding in examine(bench)}
    assert found["cards"].seen == "dut intel-82574l, peer intel-82574l" and not found["cards"].fault


def test_another_card_than_the_one_asked_for_is_told_and_left_in(bench: FakeBench) -> None:
    bench.give_slots("intel-82574l", "some-card")
    fault = only_fault(bench)
    assert fault.fault == "dut intel-82574l, peer some-card, wanted intel-82574l in both servers"
    assert fault.mend.startswith("run: ") and fault.mend.endswith(" insert intel-82574l intel-82574l")
    assert bench.state["cards"] == ["intel-82574l", "some-card"]
