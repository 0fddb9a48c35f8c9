"""The learned state of a switch: addresses, neighbours, aggregations; unreadable answers never count as nothing."""

from __future__ import annotations

import pytest
from fake_switch import PARTNER, PORTS, FakeSwitch
from toy_mib import FakeAgent, ToyMib

from niclab.core.verdict import BenchFault
from niclab.switch.model import load_model
from niclab.switch.switch import Switch
from niclab.switch.switch_records import LacpFlags
from niclab.switch.texts import text
from niclab.transports.snmp.snmp_agent import NoSuchVariable

MAC, PORT = "52:54:00:00:00:01", "Gi1/0/2"
OCTETS = tuple(bytes.fromhex(MAC.replace(":", "")))


class TestAddresses:
    def test_an_address_is_found_at_its_port(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.learn(MAC, PORT)
        fake.learn("52:54:00:00:00:02", "Gi1/0/1")
        assert switch.tables.ports_of_mac(MAC) == {PORT}

    def test_in_any_vlan(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.vlan(3, set(), set())
        fake.learn(MAC, PORT, vlan=3)
        assert switch.tables.ports_of_mac(MAC) == {PORT}

    def test_at_two_ports_both_are_told(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.vlan(3, set(), set())
        fake.learn(MAC, PORT)
        fake.learn(MAC, "Gi1/0/4", vlan=3)
        assert switch.tables.ports_of_mac(MAC) == {PORT, "Gi1/0/4"}

    def test_an_address_nobody_heard_is_nowhere(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.learn("52:54:00:00:00:02", PORT)
        assert switch.tables.ports_of_mac(MAC) == set()

    def test_an_address_whose_port_is_forgotten_is_nowhere(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.learn(MAC, None)
        assert switch.tables.ports_of_mac(MAC) == set()

    def test_a_switch_that_does_not_tell_its_databases_is_searched(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.drop("dot1qVlanFdbId")
        fake.learn(MAC, PORT)
        assert switch.tables.ports_of_mac(MAC) == {PORT}

    def test_a_switch_without_q_bridge_is_asked_the_old_way(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.drop("dot1qVlanFdbId")
        fake.mib.put("dot1dTpFdbPort", OCTETS, fake.bridge_port(PORT))
        assert switch.tables.ports_of_mac(MAC) == {PORT}

    def test_a_switch_without_a_bridge_is_an_error(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.drop("dot1dBasePortIfIndex")
        wanted = (
            r"dot1dBasePortIfIndex has no rows; expected a switch with a bridge, or, .* in switch\.snmp\.bridge_vlans"
        )
        with pytest.raises(BenchFault, match=wanted):
            switch.tables.ports_of_mac(MAC)

    def test_a_switch_with_a_bridge_for_each_vlan_is_asked_by_vlan(self, fake: FakeSwitch) -> None:
        """The agent itself has the bridge of VLAN 1, which is empty; bridge ports of each VLAN begin again."""
        bridges = {}
        for vlan, port in ((20, "Gi1/0/1"), (30, PORT)):
            bridge = ToyMib()
            bridge.put("dot1dBasePortIfIndex", [49], PORTS[port])
            bridges[vlan] = FakeAgent(bridge)
        bridge.put("dot1dTpFdbPort", OCTETS, 49)
        for name in ("dot1dBasePortIfIndex", "dot1qVlanFdbId"):
            fake.mib.drop(name)
        switch = Switch(FakeAgent(fake.mib), load_model("cisco-ios"), bridges)
        assert switch.tables.ports_of_mac(MAC) == {PORT}
        assert switch.tables.ports_of_mac("52:54:00:00:00:02") == set()
        bridge.drop("dot1dBasePortIfIndex")
        with pytest.raises(BenchFault, match=r"dot1dBasePortIfIndex of VLAN 30 has no rows; expected VLANs with ports"):
            switch.tables.ports_of_mac(MAC)

    def test_an_address_at_a_port_without_interface_is_an_error(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.put("dot1qTpFdbPort", [1, *OCTETS], 77)
        with pytest.raises(BenchFault, match=rf"{MAC} is at bridge port 77, which has no interface"):
            switch.tables.ports_of_mac(MAC)


class TestAggregation:
    def test_both_sides_are_told(self, switch: Switch, fake: FakeSwitch) -> None:
        found = switch.tables.lacp(PORT)
        assert (found.actor_system, found.aggregator) == ("00:50:56:00:00:01", None)
        assert (found.partner_system, found.partner_key) == (PARTNER.hex(":"), 9)
        assert found.actor == LacpFlags(True, False, True, True, True, True, False, False)
        assert found.partner == LacpFlags(False, True, False, False, False, False, True, False)
        fake.mib.put("dot3adAggPortAttachedAggID", [PORTS[PORT]], 600)
        assert switch.tables.lacp(PORT).aggregator == 600

    def test_a_port_that_does_not_tell_is_an_error(self, switch: Switch, fake: FakeSwitch) -> None:
        fake.mib.drop("dot3adAggPortPartnerOperSystemID", PORTS[PORT])
        with pytest.raises(NoSuchVariable, match="dot3adAggPortPartnerOperSystemID"):
            switch.tables.lacp(PORT)

    @pytest.mark.parametrize(
        ("name", "value", "wanted"),
        [
            ("PartnerOperSystemID", b"\x01", "a MAC address of 6 octets"),
            ("ActorOperState", b"", "the 8 flags of a LacpState in one octet"),
            ("PartnerOperState", b"\x3d\x00", "the 8 flags of a LacpState in one octet"),
        ],
    )
    def test_octets_that_cannot_be_read_are_an_error(
        self, switch: Switch, fake: FakeSwitch, name: str, value: bytes, wanted: str
    ) -> None:
        fake.mib.put(f"dot3adAggPort{name}", [PORTS[PORT]], value)
        with pytest.raises(BenchFault, match=rf"port Gi1/0/2: dot3adAggPort{name}.* is .*; expected {wanted}"):
            switch.tables.lacp(PORT)


@pytest.mark.parametrize(
    ("octets", "shown"), [(b"Gi1/0/1", "Gi1/0/1"), (b"sw1\0", "sw1"), (b"\x00\x01\xff", "0x0001ff"), (b"", "")]
)
def test_octets_that_are_no_text_are_shown_in_hex(octets: bytes, shown: str) -> None:
    assert text(octets) == shown
