"""VLANs of a port: read, set in an order that switches accept, other ports left alone, put back."""

from __future__ import annotations

import pytest
from fake_switch import PORTS, FakeSwitch

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.switch.model import VlanMib, VlanModel, load_model
from niclab.switch.switch import Switch
from niclab.switch.switch_records import PortVlans
from niclab.switch.texts import port_list, ports_of
from niclab.transports.snmp.snmp_agent import NoSuchVariable, SnmpRefused
from niclab.transports.snmp.snmp_records import VARIABLES, Variable

PORT, EVERY = "Gi1/0/2", set(PORTS)
DEFAULT = PortVlans(1, frozenset({1}), frozenset())
ACCESS_10 = PortVlans(10, frozenset({10}), frozenset())
TRUNK = PortVlans(1, frozenset({1}), frozenset({10, 20}))


@pytest.fixture(autouse=True)
def made(fake: FakeSwitch) -> None:
    fake.vlan(10, set(), set())
    fake.vlan(20, {fake.bridge_port("Gi1/0/4")}, set())


def test_the_default_is_read(switch: Switch) -> None:
    assert switch.vlans.of(PORT) == DEFAULT
    assert switch.vlans.existing() == {1, 10, 20}
    assert switch.vlans.bridge_port(PORT) == 50


@pytest.mark.parametrize("wanted", [ACCESS_10, TRUNK, PortVlans(20, frozenset({20}), frozenset({1, 10}))], ids=str)
def test_a_port_is_set_and_put_back_and_no_other_is_touched(
    switch: Switch, fake: FakeSwitch, wanted: PortVlans
) -> None:
    others = {name: switch.vlans.of(name) for name in EVERY - {PORT}}
    switch.vlans.set(PORT, wanted)
    assert switch.vlans.of(PORT) == wanted
    assert {name: switch.vlans.of(name) for name in others} == others
    switch.vlans.set(PORT, DEFAULT)
    assert switch.vlans.of(PORT) == DEFAULT
    assert fake.members(20) == ({"Gi1/0/4"}, set())


def test_the_pvid_comes_after_joining_and_before_leaving(switch: Switch, fake: FakeSwitch) -> None:
    switch.vlans.set(PORT, ACCESS_10)
    steps = [(name.removeprefix("dot1q"), *index) for name, index, _ in fake.mib.sets]
    assert steps == [
        ("VlanStaticEgressPorts", 10),
        ("VlanStaticUntaggedPorts", 10),
        ("Pvid", 50),
        ("VlanStaticEgressPorts", 1),
        ("VlanStaticUntaggedPorts", 1),
    ]


def test_what_is_so_already_is_not_written(switch: Switch, fake: FakeSwitch) -> None:
    switch.vlans.set(PORT, DEFAULT)
    assert fake.mib.sets == []


@pytest.mark.parametrize("name", ["dot1qPvid", "dot1qVlanStaticEgressPorts"])
def test_accepted_and_not_done_is_an_error(switch: Switch, fake: FakeSwitch, name: str) -> None:
    fake.mib.ignores.add(name)
    with pytest.raises(BenchFault, match=rf"SET was accepted, but not done within 0\.2 s: {name}"):
        switch.vlans.set(PORT, ACCESS_10)


def test_a_refusal_is_an_error(switch: Switch, fake: FakeSwitch) -> None:
    fake.mib.refuses["dot1qVlanStaticEgressPorts"] = "notWritable"
    with pytest.raises(SnmpRefused, match="refused with notWritable for dot1qVlanStaticEgressPorts"):
        switch.vlans.set(PORT, ACCESS_10)


def test_a_vlan_that_does_not_exist_cannot_be_set(switch: Switch) -> None:
    with pytest.raises(NoSuchVariable, match=r"dot1qVlanStaticEgressPorts\.30"):
        switch.vlans.set(PORT, PortVlans(30, frozenset({30}), frozenset()))


def test_a_port_the_bridge_does_not_have_is_an_error(switch: Switch, fake: FakeSwitch) -> None:
    fake.mib.drop("dot1dBasePortIfIndex", 50)
    with pytest.raises(BenchFault, match=r"port Gi1/0/2 \(ifIndex 10102\) is no port of its bridge; expected one"):
        switch.vlans.of(PORT)


