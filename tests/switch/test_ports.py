"""Ports of a switch: found by name whatever their index, set and seen, counted without being fooled."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_switch import COUNTERS, PORTS, FakeSwitch

from niclab.core.verdict import BenchFault
from niclab.switch.switch import Switch, Uptime
from niclab.switch.switch_port_table import difference
from niclab.switch.switch_records import Admin, Oper, PortCounters, PortState
from niclab.transports import ConnectionLost
from niclab.transports.snmp.snmp_agent import NoSuchVariable, SnmpRefused

PORT, INDEX = "Gi1/0/2", PORTS["Gi1/0/2"]


class TestName:
    def test_a_port_is_found_by_its_name(self, switch: Switch) -> None:
        assert switch.ports.index(PORT) == INDEX

    def test_it_is_found_again_when_the_indexes_have_moved(self, switch: Switch, fake: FakeSwitch) -> None:
        assert switch.ports.index(PORT) == INDEX
        fake.renumber()
        assert switch.ports.index(PORT) == 20202

    def test_a_name_that_now_is_another_ports_is_not_taken(self, switch: Switch, fake: FakeSwitch) -> None:
        assert switch.ports.index(PORT) == INDEX
        fake.mib.put("ifName", [INDEX], b"Gi1/0/1")
        fake.mib.put("ifName", [PORTS["Gi1/0/1"]], b"Gi1/0/2")
        assert switch.ports.index(PORT) == PORTS["Gi1/0/1"]

    def test_an_unknown_name_lists_the_known_ones(self, switch: Switch) -> None:
        with pytest.raises(BenchFault) as caught:
            switch.ports.index("Gi1/0/9")
        wanted = "sw1: no port named 'Gi1/0/9'; expected one; ifName has Gi1/0/1, Gi1/0/2, Gi1/0/3, Gi1/0/4"
        assert str(caught.value) == wanted

    def test_a_name_of_two_ports_is_refused(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.put("ifName", [7], PORT.encode())
        with pytest.raises(BenchFault, match="2 ports named 'Gi1/0/2'; expected one"):
            switch.ports.index(PORT)

    def test_a_switch_without_names_is_refused(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.drop("ifName")
        with pytest.raises(BenchFault, match=r"ifName \(.*\) has no rows; expected the names of ports"):
            switch.ports.index(PORT)


class TestState:
    def test_it_is_read(self, switch: Switch, fake: FakeSwitch) -> None:
        assert switch.ports.state(PORT) == PortState(Admin.UP, Oper.UP, 1000)
        fake.set_admin(PORT, up=False)
        fake.mib.put("ifHighSpeed", [INDEX], 0)
        assert switch.ports.state(PORT) == PortState(Admin.DOWN, Oper.DOWN, None)

    def test_a_value_that_is_none_of_the_enumeration_is_refused(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.put("ifOperStatus", [INDEX], 9)
        with pytest.raises(
            BenchFault, match=r"port Gi1/0/2: ifOperStatus.* is 9; expected one of 1 \(UP\), 2 \(DOWN\)"
        ):
            switch.ports.state(PORT)

    @pytest.mark.parametrize("name", ["ifAdminStatus", "ifOperStatus", "ifHighSpeed"])
    def test_a_state_that_is_not_there_is_an_error(self, switch: Switch, fake: FakeSwitch, name: str) -> None:
        fake.mib.drop(name)
        with pytest.raises(NoSuchVariable, match=name):
            switch.ports.state(PORT)

    def test_waiting_for_a_state_ends_with_it(self, switch: Switch, fake: FakeSwitch) -> None:
        switch.ports.wait_oper(PORT, Oper.UP, within_s=0)
        with pytest.raises(BenchFault) as caught:
            switch.ports.wait_oper(PORT, Oper.LOWER_LAYER_DOWN, within_s=0.1)
        assert str(caught.value) == "sw1: port Gi1/0/2 LOWER_LAYER_DOWN: not within 0.1 s; its ifOperStatus is UP"
        fake.mib.put("ifOperStatus", [INDEX], 7)
        switch.ports.wait_oper(PORT, Oper.LOWER_LAYER_DOWN, within_s=0)


class TestShut:
    def test_only_this_port_is_set(self, switch: Switch, fake: FakeSwitch) -> None:
        switch.ports.set_admin(PORT, Admin.DOWN)
        assert [fake.admin(name) for name in PORTS] == [1, 2, 1, 1]
        switch.ports.set_admin(PORT, Admin.UP)
        assert fake.admin(PORT) == 1

    def test_a_refusal_names_the_port(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.refuses["ifAdminStatus"] = "genErr"
        with pytest.raises(SnmpRefused, match=r"^port Gi1/0/2 cannot be set DOWN: sw1: SET ifAdminStatus\.10102"):
            switch.ports.set_admin(PORT, Admin.DOWN)

    def test_accepted_and_not_done_is_an_error(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.ignores.add("ifAdminStatus")
        with pytest.raises(BenchFault, match=r"^port Gi1/0/2 cannot be set DOWN: sw1: SET was accepted, but not done"):
            switch.ports.set_admin(PORT, Admin.DOWN)

    def test_silence_is_a_lost_connection(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.silent = True
        with pytest.raises(ConnectionLost):
            switch.ports.set_admin(PORT, Admin.DOWN)


class TestCounters:
    def test_all_are_read(self, switch: Switch, fake: FakeSwitch) -> None:
        for number, name in enumerate(COUNTERS):
            fake.mib.put(name, [INDEX], number)
        found = switch.ports.counters(PORT)
        assert (found.in_octets, found.in_broadcast, found.out_octets, found.out_broadcast) == (0, 3, 4, 7)
        assert (found.in_errors, found.in_discards, found.out_errors, found.out_discards) == (8, 9, 10, 11)
        assert (found.fcs_errors, found.uptime_ticks, found.discontinuity_ticks) == (12, 360_000, 0)

    def test_a_missing_one_is_an_error(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.drop("ifHCInOctets", INDEX)
        with pytest.raises(
            NoSuchVariable, match=r"port Gi1/0/2 has no counters ifHCInOctets\.10102 .*; expected all of IF"
        ):
            switch.ports.counters(PORT)

    def test_what_may_be_missing_is_none(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.drop("dot3StatsFCSErrors")
        fake.mib.drop("ifCounterDiscontinuityTime")
        found = switch.ports.counters(PORT)
        assert (found.fcs_errors, found.discontinuity_ticks) == (None, None)
        assert "fcs_errors" not in difference(found, found, "x")

    def test_32_bits_where_64_are_wanted_are_refused(self, switch: Switch, fake: FakeSwitch) -> None:
        from niclab.transports.snmp.snmp_records import ValueKind

        fake.mib.put("ifHCInOctets", [INDEX], 5, ValueKind.COUNTER32)
        with pytest.raises(BenchFault, match="5 is a Counter32; expected a Counter64"):
            switch.ports.counters(PORT)


@pytest.fixture
def before(switch: Switch) -> PortCounters:
    return switch.ports.counters(PORT)


class TestDifference:
    def test_it_is_counted(self, before: PortCounters) -> None:
        found = difference(before, replace(before, in_octets=1500, in_errors=1001), "x")
        assert (found["in_octets"], found["in_errors"], found["out_octets"]) == (500, 1, 0)

    @pytest.mark.parametrize(("name", "bits"), [("in_octets", 64), ("in_errors", 32), ("fcs_errors", 32)])
    def test_a_wrap_is_seen_through(self, before: PortCounters, name: str, bits: int) -> None:
        first = replace(before, **{name: (1 << bits) - 10})
        assert difference(first, replace(first, **{name: 5}), "x")[name] == 15

    @pytest.mark.parametrize("name", ["in_octets", "in_errors"])
    def test_one_that_ran_backwards_is_a_fault(self, before: PortCounters, name: str) -> None:
        with pytest.raises(BenchFault, match=rf"^x: {name} ran backwards, from 1000 to 999; expected a counter$"):
            difference(before, replace(before, **{name: 999}), "x")

    def test_a_jump_is_a_fault(self, before: PortCounters) -> None:
        with pytest.raises(BenchFault, match=r"^x: the counters jumped \(ifCounterDiscontinuityTime 0 before, 7 now\)"):
            difference(before, replace(before, discontinuity_ticks=7, in_octets=2000), "x")

    def test_a_restart_is_a_fault(self, before: PortCounters) -> None:
        with pytest.raises(BenchFault, match=r"^x: the switch restarted \(sysUpTime 3600 s before, 1 s now\)"):
            difference(before, replace(before, uptime_ticks=100, in_octets=2000), "x")


class TestUptime:
    def test_it_is_read_with_the_controllers_time(self, switch: Switch) -> None:
        assert switch.uptime().ticks == 360_000

    @pytest.mark.parametrize(
        ("ticks", "later_s", "restarted"),
        [(10_000, 0.0, False), (16_000, 60.0, False), (5_000, 60.0, True), (10_000, 60.0, True), (10_100, 60.0, True)],
    )
    def test_a_restart_is_seen(self, ticks: int, later_s: float, restarted: bool) -> None:
        assert Uptime(10_000, 100.0).restarted_by(Uptime(ticks, 100.0 + later_s)) is restarted

    def test_a_wrap_is_no_restart(self) -> None:
        assert not Uptime((1 << 32) - 1000, 0.0).restarted_by(Uptime(5000, 60.0))


def test_identity_is_that_of_the_chassis(switch: Switch, fake: FakeSwitch) -> None:
    who = switch.identity()
    assert (who.name, who.description) == ("sw1", "A switch, version 1")
    assert (who.maker, who.model, who.serial, who.software) == ("Maker 1001", "Model 1001", None, "1.0")
    fake.mib.drop("entPhysicalClass")
    assert switch.identity().model is None
