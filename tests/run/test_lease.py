"""Leases: who uses a server is said on the server, whoever asks from wherever."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.commands import cli, doctor
from niclab.core.exit_status import ExitStatus
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault
from niclab.run import run as runs
from niclab.run.acquiring import ready
from niclab.run.acquiring.lease import Holder, Lease, Stolen
from niclab.run.acquiring.recover import recover
from niclab.transports.bmc.bmc import PowerState
from niclab.transports.ssh.ssh import Result

ALICE = Holder("alice", "controller-1", 4711, "2026-11-23T08:00:00+01:00", "lab1", "20261123-080000", "a" * 32)
BOB = Holder("bob", "controller-2", 815, "2026-11-23T09:00:00+01:00", "other", "20261123-090000", "b" * 32)


class LocalShell:
    """A server whose shell is the one of this machine."""

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result:
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=timeout_s)
        if check and done.returncode:
            raise BenchFault(f"dut: {done.stderr}")
        return Result(command, done.returncode, None, done.stdout, done.stderr, 0.0)


def lease_of(holder: Holder, folder: Path, *earlier: str) -> Lease:
    return Lease("dut", LocalShell(), holder, lambda token: token in (holder.token, *earlier), str(folder / "of it"))


class TestInARealShell:
    def test_the_second_holder_is_refused_by_the_name_of_the_first(self, tmp_path: Path) -> None:
        first, second = lease_of(ALICE, tmp_path), lease_of(BOB, tmp_path)
        first.take()
        first.take()  # after a restart that the lease has survived
        with pytest.raises(BenchFault) as caught:
            second.take()
        assert str(caught.value) == (
            "dut: in use by alice@controller-1 (bench lab1, run 20261123-080000, pid 4711) since "
            f"2026-11-23T08:00:00+01:00; expected nobody ({tmp_path}/of it/lease on the server; "
            "if that run has ended: niclab restore --steal)"
        )
        assert not second.held
        second.give_back()
        assert [path.name for path in (tmp_path / "of it").iterdir()] == ["lease"]
        first.give_back()
        assert list((tmp_path / "of it").iterdir()) == []
        second.take()

    def test_of_many_at_once_one_gets_it(self, tmp_path: Path) -> None:
        leases = [lease_of(replace(ALICE, token=f"{n:032x}"), tmp_path) for n in range(8)]
        refused: list[BenchFault] = []

        def take(lease: Lease) -> None:
            try:
                lease.take()
            except BenchFault as error:
                refused.append(error)

        threads = [threading.Thread(target=take, args=(lease,)) for lease in leases]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(lease.held for lease in leases) == 1 and len(refused) == 7
        assert all("in use by alice@controller-1" in str(error) for error in refused)

    def test_what_an_ended_run_of_the_same_journal_left_is_replaced(self, tmp_path: Path) -> None:
        lease_of(ALICE, tmp_path).take()
        again = lease_of(replace(ALICE, token="c" * 32), tmp_path, ALICE.token)
        again.take()
        assert json.loads((tmp_path / "of it" / "lease").read_text())["token"] == "c" * 32

    def test_a_stolen_lease_is_left_to_its_new_holder(self, tmp_path: Path) -> None:
        first, second = lease_of(ALICE, tmp_path), lease_of(BOB, tmp_path)
        assert second.steal() is None
        first.take()
        assert second.steal() == Stolen("dut", str(ALICE), ALICE.token)
        second.take()
        first.give_back()
        assert Holder.read((tmp_path / "of it" / "lease").read_text()) == BOB

    @pytest.mark.parametrize("content", ["", "no lease", "[]", '{"user": "x", "pid": "many"}'])
    def test_a_lease_that_names_nobody_is_nobodys_to_take(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "of it").mkdir()
        (tmp_path / "of it" / "lease").write_text(content)
        with pytest.raises(BenchFault, match="in use by somebody whose lease says"):
            lease_of(ALICE, tmp_path).take()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_folder_that_cannot_be_written_is_an_error(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o500)
        with pytest.raises(BenchFault, match="Permission denied"):
            lease_of(ALICE, tmp_path).take()

    def test_a_folder_that_is_none_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "of it").touch()
        with pytest.raises(BenchFault, match="exists"):
            lease_of(ALICE, tmp_path).take()


def files(bench: FakeBench) -> dict[str, Path]:
    return {role.value: Path(bench.ssh[role].root) / "lease" for role in Role}


def used_by_alice(bench: FakeBench, server: str) -> Path:
    file = files(bench)[server]
    file.write_text(json.dumps(ALICE.__dict__))
    return file


class TestOfARun:
    def test_both_are_taken_and_given_back(self, bench: FakeBench) -> None:
        taken = bench.take()
        for file in files(bench).values():
            holder = Holder.read(file.read_text())
            assert holder is not None and (holder.pid, holder.bench, holder.run) == (os.getpid(), "virtual", "run-1")
            assert holder.token == taken.journal.token
        runs.release()
        assert not any(file.exists() for file in files(bench).values())

    @pytest.mark.parametrize("server", ["dut", "peer"])
    @pytest.mark.parametrize("commands", [True, False])
    def test_a_bench_that_others_use_is_left_alone(self, bench: FakeBench, server: str, commands: bool) -> None:
        bench.write(commands=commands, cables=True)
        if commands:
            bench.give_slots("intel-82574l", "other-card")  # would be exchanged, which restarts the server
        file = used_by_alice(bench, server)
        with pytest.raises(BenchFault, match=rf"^{server}: in use by alice@controller-1 .* since 2026-11-23T08:00"):
            bench.take()
        assert bench.said == [] and bench.dut.changes == [] and bench.ssh[Role.DUT].commands in (["true"], ["true"] * 2)
        assert [each for each in files(bench).values() if each.exists()] == [file]
        with Journal.for_bench("virtual").hold():
            pass

    def test_what_a_killed_run_left_is_not_undone_on_servers_that_others_use(self, bench: FakeBench) -> None:
        with Journal.for_bench("virtual", "killed").hold() as journal:
            journal.register("dut.p0", "set up", Action(ActionKind.SHELL, "dut", "ip link set dev enp1s0 down"))
        file = used_by_alice(bench, "peer")
        assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT
        assert len(journal.pending()) == 1 and file.exists()

    def test_the_next_run_takes_over_from_a_killed_one(self, bench: FakeBench) -> None:
        bench.take()
        runs._CURRENT.pop()._stack.close()  # the kernel closes the journal of a killed run, and nothing else
        assert all(file.exists() for file in files(bench).values())
        bench.take("run-2")
        runs.release()
        assert not any(file.exists() for file in files(bench).values())

    def test_restore_gives_back_what_a_killed_run_left(self, bench: FakeBench) -> None:
        bench.take()
        runs._CURRENT.pop()._stack.close()
        assert cli.main(["restore", str(bench.file)]) == 0
        assert not any(file.exists() for file in files(bench).values())

    def test_restore_breaks_the_lease_of_others_only_when_it_is_to(
        self, bench: FakeBench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = used_by_alice(bench, "dut")
        assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT
        assert "dut: in use by alice@controller-1" in capsys.readouterr().err and file.exists()
        assert cli.main(["restore", str(bench.file), "--steal"]) == ExitStatus.BENCH_FAULT
        first, *_, last = capsys.readouterr().out.splitlines()
        assert first == f"dut: the lease of {ALICE} is broken"
        assert last.startswith(f"dut: no copy of the journal of {ALICE} is on it; its changes are in the journal there")
        assert not any(each.exists() for each in files(bench).values())

    @pytest.mark.parametrize("restart", ["reboot", "power_cycle"])
    def test_it_is_taken_again_after_a_restart(self, bench: FakeBench, restart: str) -> None:
        taken = bench.take()
        getattr(taken.server("dut"), restart)()
        assert bench.dut.boots == 2
        assert all(file.exists() for file in files(bench).values())
        bench.peer.crash()
        recover(taken.server("peer"))
        runs.release()
        assert not any(file.exists() for file in files(bench).values())

    @pytest.mark.parametrize("server", ["dut", "peer"])
    def test_a_stolen_one_is_seen_before_a_test_and_ends_the_run(self, bench: FakeBench, server: str) -> None:
        taken = bench.take()
        ready.make_ready(taken, print)
        nic = bench.nic("dut.p0")
        undo = Action(ActionKind.SHELL, "dut", f"ip link set dev {nic.iface} mtu 1500")
        taken.journal.register("dut.p0", "MTU of 9000", undo)
        nic.mtu = 9000
        file = used_by_alice(bench, server)
        with pytest.raises(BenchFault, match=rf"^{server}: the lease is lost to alice@controller-1 .* until its end"):
            ready.make_ready(taken, print)
        assert "lost to alice" in taken.server(server).out_of_service  # the rest of the run is skipped
        with pytest.raises(BenchFault, match="nothing is undone from here: its changes stay in"):
            runs.release()
        assert nic.mtu == 9000 and file.exists()
        assert [each for each in files(bench).values() if each.exists()] == [file]

    def test_one_that_is_looked_at_before_a_test_costs_no_command(self, bench: FakeBench) -> None:
        taken = bench.take()
        ready.make_ready(taken, print)
        before = {role: len(ssh.commands) for role, ssh in bench.ssh.items()}
        ready.make_ready(taken, print)
        assert all(len(bench.ssh[role].commands) - before[role] == 1 for role in Role)

    @pytest.mark.parametrize("act", ["reboot", "power_cycle", "reset", "crash"])
    def test_a_stolen_server_is_not_restarted(self, bench: FakeBench, act: str) -> None:
        taken = bench.take()
        used_by_alice(bench, "dut")
        with pytest.raises(BenchFault, match="the lease is lost to alice"):
            getattr(taken.server("dut"), act)()
        assert bench.dut.boots == 1 and bench.dut.alive and bench.bmcs[Role.DUT]["ipmi"].orders == []

    def test_nothing_is_undone_on_a_stolen_bench_that_nobody_has_looked_at(self, bench: FakeBench) -> None:
        taken = bench.take()
        taken.journal.register("dut.p0", "x", Action(ActionKind.SHELL, "dut", "ip link set dev enp1s0 down"))
        bench.nic("dut.p0").admin_up = True
        used_by_alice(bench, "peer")
        with pytest.raises(BenchFault, match="peer: the lease is lost to alice"):
            runs.release()
        assert bench.nic("dut.p0").admin_up

    def test_one_that_is_gone_is_taken_again(self, bench: FakeBench) -> None:
        taken = bench.take()
        files(bench)["dut"].unlink()
        taken.server("dut").require_lease()
        assert files(bench)["dut"].exists()

    @pytest.mark.parametrize("look", ["require_lease", "reboot"])
    @pytest.mark.parametrize("left", ["", json.dumps(BOB.__dict__)])
    def test_one_that_was_stolen_and_given_back_stays_lost(self, bench: FakeBench, look: str, left: str) -> None:
        taken = bench.take()
        copy = Path(bench.ssh[Role.DUT].root) / "copy" / "journal"
        files(bench)["dut"].unlink()
        copy.write_text(f"{left}\n") if left else copy.unlink()  # a restore that has undone all removes it
        who = "bob@controller-2" if left else "somebody who has left it"
        with pytest.raises(BenchFault, match=f"dut: the lease is lost to {who}"):
            getattr(taken.server("dut"), look)()
        with pytest.raises(BenchFault, match="the lease is lost to"):
            taken.server("dut").wait_ready()
        assert not files(bench)["dut"].exists()

    def test_a_server_whose_first_copy_was_never_written_is_taken_again(self, bench: FakeBench) -> None:
        taken = bench.take()
        copy = taken.server("dut").copy
        assert copy is not None
        copy._is_there = False
        (Path(bench.ssh[Role.DUT].root) / "copy" / "journal").unlink()
        files(bench)["dut"].unlink()
        taken.server("dut").require_lease()
        assert files(bench)["dut"].exists()

    def test_who_takes_it_during_a_restart_keeps_it(self, bench: FakeBench) -> None:
        taken = bench.take()
        bench.dut.on_boot = lambda: used_by_alice(bench, "dut")
        with pytest.raises(BenchFault, match="dut: in use by alice@controller-1"):
            taken.server("dut").reboot()
        runs.release()
        assert [file for file in files(bench).values() if file.exists()] == [files(bench)["dut"]]

    def test_a_server_that_does_not_answer_takes_it_when_it_is_recovered(self, bench: FakeBench) -> None:
        bench.dut.crash()
        bench.take()
        assert bench.dut.boots == 2 and all(file.exists() for file in files(bench).values())

    def test_a_server_that_is_switched_off_at_the_end_has_none_to_give_back(self, bench: FakeBench) -> None:
        bench.peer.crash(PowerState.OFF)
        bench.take()
        runs.release()
        assert bench.peer.power is PowerState.OFF and not files(bench)["dut"].exists()

    def test_the_doctor_finds_it_and_touches_no_cable(self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor, "Server", bench.server_class)
        for host in bench.hosts.values():
            host.clock = time.time
        file = used_by_alice(bench, "peer")
        found = list(doctor.examine(bench.file, str(bench.sheet), cables=True, scratch=bench.folder / "scratch"))
        (lease,) = [each for each in found if each.what == "lease"]
        assert lease.subject == "peer" and "in use by alice" in lease.fault and "--steal" in lease.mend
        assert bench.said == [] and file.exists() and not files(bench)["dut"].exists()