def test_a_switch_that_shortens_its_port_lists_is_understood(switch: Switch, fake: FakeSwitch) -> None:
    follow = fake.mib.on_write
    assert follow is not None

    def shorten(name: str, index: tuple[int, ...], value: int | bytes | str) -> None:
        follow(name, index, value)
        if isinstance(value, bytes):
            fake.mib.put(name, index, value.rstrip(b"\0"))

    fake.mib.on_write = shorten
    switch.vlans.set(PORT, TRUNK)
    assert switch.vlans.of(PORT) == TRUNK


class TestMaking:
    def test_a_vlan_is_made_and_removed(self, switch: Switch) -> None:
        switch.vlans.create(30)
        assert 30 in switch.vlans.existing()
        switch.vlans.delete(30)
        switch.vlans.delete(30)
        assert 30 not in switch.vlans.existing()

    def test_one_that_is_not_made_is_an_error(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.ignores.add("dot1qVlanStaticRowStatus")
        with pytest.raises(BenchFault, match=r"not done .*: dot1qVlanStaticRowStatus\.30 .* reads nothing"):
            switch.vlans.create(30)

    def test_one_that_is_not_removed_is_an_error(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.ignores.add("dot1qVlanStaticRowStatus")
        with pytest.raises(BenchFault, match="sw1: VLAN 10 was removed, but is still there"):
            switch.vlans.delete(10)

    @pytest.mark.parametrize("vlan", [0, 4095, -1])
    def test_a_number_that_is_no_vlans_is_refused(self, switch: Switch, fake: FakeSwitch, vlan: int) -> None:
        with pytest.raises(BenchFault, match=rf"VLAN {vlan} is not wanted; expected 1\.\.4094"):
            switch.vlans.create(vlan)
        assert fake.mib.sets == []

    def test_a_switch_without_any_vlan_is_not_believed(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.drop("dot1qVlanStaticRowStatus")
        with pytest.raises(BenchFault, match="has no rows; expected VLAN 1 at least"):
            switch.vlans.existing()


class TestOtherMibs:
    @pytest.fixture
    def per_port(self, fake: FakeSwitch, monkeypatch: pytest.MonkeyPatch) -> Switch:
        """A switch with a number for each port."""
        column = Variable("accessVlan", "1.3.6.1.4.1.9.9.68.1.2.2.1.2", VARIABLES["ifAdminStatus"].kind)
        monkeypatch.setitem(VARIABLES, "accessVlan", column)
        for index in PORTS.values():
            fake.mib.put("accessVlan", [index], 1)
        fake.mib.writable.add("accessVlan")
        return fake.switch(load_model("cisco-ios").model_copy(update={"set_seen_within_s": 0.2}))

    def test_an_access_vlan_is_set_and_put_back(self, per_port: Switch, fake: FakeSwitch) -> None:
        per_port.vlans.set(PORT, ACCESS_10)
        assert per_port.vlans.of(PORT) == ACCESS_10
        assert fake.mib.value("accessVlan", PORTS[PORT]) == 10
        per_port.vlans.set(PORT, DEFAULT)
        assert per_port.vlans.of(PORT) == DEFAULT

    def test_it_is_read_back(self, per_port: Switch, fake: FakeSwitch) -> None:
        fake.mib.ignores.add("accessVlan")
        with pytest.raises(BenchFault, match="accepted, but not done"):
            per_port.vlans.set(PORT, ACCESS_10)

    def test_a_trunk_is_not_applicable(self, per_port: Switch) -> None:
        with pytest.raises(NotApplicable, match="model cisco-ios sets access VLANs only"):
            per_port.vlans.set(PORT, TRUNK)

    def test_a_model_without_vlans_is_not_applicable(self, fake: FakeSwitch) -> None:
        none = fake.switch(load_model("generic").model_copy(update={"vlans": VlanModel(mib=VlanMib.NONE)}))
        with pytest.raises(NotApplicable, match="model generic has VLANs none, not q-bridge"):
            none.vlans.of(PORT)


@pytest.mark.parametrize(
    ("octets", "ports"), [("", []), ("80", [1]), ("01", [8]), ("0080", [9]), ("a001", [1, 3, 16]), ("0000", [])]
)
def test_port_lists_are_bit_strings(octets: str, ports: list[int]) -> None:
    assert sorted(ports_of(bytes.fromhex(octets))) == ports
    assert port_list(ports, len(octets) // 2).hex() == octets
