"""Keywords about the switch: each does what it says, sees it done, writes its undo down first, and can go red."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from fake_bench import FakeBench
from fake_switch import PORTS, FakeSwitch

from niclab.core.undo import ActionKind
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.run import run as runs
from niclab.run.run import Run
from niclab.switch.records import Admin, Oper, PortVlans
from SwitchPorts import SwitchPorts

DEFAULT = PortVlans(1, frozenset({1}), frozenset())


@pytest.fixture
def on_switch(bench: FakeBench, switch: FakeSwitch) -> Iterator[Run]:
    """A taken bench whose path b goes through the switch."""
    assert switch
    made = bench.take()
    made.test_ports.prepare()
    yield made
    runs._CURRENT.clear()
    with made._stack:
        made.close_servers()


@pytest.fixture
def keywords(on_switch: Run) -> SwitchPorts:
    assert on_switch
    return SwitchPorts()


def undos(taken: Run) -> list[str]:
    return [entry.action.command for entry in taken.journal.pending() if entry.action.kind is ActionKind.SWITCH]


class TestShut:
    def test_it_takes_the_light_of_that_server_port_alone(self, keywords: SwitchPorts, on_switch: Run) -> None:
        keywords.shut_switch_port("dut.p1")
        assert not on_switch.carrier(on_switch.bench.port("dut.p1"))
        assert all(on_switch.carrier(port) for port in on_switch.bench.ports if port.name != "dut.p1")
        keywords.open_switch_port("dut.p1")
        assert all(on_switch.carrier(port) for port in on_switch.bench.ports)

    def test_the_undo_is_written_down_before(self, keywords: SwitchPorts, switch: FakeSwitch, on_switch: Run) -> None:
        pending: list[list[str]] = []
        switch.mib.check = lambda *_: pending.append(undos(on_switch))
        keywords.shut_switch_port("dut.p1")
        assert pending == [["open Gi1/0/1"]]
        keywords.open_switch_port("dut.p1")
        assert undos(on_switch) == []

    def test_a_journal_that_cannot_be_written_keeps_the_port_open(
        self, keywords: SwitchPorts, switch: FakeSwitch, on_switch: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise BenchFault("no room on the disk")

        monkeypatch.setattr(on_switch.journal, "register", full)
        with pytest.raises(BenchFault, match="no room"):
            keywords.shut_switch_port("dut.p1")
        assert switch.admin("Gi1/0/1") == 1 and switch.mib.sets == []

    @pytest.mark.parametrize("fault", ["refused", "ignored"])
    def test_a_switch_that_does_not_do_it_is_a_bench_fault(
        self, keywords: SwitchPorts, switch: FakeSwitch, on_switch: Run, fault: str
    ) -> None:
        if fault == "refused":
            switch.mib.refuses["ifAdminStatus"] = "notWritable"
        else:
            switch.mib.ignores.add("ifAdminStatus")
        with pytest.raises(BenchFault, match="port Gi1/0/1 cannot be set DOWN"):
            keywords.shut_switch_port("dut.p1")
        assert undos(on_switch) == ["open Gi1/0/1"]  # nobody knows what it did

    def test_shutting_twice_is_opened_once(self, keywords: SwitchPorts, switch: FakeSwitch, on_switch: Run) -> None:
        keywords.shut_switch_port("dut.p1")
        keywords.shut_switch_port("dut.p1")
        assert undos(on_switch) == ["open Gi1/0/1"]
        keywords.open_all_shut_switch_ports()
        assert switch.admin("Gi1/0/1") == 1

    def test_a_port_that_someone_else_shut_tells_nothing(
        self, keywords: SwitchPorts, switch: FakeSwitch, on_switch: Run
    ) -> None:
        switch.set_admin("Gi1/0/1", up=False)
        with pytest.raises(
            BenchFault, match=r"sw1: Gi1/0/1 \(dut\.p1\) is DOWN already, and not by this run; wanted: an"
        ):
            keywords.shut_switch_port("dut.p1")
        assert undos(on_switch) == []

    def test_a_port_on_no_switch_is_not_applicable(self, keywords: SwitchPorts, switch: FakeSwitch) -> None:
        with pytest.raises(NotApplicable, match=r"dut\.p0 is not on a managed switch"):
            keywords.shut_switch_port("dut.p0")
        assert switch.mib.sets == []

    def test_a_port_that_does_not_exist_is_a_bench_fault(self, keywords: SwitchPorts) -> None:
        with pytest.raises(BenchFault, match=r"there is no port 'dut\.p9'"):
            keywords.shut_switch_port("dut.p9")


class TestOpenAll:
    def test_every_port_of_this_run_is_opened(self, keywords: SwitchPorts, switch: FakeSwitch) -> None:
        keywords.shut_switch_port("dut.p1")
        keywords.shut_switch_port("peer.p1")
        keywords.open_all_shut_switch_ports()
        assert [switch.admin(name) for name in PORTS] == [1, 1, 1, 1]
        keywords.open_all_shut_switch_ports()

    def test_a_port_of_others_stays_as_it_is(self, keywords: SwitchPorts, switch: FakeSwitch) -> None:
        switch.set_admin("Gi1/0/3", up=False)
        keywords.shut_switch_port("dut.p1")
        keywords.open_all_shut_switch_ports()
        assert switch.admin("Gi1/0/3") == 2

    def test_when_one_cannot_be_opened_the_other_is(
        self, keywords: SwitchPorts, switch: FakeSwitch, on_switch: Run
    ) -> None:
        keywords.shut_switch_port("dut.p1")
        keywords.shut_switch_port("peer.p1")
        stuck = (PORTS["Gi1/0/2"],)
        switch.mib.check = lambda _, index, __: "genErr" if index == stuck else None
        with pytest.raises(BenchFault, match=r"open Gi1/0/2; failed: .*refused with genErr"):
            keywords.open_all_shut_switch_ports()
        assert switch.admin("Gi1/0/1") == 1
        assert undos(on_switch) == ["open Gi1/0/2"]


class TestVlans:
    def test_access_and_back(self, keywords: SwitchPorts, switch: FakeSwitch, on_switch: Run) -> None:
        keywords.put_switch_port_in_vlan("dut.p1", 100)
        assert keywords.get_switch_port_vlans("dut.p1") == PortVlans(100, frozenset({100}), frozenset())
        assert keywords.get_switch_port_vlans("peer.p1") == DEFAULT
        keywords.restore_switch_vlans()
        assert keywords.get_switch_port_vlans("dut.p1") == DEFAULT
        assert switch.switch().vlans.existing() == {1} and undos(on_switch) == []

    def test_trunk_and_back(self, keywords: SwitchPorts) -> None:
        keywords.make_switch_port_a_trunk("dut.p1", 100, 200)
        assert keywords.get_switch_port_vlans("dut.p1") == PortVlans(1, frozenset({1}), frozenset({100, 200}))
        keywords.make_switch_port_a_trunk("peer.p1", 100, 200, native=200)
        assert keywords.get_switch_port_vlans("peer.p1") == PortVlans(200, frozenset({200}), frozenset({100}))
        keywords.restore_switch_vlans()
        assert {keywords.get_switch_port_vlans(port) for port in ("dut.p1", "peer.p1")} == {DEFAULT}

    def test_what_it_was_at_first_is_what_it_is_in_the_end(
        self, keywords: SwitchPorts, switch: FakeSwitch, on_switch: Run
    ) -> None:
        """Also where VLANs were made between, and the switch removes none that has ports: by the journal's order."""
        keywords.put_switch_port_in_vlan("dut.p1", 100)
        keywords.put_switch_port_in_vlan("peer.p1", 200)
        keywords.put_switch_port_in_vlan("dut.p1", 200)
        keywords.put_switch_port_in_vlan("peer.p1", 300)
        on_switch.journal.undo_all(on_switch.undo, kind=ActionKind.SWITCH).raise_if_failed()
        assert {keywords.get_switch_port_vlans(port) for port in ("dut.p1", "peer.p1")} == {DEFAULT}
        assert switch.switch().vlans.existing() == {1}

    def test_a_vlan_that_was_there_stays(self, keywords: SwitchPorts, switch: FakeSwitch) -> None:
        switch.vlan(100, {switch.bridge_port("Gi1/0/4")}, set())
        keywords.put_switch_port_in_vlan("dut.p1", 100)
        keywords.restore_switch_vlans()
        assert switch.members(100) == ({"Gi1/0/4"}, set())

    def test_the_undo_is_written_down_before(self, keywords: SwitchPorts, switch: FakeSwitch, on_switch: Run) -> None:
        pending: list[tuple[str, list[str]]] = []
        switch.mib.check = lambda name, *_: pending.append((name, undos(on_switch)))
        keywords.put_switch_port_in_vlan("dut.p1", 100)
        back = "vlans Gi1/0/1 pvid=1 untagged=1 tagged="
        assert pending[0] == ("dot1qVlanStaticRowStatus", ["remove-vlan 100"])
        assert {tuple(commands) for _, commands in pending[1:]} == {(back, "remove-vlan 100")}

    def test_accepted_and_not_done_is_a_bench_fault(self, keywords: SwitchPorts, switch: FakeSwitch) -> None:
        switch.mib.ignores.add("dot1qPvid")
        with pytest.raises(BenchFault, match="SET was accepted, but not done"):
            keywords.put_switch_port_in_vlan("dut.p1", 100)


