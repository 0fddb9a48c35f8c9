"""Fake agents of switch models: what each has, by its MIBs and public source, where it differs from the standards."""

from __future__ import annotations

from collections.abc import Callable

from fake_switch import FIRST_BRIDGE_PORT, PORTS, FakeSwitch
from toy_mib import FakeAgent, ToyMib

from niclab.switch.model import load_model
from niclab.switch.switch import Switch
from niclab.switch.texts import port_list
from niclab.transports.snmp.snmp_records import VARIABLES, ValueKind, Variable

MAC, PORT, OTHER, VLAN = "52:54:00:00:00:01", "Gi1/0/2", "Gi1/0/1", 20
OCTETS = tuple(bytes.fromhex(MAC.replace(":", "")))
WHOLE = 5001
"""IfIndex of an aggregation of PORT."""
_TABLES_OF_VLANS = ("dot1qVlanFdbId", "dot1qPvid", "dot1qVlanStaticRowStatus", "dot1qVlanStaticEgressPorts",
                    "dot1qVlanStaticUntaggedPorts", "dot1qVlanStaticName")  # fmt: skip
_OF_A_BRIDGE = ("dot1dBasePortIfIndex", *_TABLES_OF_VLANS)


def _put(mib: ToyMib, oid: str, index: int, value: int) -> None:
    """A row of a column that has no name here, as vendors have them."""
    VARIABLES["ofVendor"] = Variable("ofVendor", oid, ValueKind.INTEGER)
    try:
        mib.put("ofVendor", [index], value)
    finally:
        del VARIABLES["ofVendor"]


def _in_vlan(fake: FakeSwitch, vlan: int) -> None:
    """Put PORT into a VLAN of the standard's tables, untagged."""
    number = fake.bridge_port(PORT)
    rest = {fake.bridge_port(name) for name in PORTS} - {number}
    fake.vlan(1, rest, rest)
    fake.vlan(vlan, {number}, {number})
    fake.mib.put("dot1qPvid", [number], vlan)


def standard(fake: FakeSwitch, model: str) -> Switch:
    _in_vlan(fake, VLAN)
    fake.learn(MAC, PORT, VLAN)
    return fake.switch(load_model(model))


def arista_eos(fake: FakeSwitch, model: str) -> Switch:
    """ifStackTable names the members of aggregations, below an SVI that is no aggregation."""
    for column in ("AttachedAggID", "ActorSystemID", "ActorOperState"):
        fake.mib.drop(f"dot3adAggPort{column}")
    for upper, kind in ((4001, 136), (WHOLE, 161)):
        fake.mib.put("ifType", [upper], kind)
        fake.mib.put("ifName", [upper], b"Po1" if upper == WHOLE else b"Vlan20")
        fake.mib.put("ifStackStatus", [upper, PORTS[OTHER]], 1)
    return standard(fake, model)


def _cisco(fake: FakeSwitch, model: str) -> Switch:
    """A bridge for each VLAN; the agent itself shows that of VLAN 1, which is empty."""
    for name in _OF_A_BRIDGE:
        fake.mib.drop(name)
    bridge = ToyMib()
    bridge.put("dot1dBasePortIfIndex", [50], PORTS[PORT])
    bridge.put("dot1dTpFdbPort", OCTETS, 50)
    described = load_model(model)
    for name, index in PORTS.items():
        _put(fake.mib, described.access_vlan.oid, index, VLAN if name == PORT else 1)
    return Switch(FakeAgent(fake.mib), described, {VLAN: FakeAgent(bridge)})


def _units(fake: FakeSwitch) -> None:
    """The bridge has a logical interface of each port, unit 0."""
    for number, (name, index) in enumerate(PORTS.items()):
        fake.mib.put("ifName", [index + 400], f"{name}.0".encode())
        fake.mib.put("dot1dBasePortIfIndex", [FIRST_BRIDGE_PORT + number], index + 400)


