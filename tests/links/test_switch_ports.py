"""Keywords about the switch: each does what it says, sees it done, writes its undo down first, and can go red."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bench_fixtures import prepared
from fake_bench import FakeBench
from fake_switch import PORTS, FakeSwitch

from niclab.core.undo import ActionKind
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.links import switch_ports, wiring
from niclab.run.run import Run
from niclab.switch.switch_records import Admin, Oper, PortVlans
from SwitchLinks import SwitchLinks
from SwitchPorts import SwitchPorts
from SwitchVlans import SwitchVlans

DEFAULT = PortVlans(1, frozenset({1}), frozenset())


@pytest.fixture
def on_switch(bench: FakeBench, switch: FakeSwitch) -> Iterator[Run]:
    """A taken bench whose path b goes through the switch."""
    assert switch
    with prepared(bench) as made:
        yield made


class Keywords(SwitchPorts, SwitchVlans, SwitchLinks):
    """The keywords of the three libraries."""


@pytest.fixture
def keywords(on_switch: Run) -> Keywords:
    assert on_switch
    return Keywords()


def put_in_vlan(taken: Run, port: str, vlan: int) -> None:
    switch_ports.set_vlans(taken, taken.bench.port(port), switch_ports.access(vlan))


def vlans_of(taken: Run, port: str) -> PortVlans:
    return taken.switch.vlans.of(switch_ports.switch_port(taken, taken.bench.port(port)))


def undos(taken: Run) -> list[str]:
    return [entry.action.command for entry in taken.journal.pending() if entry.action.kind is ActionKind.SWITCH]


class TestShut:
    def test_that_server_port_alone_loses_its_link(self, keywords: Keywords, on_switch: Run) -> None:
        keywords.shut_switch_port("dut.p1")
        assert not on_switch.carrier(on_switch.bench.port("dut.p1"))
        assert all(on_switch.carrier(port) for port in on_switch.bench.ports if port.name != "dut.p1")
        keywords.open_switch_port("dut.p1")
        assert all(on_switch.carrier(port) for port in on_switch.bench.ports)

    def test_the_undo_is_written_down_before(self, keywords: Keywords, switch: FakeSwitch, on_switch: Run) -> None:
        pending: list[list[str]] = []
        switch.mib.check = lambda *_: pending.append(undos(on_switch))
        keywords.shut_switch_port("dut.p1")
        assert pending == [["open Gi1/0/1"]]
        keywords.open_switch_port("dut.p1")
        assert undos(on_switch) == []

    def test_a_journal_that_cannot_be_written_keeps_the_port_open(
        self, keywords: Keywords, switch: FakeSwitch, on_switch: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise BenchFault("no room on the disk")

        monkeypatch.setattr(on_switch.journal, "register", full)
        with pytest.raises(BenchFault, match="no room"):
            keywords.shut_switch_port("dut.p1")
        assert switch.admin("Gi1/0/1") == 1 and switch.mib.sets == []

    @pytest.mark.parametrize("fault", ["refused", "ignored"])
    def test_a_switch_that_does_not_do_it_is_a_bench_fault(
        self, keywords: Keywords, switch: FakeSwitch, on_switch: Run, fault: str
    ) -> None:
        if fault == "refused":
            switch.mib.refuses["ifAdminStatus"] = "notWritable"
        else:
            switch.mib.ignores.add("ifAdminStatus")
        with pytest.raises(BenchFault, match="port Gi1/0/1 cannot be set DOWN"):
            keywords.shut_switch_port("dut.p1")
        assert undos(on_switch) == ["open Gi1/0/1"]  # nobody knows what it did

    def test_shutting_twice_is_opened_once(self, keywords: Keywords, switch: FakeSwitch, on_switch: Run) -> None:
        keywords.shut_switch_port("dut.p1")
        keywords.shut_switch_port("dut.p1")
        assert undos(on_switch) == ["open Gi1/0/1"]
        keywords.open_all_shut_switch_ports()
        assert switch.admin("Gi1/0/1") == 1

    def test_a_port_that_someone_else_shut_tells_nothing(
        self, keywords: Keywords, switch: FakeSwitch, on_switch: Run
    ) -> None:
        switch.set_admin("Gi1/0/1", up=False)
        with pytest.raises(
            BenchFault, match=r"sw1: Gi1/0/1 \(dut\.p1\) is DOWN already, and not by this run; expected an"
        ):
            keywords.shut_switch_port("dut.p1")
        assert undos(on_switch) == []

    def test_a_port_on_no_switch_is_not_applicable(self, keywords: Keywords, switch: FakeSwitch) -> None:
        with pytest.raises(NotApplicable, match=r"dut\.p0 is not on a managed switch"):
            keywords.shut_switch_port("dut.p0")
        assert switch.mib.sets == []

    def test_a_port_that_does_not_exist_is_a_bench_fault(self, keywords: Keywords) -> None:
        with pytest.raises(BenchFault, match=r"there is no port 'dut\.p9'"):
            keywords.shut_switch_port("dut.p9")


class TestOpenAll:
    def test_every_port_of_this_run_is_opened(self, keywords: Keywords, switch: FakeSwitch) -> None:
        keywords.shut_switch_port("dut.p1")
        keywords.shut_switch_port("peer.p1")
        keywords.open_all_shut_switch_ports()
        assert [switch.admin(name) for name in PORTS] == [1, 1, 1, 1]
        keywords.open_all_shut_switch_ports()

    def test_a_port_of_others_stays_as_it_is(self, keywords: Keywords, switch: FakeSwitch) -> None:
        switch.set_admin("Gi1/0/3", up=False)
        keywords.shut_switch_port("dut.p1")
        keywords.open_all_shut_switch_ports()
        assert switch.admin("Gi1/0/3") == 2

    def test_when_one_cannot_be_opened_the_other_is(
        self, keywords: Keywords, switch: FakeSwitch, on_switch: Run
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
    def test_access_and_back(self, keywords: Keywords, switch: FakeSwitch, on_switch: Run) -> None:
        put_in_vlan(on_switch, "dut.p1", 100)
        assert vlans_of(on_switch, "dut.p1") == PortVlans(100, frozenset({100}), frozenset())
        assert vlans_of(on_switch, "peer.p1") == DEFAULT
        keywords.restore_switch_vlans()
        assert vlans_of(on_switch, "dut.p1") == DEFAULT
        assert switch.switch().vlans.existing() == {1} and undos(on_switch) == []

    def test_trunk_and_back(self, keywords: Keywords, on_switch: Run) -> None:
        trunk = switch_ports.trunk(frozenset({100, 200}), 1)
        switch_ports.set_vlans(on_switch, on_switch.bench.port("dut.p1"), trunk)
        assert vlans_of(on_switch, "dut.p1") == PortVlans(1, frozenset({1}), frozenset({100, 200}))
        trunk = switch_ports.trunk(frozenset({100, 200}), 200)
        switch_ports.set_vlans(on_switch, on_switch.bench.port("peer.p1"), trunk)
        assert vlans_of(on_switch, "peer.p1") == PortVlans(200, frozenset({200}), frozenset({100}))
        keywords.restore_switch_vlans()
        assert {vlans_of(on_switch, port) for port in ("dut.p1", "peer.p1")} == {DEFAULT}

    def test_what_it_was_at_first_is_what_it_is_in_the_end(self, switch: FakeSwitch, on_switch: Run) -> None:
        """Also where VLANs were made between, and the switch removes none that has ports: by the journal's order."""
        for port, vlan in (("dut.p1", 100), ("peer.p1", 200), ("dut.p1", 200), ("peer.p1", 300)):
            put_in_vlan(on_switch, port, vlan)
        on_switch.journal.undo_all(on_switch.undo, kinds=[ActionKind.SWITCH]).raise_if_failed()
        assert {vlans_of(on_switch, port) for port in ("dut.p1", "peer.p1")} == {DEFAULT}
        assert switch.switch().vlans.existing() == {1}

    def test_a_vlan_that_was_there_stays(self, keywords: Keywords, switch: FakeSwitch, on_switch: Run) -> None:
        switch.vlan(100, {switch.bridge_port("Gi1/0/4")}, set())
        put_in_vlan(on_switch, "dut.p1", 100)
        keywords.restore_switch_vlans()
        assert switch.members(100) == ({"Gi1/0/4"}, set())

    def test_the_undo_is_written_down_before(self, switch: FakeSwitch, on_switch: Run) -> None:
        pending: list[tuple[str, list[str]]] = []
        switch.mib.check = lambda name, *_: pending.append((name, undos(on_switch)))
        put_in_vlan(on_switch, "dut.p1", 100)
        back = "vlans Gi1/0/1 pvid=1 untagged=1 tagged="
        assert pending[0] == ("dot1qVlanStaticRowStatus", ["remove-vlan 100"])
        assert {tuple(commands) for _, commands in pending[1:]} == {(back, "remove-vlan 100")}

    def test_accepted_and_not_done_is_a_bench_fault(self, switch: FakeSwitch, on_switch: Run) -> None:
        switch.mib.ignores.add("dot1qPvid")
        with pytest.raises(BenchFault, match="SET was accepted, but not done"):
            put_in_vlan(on_switch, "dut.p1", 100)