class TestWaiting:
    def test_a_state_that_comes_is_awaited(self, keywords: SwitchPorts) -> None:
        keywords.switch_port_should_be("dut.p1", Oper.UP)
        keywords.shut_switch_port("dut.p1")
        keywords.switch_port_should_be("dut.p1", Oper.DOWN)
        assert keywords.get_switch_port_state("dut.p1").admin is Admin.DOWN

    def test_one_that_does_not_is_a_bench_fault(self, keywords: SwitchPorts, switch: FakeSwitch) -> None:
        switch.follows_admin = False
        keywords.shut_switch_port("dut.p1")
        began = time.monotonic()
        with pytest.raises(BenchFault, match=r"port Gi1/0/1 DOWN: not within 0.2 s; its ifOperStatus is UP"):
            keywords.switch_port_should_be("dut.p1", Oper.DOWN, within=timedelta(seconds=0.2))
        assert time.monotonic() - began < 2


class TestCounters:
    def test_what_was_counted_since(self, keywords: SwitchPorts, switch: FakeSwitch) -> None:
        keywords.remember_switch_port_counters("dut.p1")
        switch.mib.put("ifHCInOctets", [PORTS["Gi1/0/1"]], 1640)
        switch.mib.put("ifHCInOctets", [PORTS["Gi1/0/2"]], 9999)
        assert keywords.get_switch_port_count("dut.p1", "in_octets") == 640
        assert keywords.get_switch_port_count("dut.p1", "fcs_errors") == 0

    def test_a_restart_between_is_a_bench_fault(self, keywords: SwitchPorts, switch: FakeSwitch) -> None:
        keywords.remember_switch_port_counters("dut.p1")
        switch.mib.put("sysUpTime", [0], 100)
        with pytest.raises(BenchFault, match=r"sw1: port of dut\.p1: the switch restarted"):
            keywords.get_switch_port_count("dut.p1", "in_octets")

    def test_nothing_remembered_is_a_bench_fault(self, keywords: SwitchPorts) -> None:
        with pytest.raises(BenchFault, match="'Remember Switch Port Counters' comes first"):
            keywords.get_switch_port_count("dut.p1", "in_octets")

    def test_a_counter_that_is_none_lists_those_there_are(self, keywords: SwitchPorts) -> None:
        keywords.remember_switch_port_counters("dut.p1")
        with pytest.raises(BenchFault, match="there is no counter 'octets'; wanted: one of in_octets, in_unicast"):
            keywords.get_switch_port_count("dut.p1", "octets")


