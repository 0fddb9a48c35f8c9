"""The facts of the card on the certificate: read of every port, and again before the bench is released."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_bench import FakeBench
from fake_parts import FILE, KERNEL

from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault
from niclab.report.certificate.remarks import remarks
from niclab.report.evidence.runfolder import new_run, read_run, record_continuation
from niclab.run import run as runs
from niclab.run.run import Run
from niclab.run.watching.facts import CardFacts

FROM = f"{FILE.filename}, of no package of the sheet"


@pytest.fixture
def acquired(bench: FakeBench) -> Run:
    folder = new_run(bench.folder / "results", "intel-82574l", "virtual")
    return runs.acquire(bench.file, bench.load()[1], folder, lambda: None)


def release(run: Run) -> None:
    assert run is runs.current()
    runs.release(lambda last: last.part(CardFacts).require_unchanged())


def test_the_same_on_all_ports_is_said_once(acquired: Run) -> None:
    found = acquired.part(CardFacts).record()
    software = {"driver": f"e1000e {KERNEL}", "firmware": "2.1-0", "kernel": KERNEL, "system": found["system"]}
    assert found == {**software, "qualified_driver": FROM}
    assert read_run(acquired.run_dir)["facts"] == found
    release(acquired)


def test_what_no_test_tries_is_noted_once_with_its_ports(bench: FakeBench, acquired: Run) -> None:
    bench.nic("dut.p0").untried = ("a PTP hardware clock", "wake-on-LAN (g)")
    bench.nic("dut.p1").untried = ("a PTP hardware clock",)
    acquired.part(CardFacts).record()
    (remark,) = [each for each in remarks(acquired.run_dir, {}, [])[0] if each.about == "Not tried"]
    assert remark.details == ("a PTP hardware clock: dut.p0, dut.p1", "wake-on-LAN (g): dut.p0")
    release(acquired)


def test_the_software_of_both_servers_is_noted(
    bench: FakeBench, acquired: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"ip": "6.1.0", "ethtool": "6.1", "ping": "unknown", "ssh": "9.2p1", "iperf3": "3.12"}
    monkeypatch.setattr(type(bench.dut), "tools", lambda _, names: {name: said.get(name) for name in names})
    acquired.part(CardFacts).record()
    noted = read_run(acquired.run_dir)["software"]
    programs = {"ip": "6.1.0", "ethtool": "6.1", "ssh": "9.2p1", "iperf3": "3.12"}
    system = {"system": "Debian 12", "kernel": KERNEL, "driver": FROM}
    assert noted["dut"] == {**system, **programs} == noted["peer"]
    release(acquired)


def test_software_that_cannot_be_read_is_no_fault(
    bench: FakeBench, acquired: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tools(*_: object) -> None:
        raise BenchFault("dut: 'python3 --version' ran past 20 s")

    monkeypatch.setattr(type(bench.dut), "tools", tools)
    acquired.part(CardFacts).record()
    assert read_run(acquired.run_dir)["software"]["dut"] == {"not read": "dut: 'python3 --version' ran past 20 s"}
    release(acquired)


def test_each_port_is_named_where_they_differ(bench: FakeBench, acquired: Run) -> None:
    nic = bench.nic("dut.p1")
    nic.info = replace(nic.info, firmware="2.2-0")
    assert acquired.part(CardFacts).record()["firmware"] == "p0 2.1-0, p1 2.2-0"


@pytest.mark.parametrize("port", ["dut.p0", "dut.p1"])
def test_another_value_at_the_end_is_a_fault_that_names_both(bench: FakeBench, acquired: Run, port: str) -> None:
    acquired.part(CardFacts).record()
    nic = bench.nic(port)
    nic.info = replace(nic.info, firmware="2.2-0")
    shown = "p0 2.2-0, p1 2.1-0" if port == "dut.p0" else "p0 2.1-0, p1 2.2-0"
    with pytest.raises(BenchFault) as caught:
        release(acquired)
    assert str(caught.value) == f"dut: firmware is {shown}; expected 2.1-0, as at the start of the run"
    assert runs.acquired() is None and acquired.journal.pending() == []


def test_a_continued_run_qualifies_the_same_card(bench: FakeBench, acquired: Run) -> None:
    """Another of its kind has the same driver and firmware; the certificate names the serial number of one."""
    acquired.part(CardFacts).record()
    record_continuation(acquired.run_dir, "")
    acquired.part(CardFacts).record()
    bench.nic("dut.p1").mac = "52:54:00:00:07:01"
    with pytest.raises(BenchFault, match=r", p1 52:54:00:00:07:01 now, p0 .+ earlier in this run"):
        acquired.part(CardFacts).record()


def test_another_kernel_is_found_as_well(acquired: Run, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    acquired.part(CardFacts).record()
    monkeypatch.setattr(type(bench.dut), "kernel", lambda _: "6.1.0-99")
    with pytest.raises(BenchFault, match=rf"^dut: kernel is 6\.1\.0-99; expected {KERNEL}, as at the start"):
        release(acquired)


def test_the_facts_are_read_when_the_changes_are_undone_and_the_servers_still_run(acquired: Run) -> None:
    seen = list[ActionKind]()
    acquired.journal.register("bench", "was down", Action(ActionKind.LOCAL, "controller", "true"))
    acquired.journal.register("dut", "changed", Action(ActionKind.SHELL, "dut", "true"))
    runs.release(lambda run: seen.extend(entry.action.kind for entry in run.journal.pending()))
    assert seen == [ActionKind.LOCAL]


def test_a_bench_that_was_not_made_ready_is_not_asked(acquired: Run) -> None:
    release(acquired)
    assert runs.acquired() is None
