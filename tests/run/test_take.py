"""Taking a bench, keeping it prepared, and giving it back as it was found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fake_bench import FakeBench

import niclab
from niclab.bench.bench_commands import Controller
from niclab.bench.records import Port, Role
from niclab.card import load_card
from niclab.core import marks
from niclab.core.marks import MarkKind
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault
from niclab.core.wait import pause, until
from niclab.run import run as runs
from niclab.run.acquiring import ready
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.acquiring.recover import ensure_ready
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.transports import ConnectionLost
from niclab.transports.bmc.bmc import PowerAction, PowerState

LINK_DOWN = {nic: f"ip link set dev {nic} down" for nic in ("enp1s0", "enp2s0")}


def undos(taken: Run) -> list[str]:
    return [entry.action.command for entry in taken.journal.pending()]


def left_behind(*actions: Action) -> None:
    """Leave in the journal what a killed run has left there."""
    with Journal.for_bench("virtual", "killed").hold() as journal:
        for action in actions:
            journal.register("dut.p0", "changed by a killed run", action)


def link_left_up(bench: FakeBench) -> Action:
    """A link that a killed run has set up, and its undo."""
    bench.nic("dut.p0").admin_up = True
    return Action(ActionKind.SHELL, "dut", LINK_DOWN["enp1s0"])


class TestTaking:
    def test_a_bench_found_up_is_left_up(self, bench: FakeBench) -> None:
        taken = bench.take()
        assert bench.said == [] and taken.journal.pending() == []
        assert {role: server.role for role, server in taken.servers.items()} == {role: role for role in Role}
        runs.release()
        assert bench.said == [] and bench.state["up"]

    def test_a_bench_found_down_is_brought_up_and_put_down_again(self, bench: FakeBench) -> None:
        bench.set_state(up=False)
        taken = bench.take()
        (entry,) = taken.journal.pending()
        assert entry.action.kind is ActionKind.LOCAL and entry.action.command.endswith(" down")
        assert bench.said == ["up"] and bench.state["up"]
        runs.release()
        assert bench.said == ["up", "down"]
        assert Journal.for_bench("virtual").pending() == []
        assert bench.up_when_closed[:2] == [True, True]  # connections end before the bench does

    def test_going_down_is_in_the_journal_before_coming_up(self, bench: FakeBench) -> None:
        bench.set_state(up=False, fail={"up": 4})
        with pytest.raises(BenchFault, match=r"^controller: '.* up' failed with exit status 4"):
            bench.take()
        assert [entry.action.command.split()[-1] for entry in Journal.for_bench("virtual").pending()] == ["down"]

    def test_a_bench_without_commands_is_always_up(self, bench: FakeBench) -> None:
        bench.set_state(up=False)
        bench.write(commands=False, cables=True)
        bench.take()
        assert bench.state["said"] == []

    def test_take_makes_it_current_until_it_is_given_back(self, bench: FakeBench) -> None:
        with pytest.raises(BenchFault, match=r"^no bench is acquired: run 'robot suites/'"):
            runs.current()
        taken = runs.acquire(bench.file, load_card(bench.sheet), bench.folder / "run", lambda: None)
        assert runs.current() is taken
        runs.release()
        with pytest.raises(BenchFault, match=r"^no bench is acquired"):
            runs.current()
        runs.release()  # where taking has failed there is nothing to give

    def test_a_bench_that_leaves_a_port_of_the_card_out_is_refused(self, bench: FakeBench) -> None:
        bench.edit(bench.sheet, ("ports: 2", "ports: 2\n  ports_per_card: 2\n  port_layout: one-function"))
        with pytest.raises(BenchFault, match=r"2 port\(s\) of the dut on 2 path\(s\); expected 4 on 4 paths"):
            runs.acquire(bench.file, load_card(bench.sheet), bench.folder / "run", lambda: None)
        assert runs.acquired() is None and bench.said == []

    def test_secrets_are_masked_in_the_log_of_commands(self, bench: FakeBench) -> None:
        taken = bench.take()
        bench.ssh[Role.DUT].replies["show"] = "the word is console-secret"
        taken.server(Role.DUT).run("show it")
        kept = "".join(path.read_text() for path in taken.evidence_folder.iterdir() if path.is_file())
        assert "show it" in kept and "console-secret" not in kept and "bmc-secret" not in kept

    def test_a_missing_secret_stops_the_run_before_anything_is_changed(self, bench: FakeBench) -> None:
        secrets = bench.home / ".local/state/niclab/vbench/virtual/secrets.env"
        secrets.write_text("BMC_PASSWORD=bmc-secret\n")
        with pytest.raises(BenchFault, match=r"^secret CONSOLE_PASSWORD is missing"):
            bench.take()
        assert bench.dut.changes == []


class TestLock:
    def test_a_second_take_names_the_holder(self, bench: FakeBench) -> None:
        bench.take()
        with pytest.raises(BenchFault, match=rf"the bench is in use by pid {os.getpid()};"):
            bench.lab("run-2").open()

    def test_another_processes_hold_names_its_pid(self, bench: FakeBench) -> None:
        code = (
            "import sys\nfrom niclab.core.undo import Journal\n"
            "with Journal.for_bench('virtual').hold():\n    print('held', flush=True)\n    sys.stdin.readline()"
        )
        environment = {**os.environ, "PYTHONPATH": str(Path(niclab.__file__).parents[1])}
        command = [sys.executable, "-c", code]
        with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment) as holder:
            assert holder.stdout is not None and holder.stdout.readline() == "held\n"
            with pytest.raises(BenchFault, match=rf"in use by pid {holder.pid};"):
                bench.take()
            holder.communicate("\n", timeout=10)
        bench.take()

    def test_giving_back_releases_it(self, bench: FakeBench) -> None:
        bench.take()
        runs.release()
        bench.take("run-2")

    def test_a_take_that_fails_releases_it_and_every_connection(self, bench: FakeBench) -> None:
        bench.give_to_boot(0.2)
        bench.dut.crash()
        bench.bmcs[Role.DUT]["ipmi"].stuck = True
        bench.bmcs[Role.DUT]["ipmi"].says = PowerState.ON
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("niclab.run.server.POWER_WITHIN_S", 0.05)
            patch.setattr("niclab.run.acquiring.recover.RESET_SHOWS_WITHIN_S", 0.05)
            with pytest.raises(BenchFault, match=r"dut BMC: power is not off"):
                bench.take()
        assert sorted(bench.closed) == ["dut", "peer"]
        with Journal.for_bench("virtual").hold():
            pass


class TestKilledRun:
    def test_what_it_left_is_undone_first(self, bench: FakeBench) -> None:
        left_behind(link_left_up(bench))
        taken = bench.take()
        assert not bench.nic("dut.p0").admin_up and taken.journal.pending() == []

    def test_also_when_the_bench_is_down(self, bench: FakeBench) -> None:
        """It is brought up for that, and down again: the undo of a killed run that had brought it up."""
        tool = f"{sys.executable} {bench.tool_file} {bench.state_file}"
        left_behind(Action(ActionKind.LOCAL, "controller", f"{tool} down"), link_left_up(bench))
        bench.set_state(up=False)
        bench.take()
        assert bench.said == ["up", "down", "up"]
        assert not bench.nic("dut.p0").admin_up
        assert [entry.action.command.split()[-1] for entry in runs.current().journal.pending()] == ["down"]

    def test_one_undo_that_fails_stops_the_run_after_the_rest_is_undone(self, bench: FakeBench) -> None:
        good = link_left_up(bench)
        left_behind(good, Action(ActionKind.SHELL, "peer", "rmmod busy"))
        bench.ssh[Role.PEER].replies["rmmod"] = BenchFault("peer: module is in use")
        with pytest.raises(BenchFault, match=r"1 of 2 changes could not be undone.*\n.*peer: module is in use"):
            bench.take()
        assert not bench.nic("dut.p0").admin_up
        assert [entry.action.command for entry in Journal.for_bench("virtual").pending()] == ["rmmod busy"]

    def test_a_lost_server_is_recovered_for_it(self, bench: FakeBench) -> None:
        left_behind(Action(ActionKind.SHELL, "dut", "ip link set dev enp1s0 down"))
        bench.dut.crash()
        bench.take()
        assert bench.bmcs[Role.DUT]["ipmi"].orders == [PowerAction.NMI, PowerAction.RESET]

    def test_restore_says_what_it_undid(self, bench: FakeBench) -> None:
        left_behind(link_left_up(bench))
        made = bench.lab()
        with made.journal.hold():
            assert [entry.run for entry in made.undoing.restore()] == ["killed"]
            assert made.undoing.restore() == []


class TestServersPower:
    def test_one_found_off_is_powered_on_and_off_again(self, bench: FakeBench) -> None:
        bench.peer.crash(PowerState.OFF)
        taken = bench.take()
        (entry,) = taken.journal.pending()
        assert str(entry.action) == "power on peer: off"
        assert bench.peer.power is PowerState.ON and bench.peer.alive
        runs.release()
        assert bench.bmcs[Role.PEER]["ipmi"].power_status() is PowerState.OFF
        assert bench.bmcs[Role.DUT]["ipmi"].orders == []

    def test_one_that_hangs_is_recovered_and_left_on(self, bench: FakeBench) -> None:
        bench.dut.crash()
        taken = bench.take()
        assert taken.journal.pending() == []
        assert bench.bmcs[Role.DUT]["ipmi"].orders == [PowerAction.NMI, PowerAction.RESET]

    def test_ensure_ready_names_who_was_recovered(self, bench: FakeBench, taken: Run) -> None:
        assert ensure_ready(taken.servers.values()) == []
        bench.peer.crash()
        assert [each.server for each in ensure_ready(taken.servers.values())] == ["peer"]
        bench.peer.crash()
        bench.dut.crash()
        assert [each.server for each in ensure_ready(taken.servers.values())] == ["dut", "peer"]
        noted = marks.read(taken.evidence_folder / marks.FILE)
        recovered = [mark.subject for mark in noted if mark.kind is MarkKind.RECOVERY]
        assert recovered[0] == "peer: BMC reset"
        assert sorted(recovered) == ["dut: BMC reset", "peer: BMC reset", "peer: BMC reset"]

    def test_every_ordered_boot_is_noted(self, taken: Run) -> None:
        dut, file = taken.server(Role.DUT), taken.evidence_folder / marks.FILE
        for boot in (dut.reboot, dut.power_cycle, dut.reset):
            boot()
        boots = [mark.subject for mark in marks.read(file) if mark.kind is MarkKind.BOOT]
        assert boots == ["dut"] * 3

    def test_waits_are_noted_until_the_bench_is_released(self, taken: Run) -> None:
        file = taken.evidence_folder / marks.FILE
        pause(0)
        taken.release()
        noted = marks.read(file)
        assert (MarkKind.PAUSE, "pause") in [(mark.kind, mark.subject) for mark in noted]
        pause(0)
        assert marks.read(file) == noted

    def test_undoing_power_on_waits_for_the_server(self, bench: FakeBench, taken: Run) -> None:
        bench.dut.crash(PowerState.OFF)
        bench.dut.power = PowerState.OFF
        taken.undo(Action(ActionKind.POWER, "dut", "on"))
        assert bench.dut.alive and bench.dut.power is PowerState.ON


class TestLinks:
    def test_each_undo_is_registered_once_and_before_its_change(self, bench: FakeBench) -> None:
        taken = bench.take()
        taken.part(PreparedPorts).prepare()
        for host, last in ((bench.dut, 1), (bench.peer, 2)):
            assert sorted(change for change, _ in host.changes) == [
                f"enp1s0 198.18.10.{last}/24",
                "enp1s0 up",
                f"enp2s0 198.18.11.{last}/24",
                "enp2s0 up",
            ]
            for change, pending in host.changes:
                iface, what = change.split()
                flush = f"ip address flush dev {iface} to {what.partition('/')[0]}"
                assert (LINK_DOWN[iface] if what == "up" else flush) in pending
        before = undos(taken)
        assert len(before) == 8
        for host in bench.hosts.values():
            host.boot()
        taken.part(PreparedPorts).prepare()
        assert undos(taken) == before
        assert all(nic.admin_up and len(nic.addresses) == 1 for nic in bench.cables.nics.values())

    @pytest.mark.parametrize("is_killed", [False, True])
    def test_what_a_boot_costs_a_port_in_use_is_given_back(self, bench: FakeBench, is_killed: bool) -> None:
        nic, mine = bench.nic("dut.p0"), "198.18.10.1/24"
        nic.admin_up, nic.addresses = True, ["198.18.10.77/24", mine]
        taken = bench.take()
        taken.part(PreparedPorts).prepare()
        bench.dut.boot()
        assert (nic.admin_up, nic.addresses) == (False, [])
        if not is_killed:
            taken.part(PreparedPorts).prepare()
            assert nic.admin_up and nic.addresses == [mine]
        runs.release()
        assert nic.admin_up and sorted(nic.addresses) == [mine, "198.18.10.77/24"]

    def test_what_is_so_already_is_left_alone_also_at_the_end(self, bench: FakeBench) -> None:
        nic = bench.nic("dut.p0")
        nic.admin_up, nic.addresses = True, ["198.18.10.1/24"]
        taken = bench.take()
        taken.part(PreparedPorts).prepare()
        assert [change for change, _ in bench.dut.changes if change.startswith("enp1s0")] == []
        runs.release()
        assert nic.admin_up and nic.addresses == ["198.18.10.1/24"]
        assert not any(other.admin_up or other.addresses for other in bench.cables.nics.values() if other is not nic)

    def test_prepared(self, bench: FakeBench) -> None:
        taken = bench.take()
        assert not taken.part(PreparedPorts).prepared()
        taken.part(PreparedPorts).prepare()
        assert taken.part(PreparedPorts).prepared()

    def test_what_was_just_shown_is_not_asked_for_again(self, bench: FakeBench, taken: Run) -> None:
        def asked() -> int:
            return sum("/flags" in command for ssh in bench.ssh.values() for command in ssh.commands)

        for ssh in bench.ssh.values():
            ssh.is_still = True
        for role in Role:
            taken.part(PreparedPorts).note_shown(
                role, bench.ssh[role].run(taken.part(PreparedPorts).showing(role)).stdout
            )
        before = asked()
        assert taken.part(PreparedPorts).prepared() and asked() == before
        with taken.part(PreparedPorts).looked_at():
            bench.ssh[Role.DUT].run("true")
        assert taken.part(PreparedPorts).prepared() and asked() == before
        bench.ssh[Role.PEER].run("true")
        assert taken.part(PreparedPorts).prepared() and asked() == before + 1
        taken.part(PreparedPorts).note_shown(Role.DUT, "another boot")
        assert not taken.part(PreparedPorts).prepared()

    @pytest.mark.parametrize("role", list(Role))
    @pytest.mark.parametrize("loss", ["reboot", "address", "down", "dead"])
    def test_not_prepared_any_more(self, bench: FakeBench, taken: Run, role: Role, loss: str) -> None:
        host = bench.hosts[role]
        nic = host.nics[1]
        if loss == "reboot":
            host.boots += 1
        elif loss == "address":
            nic.addresses.clear()
        elif loss == "down":
            nic.admin_up = False
        else:
            host.crash()
        assert not taken.part(PreparedPorts).prepared()

    def test_a_server_that_is_as_it_was_left_is_not_prepared_again(
        self, bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked, real = list[str](), Server.interface

        def interface(server: Server, port: Port) -> str:
            asked.append(port.name)
            return real(server, port)

        monkeypatch.setattr(Server, "interface", interface)
        bench.nic("dut.p0").admin_up = False
        ready.make_ready(taken, print)
        assert bench.nic("dut.p0").admin_up and taken.part(PreparedPorts).prepared()
        assert sorted(asked) == ["dut.p0", "dut.p1"] and len(taken.interfaces) == 4

    def test_carrier_is_of_that_port(self, bench: FakeBench, taken: Run) -> None:
        bench.cables.stuck["peer.p1"] = False
        assert {port.name: taken.carrier(port) for port in taken.bench.ports} == {
            "dut.p0": True,
            "dut.p1": True,
            "peer.p0": True,
            "peer.p1": False,
        }

    def test_ports_of_a_server(self, taken: Run) -> None:
        assert [port.name for port in taken.ports(Role.PEER)] == ["peer.p0", "peer.p1"]
        assert taken.server("dut") is taken.servers[Role.DUT]


class TestGivingBack:
    def test_everything_is_undone_when_one_undo_fails(self, bench: FakeBench) -> None:
        bench.set_state(up=False)
        taken = bench.take()
        taken.part(PreparedPorts).prepare()
        bench.ssh[Role.PEER].replies["ip link set dev enp2s0 down"] = BenchFault("peer: device is busy")
        with pytest.raises(BenchFault, match=r"^1 of 9 changes could not be undone.*\n.*peer\.p1: enp2s0.*is busy"):
            runs.release()
        assert [name for name, nic in bench.cables.nics.items() if nic.admin_up] == ["peer.p1"]
        assert not any(nic.addresses for nic in bench.cables.nics.values())
        assert bench.said == ["up", "down"]
        assert len(Journal.for_bench("virtual").pending()) == 1
        with Journal.for_bench("virtual").hold():
            pass

    def test_everything_else_is_undone_when_a_server_stays_away(
        self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("niclab.run.server.POWER_WITHIN_S", 0.05)
        monkeypatch.setattr("niclab.run.acquiring.recover.RESET_SHOWS_WITHIN_S", 0.05)
        bench.give_to_boot(0.2)
        bench.set_state(up=False)
        taken = bench.take()
        taken.part(PreparedPorts).prepare()
        bench.peer.crash()
        bench.bmcs[Role.PEER]["ipmi"].stuck = True
        with pytest.raises(BenchFault) as caught:
            runs.release()
        assert str(caught.value).startswith("peer is out of service: ")
        assert "power cycle: failed: peer BMC: power is not off within 0.05 s" in str(caught.value)
        assert "5 of 10 changes could not be undone" in str(caught.value)
        assert "peer: power is cut for a cycle" in str(caught.value)
        assert not any(nic.admin_up or nic.addresses for nic in bench.dut.nics)
        assert bench.said == ["up", "down"]

    @pytest.mark.parametrize("role", list(Role))
    def test_the_lock_is_released_when_a_connection_cannot_be_closed(
        self, bench: FakeBench, role: Role, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench.take()

        def fail() -> None:
            raise ConnectionLost("dut: gone")

        monkeypatch.setattr(bench.ssh[role], "close", fail)
        with pytest.raises(ConnectionLost):
            runs.release()
        assert sorted(bench.closed) == ["dut", "peer"]
        with Journal.for_bench("virtual").hold():
            pass

    def test_a_lost_server_is_recovered_to_be_put_back(self, bench: FakeBench) -> None:
        bench.take().part(PreparedPorts).prepare()
        bench.dut.crash()
        runs.release()
        assert bench.dut.boots == 2
        assert Journal.for_bench("virtual").pending() == []


class TestLocalCommands:
    def test_what_it_printed_is_returned(self) -> None:
        assert Controller().check("echo 'a  b'") == "a  b\n"

    def test_this_python_is_the_first_on_the_path(self) -> None:
        found = Controller().check("python -c 'import sys; print(sys.prefix)'").strip()
        assert found == sys.prefix

    def test_a_failure_has_the_end_of_what_was_said(self) -> None:
        with pytest.raises(BenchFault, match=r"^controller: .* failed with exit status 3: oh no$"):
            Controller().check("sh -c 'echo oh no >&2; exit 3'")

    @pytest.mark.parametrize(("command", "said"), [("/no/such/tool", "No such file"), ("sleep 5", "timed out")])
    def test_one_that_cannot_run_or_end_is_a_bench_fault(self, command: str, said: str) -> None:
        with pytest.raises(BenchFault, match=rf"^controller: '{command}': .*{said}"):
            Controller().run(command, within_s=0.1)

    def test_it_has_what_the_bench_file_names_and_no_secret(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("BMC_PASSWORD", "NICLAB_STORE", "AWS_SECRET_ACCESS_KEY", "NICLAB_SIGN_KEY", "BUILD_ID"):
            monkeypatch.setenv(name, "canary-7f3a")
        monkeypatch.setenv("SITE", "here")
        monkeypatch.setenv("LC_ALL", "C")
        said = Controller(("SITE",)).check("env")
        assert "canary" not in said and {"SITE=here", "LC_ALL=C"} <= set(said.splitlines())

    def test_a_run_hands_its_secrets_to_no_command_of_the_bench(
        self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("BMC_PASSWORD", "canary-7f3a")
        seen = bench.folder / "environment"
        note = f"import os\nfrom pathlib import Path\nPath({str(seen)!r}).write_text(str(dict(os.environ)))\n"
        bench.tool_file.write_text(note + bench.tool_file.read_text())
        bench.set_state(up=False)
        bench.take()
        runs.release()
        assert bench.said == ["up", "down"]
        assert "canary" not in seen.read_text() and "PATH" in seen.read_text()

    def test_one_that_outlives_a_killed_run_keeps_the_bench_locked(self, bench: FakeBench) -> None:
        code = (
            "from niclab.bench.bench_commands import Controller\nfrom niclab.core.undo import Journal\n"
            "journal = Journal.for_bench('virtual', 'killed')\n"
            "with journal.hold():\n"
            "    Controller((), journal.lock).run('sh -c \"echo $$ > $HOME/orphan; exec sleep 60\"')"
        )
        environment = {**os.environ, "PYTHONPATH": str(Path(niclab.__file__).parents[1])}
        orphan = bench.home / "orphan"
        with subprocess.Popen([sys.executable, "-c", code], env=environment) as killed:
            until(lambda: orphan.exists() and orphan.read_text().strip(), within=20, what="the command to run")
            killed.kill()
        pid = int(orphan.read_text())
        with pytest.raises(BenchFault, match=rf"pid {killed.pid}, which has ended; a command of the bench .* runs"):
            bench.take()
        os.kill(pid, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{pid}/stat").exists(), within=10, what="the command to end")
        bench.take()