def juniper_ex(fake: FakeSwitch, model: str) -> Switch:
    """VLAN 20 is number 17 of the tables, and the default VLAN, number 31, has no id."""
    _units(fake)
    for name in _TABLES_OF_VLANS:
        fake.mib.drop(name)
    number = fake.bridge_port(PORT)
    for vlan, (tag, members) in {17: (VLAN, [number]), 31: (0, [49, 51, 52])}.items():
        fake.mib.put("dot1qVlanStaticEgressPorts", [vlan], port_list(members, 8))
        fake.mib.put("dot1qVlanStaticUntaggedPorts", [vlan], port_list(members, 8))
        fake.mib.put("dot1qVlanStaticRowStatus", [vlan], 1)
        _put(fake.mib, "1.3.6.1.4.1.2636.3.40.1.5.1.5.1.5", vlan, tag)
    fake.mib.put("dot1qPvid", [number], 17)
    fake.learn(MAC, PORT, 17)
    return fake.switch(load_model(model))


def juniper_els(fake: FakeSwitch, model: str) -> Switch:
    """VLANs by id, their databases by a number of another kind."""
    _units(fake)
    _in_vlan(fake, VLAN)
    fake.mib.put("dot1qVlanFdbId", [0, VLAN], 11_403_264)
    fake.learn(MAC, PORT, 11_403_264)
    return fake.switch(load_model(model))


def dell_os9(fake: FakeSwitch, model: str) -> Switch:
    """Addresses of the default VLAN are in the older table alone."""
    for name in _TABLES_OF_VLANS:
        fake.mib.drop(name)
    fake.mib.put("dot1dTpFdbPort", OCTETS, fake.bridge_port(PORT))
    return fake.switch(load_model(model))


def sonic(fake: FakeSwitch, model: str) -> Switch:
    """The bridge shows addresses alone, with ifIndexes."""
    for name in _OF_A_BRIDGE:
        fake.mib.drop(name)
    for column in ("AttachedAggID", "ActorSystemID", "ActorOperState", "PartnerOperSystemID", "PartnerOperState"):
        fake.mib.drop(f"dot3adAggPort{column}")
    fake.mib.put("dot1qTpFdbPort", [VLAN, *OCTETS], PORTS[PORT])
    return fake.switch(load_model(model))


DIALECTS: dict[str, tuple[str, Callable[[FakeSwitch, str], Switch]]] = {
    "cisco-ios": ("Cisco IOS Software, C2960X Software (C2960X-UNIVERSALK9-M), Version 15.2(7)E", _cisco),
    "cisco-nx-os": ("Cisco NX-OS(tm) n3000, Software (n3000-uk9), Version 7.0(3)I7(9), RELEASE SOFTWARE", _cisco),
    "arista-eos": ("Arista Networks EOS version 4.28.3M running on an Arista Networks DCS-7050SX-64", arista_eos),
    "juniper-ex": ("Juniper Networks, Inc. ex4200-24t Ethernet Switch, kernel JUNOS 12.3R12.4", juniper_ex),
    "juniper-els": ("Juniper Networks, Inc. ex4300-48t Ethernet Switch, kernel JUNOS 18.4R2.7", juniper_els),
    "hpe-comware": ("HPE Comware Platform Software, Software Version 7.1.070, Release 3208P03", standard),
    "hpe-procurve": ("HP J9775A 2530-48G Switch, revision YA.16.10.0003, ROM YA.15.20 (ProCurve)", standard),
    "dell-os9": ("Dell Networking OS Operating System Version: 2.0 Application Software Version: 9.14(1.0)", dell_os9),
    "sonic": ("SONiC Software Version: SONiC.202205 - HwSku: ACS-MSN2700 - Distribution: Debian 11.6", sonic),
}
"""Model -> its sysDescr, and what makes a fake switch one."""


def of_model(model: str) -> tuple[FakeSwitch, Switch]:
    """A fake switch of a model, with MAC learned at PORT."""
    said, make = DIALECTS[model]
    fake = FakeSwitch()
    fake.mib.put("sysDescr", [0], said.encode())
    switch = make(fake, model)
    if not switch.model.sets:
        fake.mib.writable.clear()
    return fake, switch