class TestTables:
    def test_the_address_at_the_right_port_is_green(self, keywords: SwitchPorts) -> None:
        keywords.switch_should_know_address_of("dut.p1")

    def test_at_another_port_it_is_red(self, keywords: SwitchPorts, switch: FakeSwitch) -> None:
        switch.learn("52:54:00:00:00:01", "Gi1/0/3")
        with pytest.raises(BenchFault, match=r"of dut\.p1 is at Gi1/0/3; wanted: Gi1/0/1 alone"):
            keywords.switch_should_know_address_of("dut.p1")

    def test_one_neighbour_is_told(self, keywords: SwitchPorts, switch: FakeSwitch) -> None:
        switch.hear("Gi1/0/1")
        switch.hear("Gi1/0/2", number=2)
        assert keywords.get_switch_port_neighbour("dut.p1").system_name == "dut"

    @pytest.mark.parametrize("count", [0, 2])
    def test_none_or_two_are_a_bench_fault(self, keywords: SwitchPorts, switch: FakeSwitch, count: int) -> None:
        for number in range(count):
            switch.hear("Gi1/0/1", number=number + 1)
        with pytest.raises(BenchFault, match=rf"{count} LLDP neighbours at Gi1/0/1 \(dut\.p1\); wanted: one"):
            keywords.get_switch_port_neighbour("dut.p1")

    def test_aggregation_and_identity_are_told(self, keywords: SwitchPorts) -> None:
        assert keywords.get_switch_port_aggregation("dut.p1").port == "Gi1/0/1"
        assert keywords.get_switch_identity().model == "Model 1001"


class TestRestart:
    def test_none_is_green(self, keywords: SwitchPorts) -> None:
        keywords.switch_should_not_have_restarted()

    def test_one_is_red(self, keywords: SwitchPorts, switch: FakeSwitch) -> None:
        switch.mib.put("sysUpTime", [0], 500)
        with pytest.raises(BenchFault, match=r"sw1: restarted during the run \(sysUpTime 36\d\d s when the bench was"):
            keywords.switch_should_not_have_restarted()

    def test_a_port_is_opened_also_when_the_switch_restarted_and_renumbered(
        self, keywords: SwitchPorts, switch: FakeSwitch
    ) -> None:
        keywords.shut_switch_port("dut.p1")
        switch.renumber()
        switch.mib.on_write = None
        keywords.open_all_shut_switch_ports()
        assert switch.mib.value("ifAdminStatus", 20201) == 1
