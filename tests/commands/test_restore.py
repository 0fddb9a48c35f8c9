"""Restoring a bench: before a run, and giving up what cannot be undone."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.commands import cli
from niclab.commands.certifying import certify, robot_process
from niclab.core.exit_status import ExitStatus
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault
from niclab.run import run as runs
from niclab.run.watching.hygiene import BenchHygiene

GONE = "ip address flush dev enp129s0f0"
NO_DEVICE = 'Device "enp129s0f0" does not exist.'


@pytest.fixture
def suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "suites"
    folder.mkdir()
    (folder / "passing.robot").write_text("*** Test Cases ***\nFirst\n    No Operation\n")
    monkeypatch.setattr(robot_process, "SUITES", folder)
    return folder


def certified(bench: FakeBench) -> ExitStatus:
    results = bench.folder / "results"
    return certify.run(bench.file, str(bench.sheet), "quick", results, allow_local_changes=True)


def left_behind(*commands: str) -> Journal:
    """Leave changes of a killed run on the dut."""
    with Journal.for_bench("virtual", "killed").hold() as journal:
        for command in commands:
            journal.register("dut.p0", f"{command.split()[1]} is set", Action(ActionKind.SHELL, "dut", command))
    return journal


class TestBeforeARun:
    def test_what_cannot_be_undone_ends_it_before_its_first_test(
        self, bench: FakeBench, suites: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        journal = left_behind(GONE, "ip link set dev enp1s0 down")
        bench.ssh[Role.DUT].replies[GONE] = BenchFault(f"dut: {GONE!r} failed: {NO_DEVICE}")
        with pytest.raises(BenchFault) as caught:
            certified(bench)
        said = str(caught.value).splitlines()[0]
        assert said.startswith("bench virtual: was not restored, and nothing was run: 1 of 1 changes could not be")
        assert f"dut.p0: address is set: BenchFault: dut: {GONE!r} failed: {NO_DEVICE}" in said
        assert "run niclab restore again, or give them up: niclab restore --forget failed --reason TEXT" in said
        assert suites.is_dir() and not (bench.folder / "results").exists() and capsys.readouterr().out
        assert [entry.action.command for entry in journal.pending()] == [GONE]

    def test_what_can_be_undone_is_and_the_run_goes_on(
        self, bench: FakeBench, suites: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        journal = left_behind("ip link set dev enp1s0 down")
        bench.nic("dut.p0").admin_up = True
        certified(bench)
        assert suites.is_dir() and not bench.nic("dut.p0").admin_up and journal.pending() == []
        assert "undone: dut.p0: link is set" in capsys.readouterr().out
        assert len(list((bench.folder / "results").glob("2*"))) == 1

    def test_a_bench_that_is_used_is_refused(self, bench: FakeBench, suites: Path) -> None:
        with Journal.for_bench("virtual", "other").hold() as journal:
            journal.register("dut.p0", "set up", Action(ActionKind.SHELL, "dut", "ip link set dev enp1s0 down"))
            with pytest.raises(BenchFault, match=r"^\S+: the bench is in use by pid"):
                certified(bench)
        assert suites.is_dir() and not (bench.folder / "results").exists()


class TestForgetting:
    def test_every_change_that_failed_is_given_up_at_once(
        self, bench: FakeBench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        others = [GONE.replace("f0", f"f{number}") for number in (1, 2)]
        left_behind(GONE, *others)
        for command in (GONE, *others):
            bench.ssh[Role.DUT].replies[command] = BenchFault(f"dut: {NO_DEVICE}")
        assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT
        journal = left_behind("ip link set dev enp1s0 down")
        forget = ["restore", str(bench.file), "--forget", "failed"]
        assert cli.main(forget) == ExitStatus.BENCH_FAULT and "the reason is empty" in capsys.readouterr().err
        assert len(journal.pending()) == 4
        assert cli.main([*forget, "--reason", "the card was exchanged"]) == 0
        assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["forgotten"] * 3
        assert [entry.action.command for entry in journal.pending()] == ["ip link set dev enp1s0 down"]
        assert journal.path.read_text().count('"reason": "the card was exchanged", "by": ') == 3
        assert cli.main([*forget, "--reason", "again"]) == ExitStatus.BENCH_FAULT
        assert "no pending change has failed to be undone" in capsys.readouterr().err


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_a_bench_is_compared_although_an_undo_has_failed(
    bench: FakeBench, capsys: pytest.CaptureFixture[str], failures: int
) -> None:
    taken = bench.take("killed")
    taken.part(BenchHygiene).begin()
    taken.journal.register("dut.p0", "is changed", Action(ActionKind.SHELL, "dut", GONE))
    bench.dut.sysctls["net/core/rmem_max"] = "1"
    runs._CURRENT.clear()
    taken._stack.close()
    told = list[str]()

    def fails(command: str) -> str:
        told.append(command)
        if len(told) <= failures:
            raise BenchFault("dut: not yet")
        return ""

    bench.ssh[Role.DUT].replies[GONE] = fails
    status = cli.main(["restore", str(bench.file)])
    said = capsys.readouterr()
    assert status == ExitStatus.BENCH_FAULT and len(told) == min(failures + 1, 3)
    if failures < 3:
        assert "is changed" in said.out and "1 changes undone" in said.out
        assert "dut: sysctl net.core.rmem_max: 1; expected 212992" in said.out
    else:
        assert "1 of 1 changes could not be undone" in said.out + said.err
