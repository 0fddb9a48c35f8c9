"""A bench with a managed switch: taken, proven, looked over, and put back whatever became of the run before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_switch import PORTS, FakeSwitch

import niclab
from niclab.commands import cli, doctor
from niclab.commands.doctor import Finding
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.links import switch_ports, wiring
from niclab.run import run as runs
from niclab.run.acquiring import server_copy
from niclab.run.acquiring.lease import FOLDER
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.run import Run
from niclab.switch.switch_records import PortVlans
from niclab.switch.switch_undo import carry_out, open_command, remove_vlan_command, vlans_command

OPEN_1 = Action(ActionKind.SWITCH, "switch", "open Gi1/0/1")
DEFAULT = PortVlans(1, frozenset({1}), frozenset())


def left_behind(*actions: Action) -> None:
    """Leave in the journal what a killed run has left there."""
    with Journal.for_bench("virtual", "killed").hold() as journal:
        for action in actions:
            journal.register("dut.p1", "changed by a killed run", action)


def undos(taken: Run) -> list[str]:
    return [entry.action.command for entry in taken.journal.pending() if entry.action.kind is ActionKind.SWITCH]


class TestTaking:
    def test_a_bench_with_every_port_open_is_taken(self, bench: FakeBench, switch: FakeSwitch) -> None:
        taken = bench.take()
        assert undos(taken) == [] and switch.mib.sets == []
        assert taken.switch_uptime is not None and taken.switch_uptime.ticks >= 360_000

    @pytest.mark.usefixtures("switch")
    def test_its_secrets_are_masked(self, bench: FakeBench) -> None:
        taken = bench.take()
        assert {"read-secret", "write-secret"} <= set(taken.secrets.handed_out)
        assert "secret" not in repr(taken.switch)

    def test_a_port_that_someone_else_has_shut_is_told_and_left_shut(
        self, bench: FakeBench, switch: FakeSwitch
    ) -> None:
        switch.set_admin("Gi1/0/2", up=False)
        with pytest.raises(BenchFault) as caught:
            bench.take()
        message = str(caught.value)
        assert message.startswith(
            "sw1: ports found shut that no run of this bench has shut: peer.p1 (Gi1/0/2) is DOWN;"
        )
        assert switch.admin("Gi1/0/2") == 2 and switch.mib.sets == []
        with Journal.for_bench("virtual").hold():
            pass  # the bench is free again

    def test_a_port_that_is_not_of_the_bench_may_be_shut(self, bench: FakeBench, switch: FakeSwitch) -> None:
        switch.set_admin("Gi1/0/4", up=False)
        bench.take()

    def test_a_switch_that_is_silent_stops_the_run(self, bench: FakeBench, switch: FakeSwitch) -> None:
        switch.mib.silent = True
        with pytest.raises(BenchFault, match="sw1: SNMP: no answer"):
            bench.take()

    def test_a_bench_without_a_switch_has_none(self, taken: Run) -> None:
        with pytest.raises(NotApplicable, match=r"^bench virtual has no managed switch$"):
            _ = taken.switch
        with pytest.raises(NotApplicable, match=r"^bench virtual: dut.p0 is not on a managed switch$"):
            switch_ports.shut(taken, taken.bench.port("dut.p0"))


class TestKilledRun:
    def test_the_port_it_shut_is_opened(self, bench: FakeBench, switch: FakeSwitch) -> None:
        switch.set_admin("Gi1/0/1", up=False)
        left_behind(OPEN_1)
        taken = bench.take()
        assert switch.admin("Gi1/0/1") == 1 and undos(taken) == []

    def test_before_anything_is_done_on_a_server(self, bench: FakeBench, switch: FakeSwitch) -> None:
        """A server may be reached through the very port: it is only asked who uses it, and need not answer that.

        One that has answered gets the copy of the journal.
        """
        switch.set_admin("Gi1/0/1", up=False)
        left_behind(OPEN_1, Action(ActionKind.SHELL, "dut", "ip link set dev enp2s0 down"))
        seen: list[object] = []
        ssh = bench.ssh[next(iter(bench.ssh))]
        ssh.replies["ip link set dev enp2s0 down"] = ""
        run = ssh.run

        def watched(command: str, **options: object) -> object:
            if command != "true" and f"{FOLDER}/lease" not in command and server_copy.FOLDER not in command:
                seen.append(switch.admin("Gi1/0/1"))
            return run(command, **options)  # type: ignore[arg-type]

        ssh.run = watched  # type: ignore[method-assign, assignment]
        bench.take()
        assert seen and set(seen) == {1}

    def test_also_when_the_rest_cannot_be_undone(self, bench: FakeBench, switch: FakeSwitch) -> None:
        switch.set_admin("Gi1/0/1", up=False)
        left_behind(OPEN_1, Action(ActionKind.LOCAL, "controller", "false"))
        with pytest.raises(BenchFault, match="1 of 1 changes could not be undone"):
            bench.take()
        assert switch.admin("Gi1/0/1") == 1

    @pytest.mark.parametrize("fault", ["refused", "ignored", "silent"])
    def test_a_port_that_cannot_be_opened_stays_in_the_journal(
        self, bench: FakeBench, switch: FakeSwitch, fault: str
    ) -> None:
        switch.set_admin("Gi1/0/1", up=False)
        left_behind(OPEN_1)
        if fault == "refused":
            switch.mib.refuses["ifAdminStatus"] = "genErr"
        elif fault == "ignored":
            switch.mib.ignores.add("ifAdminStatus")
        else:
            switch.mib.silent = True
        with pytest.raises(BenchFault, match="1 of 1 changes could not be undone and stay in the journal"):
            bench.take()
        (entry,) = Journal.for_bench("virtual").pending()
        assert entry.action == OPEN_1
        switch.mib.refuses.clear()
        switch.mib.ignores.clear()
        switch.mib.silent = False
        bench.take("run-3")
        assert switch.admin("Gi1/0/1") == 1

    def test_the_command_restore_opens_it_and_tells(
        self, bench: FakeBench, switch: FakeSwitch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        switch.set_admin("Gi1/0/1", up=False)
        left_behind(OPEN_1)
        assert cli.main(["restore", str(bench.file)]) == 0
        assert switch.admin("Gi1/0/1") == 1
        out = capsys.readouterr().out
        assert "undo: switch on switch: open Gi1/0/1" in out and "1 changes undone" in out

    def test_a_process_that_is_killed_between_shut_and_open(self, bench: FakeBench, switch: FakeSwitch) -> None:
        """The journal is on the disk before the SET: whenever it dies, the next run opens the port."""
        code = (
            "import sys, time\nfrom niclab.core.undo import Action, ActionKind, Journal\n"
            "with Journal.for_bench('virtual').hold() as journal:\n"
            "    journal.register('dut.p1', 'shut', Action(ActionKind.SWITCH, 'switch', 'open Gi1/0/1'))\n"
            "    print('shut', flush=True)\n    time.sleep(60)"
        )
        environment = {**os.environ, "PYTHONPATH": str(Path(niclab.__file__).parents[1])}
        with subprocess.Popen([sys.executable, "-c", code], stdout=-1, text=True, env=environment) as run:
            assert run.stdout is not None and run.stdout.readline() == "shut\n"
            switch.set_admin("Gi1/0/1", up=False)
            run.send_signal(signal.SIGKILL)
            run.wait(10)
        bench.take()
        assert switch.admin("Gi1/0/1") == 1


class TestGivingBack:
    def test_what_was_changed_is_put_back(self, bench: FakeBench, switch: FakeSwitch) -> None:
        taken = bench.take()
        switch_ports.shut(taken, taken.bench.port("dut.p1"))
        switch_ports.set_vlans(taken, taken.bench.port("peer.p1"), switch_ports.access(100))
        runs.release()
        assert [switch.admin(name) for name in PORTS] == [1, 1, 1, 1]
        assert switch.members(1) == (set(PORTS), set(PORTS))
        assert switch.switch().vlans.existing() == {1}
        assert Journal.for_bench("virtual").pending() == []


class TestUndoCommands:
    @pytest.mark.parametrize("port", ["Gi1/0/1", "Port 1", 'it\'s "odd"'])
    def test_any_name_of_a_port_is_found_again(self, switch: FakeSwitch, port: str) -> None:
        switch.mib.put("ifName", [10101], port.encode())
        switch.mib.put("ifAdminStatus", [10101], 2)
        carry_out(switch.switch(), open_command(port))
        assert switch.mib.value("ifAdminStatus", 10101) == 1
        carry_out(switch.switch(), vlans_command(port, DEFAULT))

    def test_each_may_be_run_again(self, switch: FakeSwitch) -> None:
        for command in ("open Gi1/0/1", vlans_command("Gi1/0/1", DEFAULT), remove_vlan_command(77)):
            carry_out(switch.switch(), command)
            carry_out(switch.switch(), command)

    @pytest.mark.parametrize(
        "command",
        [
            "",
            "shut Gi1/0/1",
            "open",
            "open a b",
            "vlans Gi1/0/1 pvid=1",
            "remove-vlan x",
            "open 'a",
            "vlans p pvid=1 u",
        ],
    )
    def test_another_command_is_refused(self, switch: FakeSwitch, command: str) -> None:
        with pytest.raises(BenchFault, match="expected open PORT, vlans PORT"):
            carry_out(switch.switch(), command)
        assert switch.mib.sets == []

    def test_an_action_is_of_the_switch_alone(self) -> None:
        with pytest.raises(BenchFault, match="where 'dut' is not wanted; expected switch"):
            Action(ActionKind.SWITCH, "dut", "open Gi1/0/1")


@pytest.fixture
def proven(bench: FakeBench, switch: FakeSwitch) -> Iterator[Run]:
    """Taken, its links prepared."""
    assert switch
    made = bench.take()
    made.part(PreparedPorts).prepare()
    yield made
    with made._stack:
        made.bench_servers.close()


class TestWiring:
    def test_right_cables_are_proven(self, proven: Run) -> None:
        assert wiring.prove(proven)[1] == (
            "path b: sw1 has learned dut.p1 at Gi1/0/1 and peer.p1 at Gi1/0/2, and at no other port"
        )

    def test_crossed_cables_are_named(self, proven: Run, switch: FakeSwitch) -> None:
        switch.learn("52:54:00:00:00:01", "Gi1/0/2")
        switch.learn("52:54:00:00:01:01", "Gi1/0/1")
        with pytest.raises(BenchFault) as caught:
            wiring.prove(proven)
        message = "sw1: the address 52:54:00:00:00:01 of dut.p1 is at Gi1/0/2; expected Gi1/0/1 alone; check the cables"
        assert str(caught.value).startswith(message)

    def test_an_address_the_switch_never_heard_is_named(self, proven: Run, switch: FakeSwitch) -> None:
        switch.forget("52:54:00:00:01:01")
        with pytest.raises(BenchFault, match=r"52:54:00:00:01:01 of peer.p1 is at no port; expected Gi1/0/2 alone"):
            wiring.prove(proven)

    def test_an_address_at_two_ports_is_named(self, proven: Run, switch: FakeSwitch) -> None:
        switch.vlan(3, set(), set())
        switch.learn("52:54:00:00:00:01", "Gi1/0/4", vlan=3)
        with pytest.raises(BenchFault, match=r"of dut.p1 is at Gi1/0/1, Gi1/0/4; expected Gi1/0/1 alone"):
            wiring.prove(proven)

    def test_a_port_without_an_address_is_named(self, bench: FakeBench, proven: Run) -> None:
        bench.nic("dut.p1").mac = None
        with pytest.raises(BenchFault, match=r"dut\.p1 \(0000:02:00\.0\): its interface has no MAC address"):
            wiring.prove(proven)

    def test_ends_that_do_not_reach_each_other_are_named(self, bench: FakeBench, proven: Run) -> None:
        nic = bench.nic("peer.p1")
        nic.ping = replace(nic.ping, received=0)
        with pytest.raises(BenchFault, match=r"peer.p1 reaches dut.p1 through sw1: not within 0.3 s"):
            wiring.prove(proven)


class TestReadOnly:
    def test_nothing_is_journaled_of_what_cannot_be_set(self, bench: FakeBench, switch: FakeSwitch) -> None:
        switch.mib.writable.clear()
        bench.edit(bench.file, ("model: generic", "model: juniper-els"))
        taken = bench.take()
        port = taken.bench.port("dut.p1")
        with pytest.raises(NotApplicable, match="ports cannot be set over SNMP"):
            switch_ports.shut(taken, port)
        with pytest.raises(NotApplicable, match="vlans cannot be set over SNMP"):
            switch_ports.set_vlans(taken, port, DEFAULT)
        assert undos(taken) == [] and switch.mib.sets == []

    def test_an_address_at_the_aggregation_of_its_port_is_explained(
        self, bench: FakeBench, switch: FakeSwitch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wiring, "LEARNED_WITHIN_S", 0.2)
        taken = bench.take()
        switch.mib.put("ifName", [5001], b"Po1")
        switch.mib.put("dot3adAggPortAttachedAggID", [PORTS["Gi1/0/1"]], 5001)
        switch.mib.put("dot1dBasePortIfIndex", [switch.bridge_port("Gi1/0/1")], 5001)
        port = taken.bench.port("dut.p1")
        switch.learn(wiring.mac_of(taken, port), "Gi1/0/1")
        with pytest.raises(BenchFault, match=r"is at Po1, of which Gi1/0/1 is a member; expected Gi1/0/1 alone"):
            wiring.require_learned(taken, port)


class TestDoctor:
    @pytest.fixture(autouse=True)
    def well(self, bench: FakeBench, switch: FakeSwitch, monkeypatch: pytest.MonkeyPatch) -> None:
        assert switch
        monkeypatch.setattr(doctor, "Server", bench.server_class)
        monkeypatch.setattr(doctor, "CLOCK_ERROR_S", float("inf"))
        for host in bench.hosts.values():
            host.clock = float

    @staticmethod
    def examine(bench: FakeBench) -> list[Finding]:
        return list(doctor.examine(bench.file, str(bench.sheet), cables=False, scratch=bench.folder / "scratch"))

    def of_switch(self, bench: FakeBench) -> dict[str, Finding]:
        return {finding.what: finding for finding in self.examine(bench) if finding.subject == "switch"}

    def test_a_good_switch_is_well_and_left_as_it_is(self, bench: FakeBench, switch: FakeSwitch) -> None:
        found = self.of_switch(bench)
        assert list(found) == ["snmp", "model", "tables", "cannot", "dut.p1", "peer.p1", "write"]
        assert not any(finding.fault for finding in found.values())
        assert found["snmp"].seen.startswith("sw1: Maker 1001, Model 1001, 1.0, up 36")
        assert found["model"].seen.startswith("generic: Any switch with IF-MIB")
        assert (
            found["tables"].seen
            == "ports, VLANs, aggregations, wrong checksums, chassis, bridge ports, addresses by VLAN"
        )
        assert found["cannot"].seen == "nothing that is known"
        assert found["dut.p1"].seen == "Gi1/0/1 open, UP at 1000 Mbit/s"
        assert {(name, value) for name, _, value in switch.mib.sets} == {("ifAdminStatus", 1)}

    def test_a_silent_one_is_not_asked_more(self, bench: FakeBench, switch: FakeSwitch) -> None:
        switch.mib.silent = True
        found = self.of_switch(bench)
        assert list(found) == ["snmp"] and "no answer" in found["snmp"].fault
        assert "SWITCH_READ, SWITCH_WRITE" in found["snmp"].mend

    def test_a_model_of_another_switch_is_found(self, bench: FakeBench, switch: FakeSwitch) -> None:
        switch.mib.put("sysDescr", [0], b"Juniper Networks, Inc. ex4300-48t, kernel JUNOS 18.4R2.7")
        assert self.of_switch(bench)["model"].seen.endswith(" (or juniper-els, juniper-ex)")
        bench.edit(bench.file, ("model: generic", "model: arista-eos"))
        found = self.of_switch(bench)["model"]
        wanted = r"expected Arista Networks EOS of model arista-eos; juniper-els, juniper-ex describes it"
        assert wanted in found.fault and "`model` of the switch" in found.mend

    def test_what_a_read_only_switch_cannot_do_is_no_fault(self, bench: FakeBench, switch: FakeSwitch) -> None:
        switch.mib.writable.clear()
        switch.mib.put("sysDescr", [0], b"Juniper Networks, Inc. ex4300-48t, kernel JUNOS 18.4R2.7")
        bench.edit(bench.file, ("model: generic", "model: juniper-els"))
        found = self.of_switch(bench)
        assert "write" not in found and not any(finding.fault for finding in found.values())
        assert found["cannot"].seen == "shut ports (it takes no SET); set VLANs (it takes no SET)"

    def test_a_member_of_an_aggregation_is_named(self, bench: FakeBench, switch: FakeSwitch) -> None:
        switch.mib.put("ifName", [5001], b"Po1")
        switch.mib.put("dot3adAggPortAttachedAggID", [PORTS["Gi1/0/1"]], 5001)
        assert self.of_switch(bench)["dut.p1"].seen.endswith(", member of Po1")

    def test_a_shut_port_is_found(self, bench: FakeBench, switch: FakeSwitch) -> None:
        switch.set_admin("Gi1/0/2", up=False)
        assert "port Gi1/0/2 is shut (ifAdminStatus DOWN)" in self.of_switch(bench)["peer.p1"].fault

    def test_a_port_that_is_not_there_is_found(self, bench: FakeBench, switch: FakeSwitch) -> None:
        assert switch
        bench.edit(bench.file, ("peer.p1: Gi1/0/2", "peer.p1: Gi1/0/9"))
        found = self.of_switch(bench)["peer.p1"]
        assert "no port named 'Gi1/0/9'" in found.fault and "switch.ports" in found.mend

    def test_a_login_that_cannot_write_is_found(self, bench: FakeBench, switch: FakeSwitch) -> None:
        switch.mib.refuses["ifAdminStatus"] = "noAccess"
        found = self.of_switch(bench)["write"]
        assert "refused with noAccess" in found.fault and "write access" in found.mend
