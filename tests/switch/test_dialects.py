"""Every model against a fake agent that is as its MIBs are: what works, and what is said of the rest."""

from __future__ import annotations

import pytest
from dialects import DIALECTS, MAC, OTHER, PORT, VLAN, WHOLE, of_model
from fake_switch import PORTS, FakeSwitch

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.switch.model import DIRECTORY, Settable, VlanMib, models_like
from niclab.switch.survey import SwitchTable
from niclab.switch.switch_records import Admin, PortVlans
from niclab.transports.snmp.snmp_agent import SnmpRefused

OF_THE_LAB = {"generic", "virtual-switch"}
ACCESS = PortVlans(VLAN, frozenset({VLAN}), frozenset())


def test_every_model_has_a_fake_agent() -> None:
    assert {file.stem for file in DIRECTORY.glob("*.yaml")} == OF_THE_LAB | set(DIALECTS)


@pytest.mark.parametrize("model", DIALECTS)
def test_its_own_words_name_it(model: str) -> None:
    like = models_like(DIALECTS[model][0])
    assert model in like
    assert set(like) <= {model, "juniper-ex", "juniper-els"}, "Junos says the same with ELS and without"


@pytest.mark.parametrize("model", DIALECTS)
def test_an_address_is_found_at_its_port(model: str) -> None:
    _, switch = of_model(model)
    assert switch.tables.ports_of_mac(MAC) == {PORT}
    assert switch.tables.ports_of_mac("52:54:00:00:00:02") == set()


@pytest.mark.parametrize("model", DIALECTS)
def test_the_vlan_of_a_port_is_its_id(model: str) -> None:
    _, switch = of_model(model)
    if switch.model.vlans.mib is VlanMib.NONE:
        with pytest.raises(NotApplicable, match=f"model {model} has VLANs none"):
            switch.vlans.of(PORT)
        return
    assert switch.vlans.of(PORT) == ACCESS
    if switch.model.vlans.mib is VlanMib.Q_BRIDGE:
        assert VLAN in switch.vlans.existing()


@pytest.mark.parametrize("model", DIALECTS)
def test_a_port_is_shut_and_opened_or_it_is_said_that_it_cannot_be(model: str) -> None:
    fake, switch = of_model(model)
    if Settable.PORTS in switch.model.sets:
        for admin in (Admin.DOWN, Admin.UP):
            switch.ports.set_admin(PORT, admin)
            assert switch.ports.state(PORT).admin is admin
        return
    with pytest.raises(NotApplicable, match=rf"^sw1: ports cannot be set over SNMP \(switch model {model}\)$"):
        switch.ports.set_admin(PORT, Admin.DOWN)
    assert fake.mib.sets == []


@pytest.mark.parametrize("model", DIALECTS)
def test_vlans_are_set_or_it_is_said_that_they_cannot_be(model: str) -> None:
    fake, switch = of_model(model)
    if Settable.VLANS not in switch.model.sets:
        for ask in (lambda: switch.vlans.set(PORT, ACCESS), lambda: switch.vlans.create(77)):
            with pytest.raises(NotApplicable, match=r"^sw1: (?:VLANs|vlans|model) "):
                ask()
        assert fake.mib.sets == []
    elif switch.model.vlans.mib is VlanMib.Q_BRIDGE:
        switch.vlans.create(77)
        assert 77 in switch.vlans.existing()


CANNOT = {
    "cisco-ios": "tag VLANs (it has one number for each port)",
    "cisco-nx-os": "shut ports (it takes no SET); set VLANs (it takes no SET)",
    "arista-eos": "compare LACP (no IEEE8023-LAG-MIB)",
    "juniper-ex": "shut ports (it takes no SET); set VLANs (it takes no SET)",
    "juniper-els": "shut ports (it takes no SET); set VLANs (it takes no SET)",
    "hpe-comware": "",
    "hpe-procurve": "",
    "dell-os9": "read or set VLANs",
    "sonic": "shut ports (it takes no SET); read or set VLANs; compare LACP (no IEEE8023-LAG-MIB)",
}


@pytest.mark.parametrize("model", DIALECTS)
def test_the_survey_names_what_cannot_be_done(model: str) -> None:
    found = of_model(model)[1].survey()
    assert "; ".join(found.cannot) == CANNOT[model]
    assert {SwitchTable.PORTS, SwitchTable.CHASSIS, SwitchTable.CHECKSUMS} <= set(found.tables)


class TestWithoutItsVlans:
    """Uninett/nav#34 and librenms/librenms#1196: a Catalyst whose VLAN 1 is empty, asked by its plain community."""

    def test_the_survey_says_what_is_missing(self) -> None:
        fake, switch = of_model("cisco-ios")
        alone = fake.switch(switch.model)
        wanted = "find addresses (dot1dBasePortIfIndex has no rows; name the VLANs of the ports in "
        assert f"{wanted}switch.snmp.bridge_vlans)" in alone.survey().cannot
        with pytest.raises(BenchFault, match=r"the VLANs of the bench's ports in switch\.snmp\.bridge_vlans$"):
            alone.tables.ports_of_mac(MAC)


class TestMembersOfAggregations:
    @pytest.fixture
    def bundled(self, fake: FakeSwitch) -> FakeSwitch:
        """PORT is a member of Po1: the bridge has Po1, and addresses are there."""
        fake.mib.put("ifName", [WHOLE], b"Po1")
        fake.mib.put("dot3adAggPortAttachedAggID", [PORTS[PORT]], WHOLE)
        fake.mib.put("dot1dBasePortIfIndex", [fake.bridge_port(PORT)], WHOLE)
        fake.learn(MAC, PORT)
        return fake

    def test_it_is_named_where_the_addresses_are(self, bundled: FakeSwitch) -> None:
        switch = bundled.switch()
        assert switch.tables.ports_of_mac(MAC) == {"Po1"}
        assert (switch.tables.aggregation(PORT), switch.tables.aggregation(OTHER)) == ("Po1", None)

    def test_it_has_no_vlans_of_its_own(self, bundled: FakeSwitch) -> None:
        with pytest.raises(BenchFault, match=r"no port of its bridge; expected one; it is a member of Po1, which has"):
            bundled.switch().vlans.of(PORT)

    def test_one_that_is_its_own_aggregation_is_member_of_none(self, bundled: FakeSwitch) -> None:
        bundled.mib.put("dot3adAggPortAttachedAggID", [PORTS[PORT]], PORTS[PORT])
        assert bundled.switch().tables.aggregation(PORT) is None

    def test_by_the_stack_of_interfaces(self) -> None:
        _, switch = of_model("arista-eos")
        assert (switch.tables.aggregation(OTHER), switch.tables.aggregation(PORT)) == ("Po1", None)


def test_a_model_that_says_nothing_of_it_is_refused_by_the_switch(fake: FakeSwitch) -> None:
    """An agent that is read only by its login: NE8000, MIB notes of a10.tagan.ru."""
    fake.mib.writable.clear()
    switch = fake.switch()
    with pytest.raises(SnmpRefused, match=r"refused with notWritable; expected a variable that can be written"):
        switch.vlans.create(77)
    with pytest.raises(SnmpRefused, match=r"port Gi1/0/2 cannot be set DOWN: .* refused with notWritable"):
        switch.ports.set_admin(PORT, Admin.DOWN)
