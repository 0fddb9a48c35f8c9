"""A survey of a switch before a run: the tables that its agent has, and what cannot be done with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from niclab.switch.model import BridgePorts, Settable, SwitchModel, VlanMib
from niclab.transports.snmp.snmp_agent import SnmpAgent


class SwitchTable(Enum):
    """A table of an agent; the value is how messages call it."""

    PORTS = "ports"
    VLANS = "VLANs"
    AGGREGATIONS = "aggregations"
    CHECKSUMS = "wrong checksums"
    CHASSIS = "chassis"
    BRIDGE_PORTS = "bridge ports"
    ADDRESSES_BY_VLAN = "addresses by VLAN"
    ADDRESSES = "addresses"


_COLUMNS = {
    SwitchTable.PORTS: "ifAdminStatus",
    SwitchTable.VLANS: "dot1qVlanStaticRowStatus",
    SwitchTable.AGGREGATIONS: "dot3adAggPortActorOperState",
    SwitchTable.CHECKSUMS: "dot3StatsFCSErrors",
    SwitchTable.CHASSIS: "entPhysicalClass",
    SwitchTable.BRIDGE_PORTS: "dot1dBasePortIfIndex",
    SwitchTable.ADDRESSES_BY_VLAN: "dot1qTpFdbPort",
    SwitchTable.ADDRESSES: "dot1dTpFdbPort",
}
_OF_A_BRIDGE = frozenset({SwitchTable.BRIDGE_PORTS, SwitchTable.ADDRESSES_BY_VLAN, SwitchTable.ADDRESSES})


@dataclass(frozen=True)
class Survey:
    """The findings. ``tables``: those that have rows. ``cannot``: what cannot be done, one item each."""

    tables: tuple[SwitchTable, ...]
    cannot: tuple[str, ...]


def survey(agent: SnmpAgent, model: SwitchModel, bridges: Mapping[int, SnmpAgent]) -> Survey:
    """Look which tables have rows, and conclude what cannot be done. Changes nothing.

    Args:
        agent: The agent of the switch.
        model: The model of the switch.
        bridges: VLAN -> agent of its bridge, where it has one for each VLAN.
    """
    asked = list(bridges.values()) or [agent]
    found = tuple(
        table
        for table, name in _COLUMNS.items()
        if any(one.has_rows(model.variable(name)) for one in (asked if table in _OF_A_BRIDGE else [agent]))
    )
    return Survey(found, tuple(_cannot(model, found, bool(bridges))))


def _cannot(model: SwitchModel, found: Collection[SwitchTable], by_vlan: bool) -> list[str]:
    cannot = list[str]()
    if Settable.PORTS not in model.sets:
        cannot.append("shut ports (it takes no SET)")
    if model.vlans.mib is VlanMib.NONE:
        cannot.append("read or set VLANs")
    elif Settable.VLANS not in model.sets:
        cannot.append("set VLANs (it takes no SET)")
    elif model.vlans.mib is VlanMib.PER_PORT:
        cannot.append("tag VLANs (it has one number for each port)")
    if model.bridge.ports is BridgePorts.OWN and SwitchTable.BRIDGE_PORTS not in found:
        wanted = "; name the VLANs of the ports in switch.snmp.bridge_vlans" if model.bridge.per_vlan else ""
        cannot.append(f"find addresses (dot1dBasePortIfIndex has no rows{wanted if not by_vlan else ''})")
    if SwitchTable.AGGREGATIONS not in found:
        cannot.append("compare LACP (no IEEE8023-LAG-MIB)")
    if SwitchTable.CHECKSUMS not in found:
        cannot.append("count wrong checksums (no EtherLike-MIB)")
    return cannot