class TestShown:
    def test_the_state_of_a_port(self, keywords: Keywords) -> None:
        assert keywords.get_switch_port_state("dut.p1").oper is Oper.UP
        keywords.shut_switch_port("dut.p1")
        state = keywords.get_switch_port_state("dut.p1")
        assert (state.admin, state.oper) == (Admin.DOWN, Oper.DOWN)

    def test_a_counter_of_a_port(self, keywords: Keywords, switch: FakeSwitch) -> None:
        switch.mib.put("ifHCInOctets", [PORTS["Gi1/0/1"]], 1640)
        switch.mib.put("ifHCInOctets", [PORTS["Gi1/0/2"]], 9999)
        assert keywords.get_switch_port_counter("dut.p1", "in_octets") == 1640

    def test_a_counter_that_is_none_lists_those_there_are(self, keywords: Keywords) -> None:
        with pytest.raises(BenchFault, match=r"^sw1: there is no counter 'octets'; expected one of in_octets, in_uni"):
            keywords.get_switch_port_counter("dut.p1", "octets")


class TestLearned:
    def test_the_address_at_the_right_port_is_green(self, on_switch: Run) -> None:
        assert wiring.require_learned(on_switch, on_switch.bench.port("dut.p1")) == "Gi1/0/1"

    def test_at_another_port_it_is_red(self, switch: FakeSwitch, on_switch: Run) -> None:
        switch.learn("52:54:00:00:00:01", "Gi1/0/3")
        with pytest.raises(BenchFault, match=r"of dut\.p1 is at Gi1/0/3; expected Gi1/0/1 alone"):
            wiring.require_learned(on_switch, on_switch.bench.port("dut.p1"))


class TestRestart:
    def test_none_is_green(self, keywords: Keywords) -> None:
        keywords.switch_should_not_have_restarted()

    def test_one_is_red(self, keywords: Keywords, switch: FakeSwitch) -> None:
        switch.mib.put("sysUpTime", [0], 500)
        with pytest.raises(BenchFault, match=r"sw1: restarted during the run \(sysUpTime 36\d\d s when the bench was"):
            keywords.switch_should_not_have_restarted()

    def test_a_port_is_opened_also_when_the_switch_restarted_and_renumbered(
        self, keywords: Keywords, switch: FakeSwitch
    ) -> None:
        keywords.shut_switch_port("dut.p1")
        switch.renumber()
        switch.mib.on_write = None
        keywords.open_all_shut_switch_ports()
        assert switch.mib.value("ifAdminStatus", 20201) == 1
