"""Changes of an interface that went with a boot of their server: nothing is left to undo when the interface is gone."""

from __future__ import annotations

import json

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.commands import cli
from niclab.core.exit_status import ExitStatus
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault
from niclab.run import run as runs
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.run import Run
from niclab.run.watching.kernel_watch import KernelWatch

UNDO = "ip link set dev enp1s0 down"
NO_DEVICE = BenchFault("dut: Cannot find device enp1s0")


@pytest.fixture
def killed(bench: FakeBench) -> Run:
    """A run that was killed after it had prepared the ports; from now on no undo at the dut's first port succeeds."""
    run = bench.take("killed")
    run.part(PreparedPorts).prepare()
    runs._CURRENT.clear()
    run._stack.close()
    for command in (UNDO, "ip address flush dev enp1s0 to 198.18.10.1"):
        bench.ssh[Role.DUT].replies[command] = NO_DEVICE
    return run


def exchange(bench: FakeBench) -> None:
    """The first port of the dut is another interface."""
    bench.nic("dut.p0").iface = "enp9s0"


def pending() -> list[str]:
    return [entry.action.command for entry in Journal.for_bench("virtual").pending()]


def test_what_went_with_the_boot_is_settled_and_said(
    bench: FakeBench, killed: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    first = bench.dut.boot_id()
    exchange(bench)
    bench.dut.boot()
    assert cli.main(["restore", str(bench.file)]) == ExitStatus.CERTIFIED
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("nothing left to undo: dut.p0")]
    assert len(said) == 2 and pending() == []
    gone = f"; gone with the boot {first} of dut: there is no enp1s0 since the boot {bench.dut.boot_id()}"
    assert all(line.endswith(gone) for line in said)
    assert killed.journal.path.read_text().count(f'"gone": "{gone[2:]}"') == 2


def test_an_interface_that_is_gone_in_the_same_boot_is_a_fault(bench: FakeBench, killed: Run) -> None:
    exchange(bench)
    assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT
    assert UNDO in pending() and len(pending()) == 2 and killed.journal.pending()[0].errors


def test_the_undo_at_an_interface_that_is_there_has_to_succeed(bench: FakeBench, killed: Run) -> None:
    bench.dut.boot()
    assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT
    assert len(pending()) == 2
    bench.ssh[Role.DUT].replies.clear()
    assert cli.main(["restore", str(bench.file)]) == ExitStatus.CERTIFIED
    assert pending() == [] and "gone" not in killed.journal.path.read_text()


def test_a_journal_that_knows_no_boots_is_undone_as_before(bench: FakeBench, killed: Run) -> None:
    lines = [json.loads(line) for line in killed.journal.path.read_text().splitlines()]
    for line in lines:
        if line["event"] == "registered":
            assert line.pop("boot") and line["action"].pop("iface")
    killed.journal.path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    exchange(bench)
    bench.dut.boot()
    assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT
    assert len(pending()) == 2


def test_the_journal_knows_the_boot_of_each_server_that_the_lab_has_ordered(bench: FakeBench) -> None:
    run = bench.take()
    assert run.journal.boots == {role.value: host.boot_id() for role, host in bench.hosts.items()}
    run.server(Role.DUT).reboot()
    assert run.journal.boots["dut"] == bench.dut.boot_id()
    run.part(KernelWatch).begin()
    bench.peer.boot()
    run.part(KernelWatch).look()
    assert run.journal.boots == {"dut": bench.dut.boot_id()}
    action = Action(ActionKind.SHELL, "peer", UNDO, iface="enp1s0")
    assert run.journal.register("peer.p0", "set up", action).boot == ""


def test_a_server_that_runs_another_system_than_wanted_is_taken_all_the_same(
    bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_: object) -> str:
        raise BenchFault("dut: `cat /proc/sys/kernel/random/boot_id` failed with exit status 1")

    monkeypatch.setattr(type(bench.dut), "boot_id", unknown)
    assert bench.take().journal.boots == {}


def test_a_server_that_cannot_be_asked_keeps_the_change(bench: FakeBench, killed: Run) -> None:
    exchange(bench)
    bench.dut.boot()

    def silent(_: object) -> str:
        raise BenchFault("dut: no answer within 60 s")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(bench.dut), "interface_names", silent)
        assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT
    assert len(pending()) == 2
    said = "(not known whether anything is left: dut: no answer within 60 s)"
    assert all(entry.errors[-1].endswith(said) for entry in killed.journal.pending())
