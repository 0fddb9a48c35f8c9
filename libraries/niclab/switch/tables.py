"""The learned state of a switch: which address is where, how links are aggregated."""

from __future__ import annotations

from collections.abc import Mapping

from niclab.core.verdict import BenchFault
from niclab.switch.bridge import aggregation_of, bridge_ports
from niclab.switch.model import SwitchModel
from niclab.switch.switch_port_table import Ports
from niclab.switch.switch_records import LacpPort
from niclab.switch.texts import lacp_flags, mac
from niclab.transports.snmp.snmp_agent import SnmpAgent
from niclab.transports.snmp.snmp_records import Value


class Tables:
    """The tables of a switch. ``bridges``: VLAN -> agent of its bridge; empty: one bridge has all VLANs."""

    def __init__(self, agent: SnmpAgent, model: SwitchModel, ports: Ports, bridges: Mapping[int, SnmpAgent]) -> None:
        self._agent, self._model, self._ports, self._bridges = agent, model, ports, bridges

    def ports_of_mac(self, address: str) -> frozenset[str]:
        """Names of the ports behind which the switch has seen ``address``, in any VLAN; empty when behind none.

        Raises:
            BenchFault: When the switch has no address table.
        """
        octets = tuple(bytes.fromhex(address.replace(":", "")))
        names, found = self._ports.names(), set[str]()
        bridges: list[tuple[int | None, SnmpAgent]] = [*self._bridges.items()] or [(None, self._agent)]
        for vlan, bridge in bridges:
            if not (if_indexes := bridge_ports(bridge, self._model, self._ports)):
                raise BenchFault(f"{self._agent.name}: {_no_bridge(vlan)}")
            ports = self._in_bridge(bridge, octets) if self._bridges else self._in_any_vlan(octets)
            unknown = sorted(port for port in ports if if_indexes.get(port) not in names)
            if unknown:
                fault = f"{address} is at bridge port {unknown[0]}, which has no interface"
                raise BenchFault(f"{self._agent.name}: {fault}")
            found |= {names[if_indexes[port]].removesuffix(self._model.bridge.unit or "") for port in ports}
        return frozenset(found)

    def aggregation(self, port: str) -> str | None:
        """Name the aggregation that ``port`` is a member of; its addresses are learned there."""
        return aggregation_of(self._agent, self._model, self._ports, port)

    def lacp(self, port: str) -> LacpPort:
        """The part of ``port`` in link aggregation, as IEEE8023-LAG-MIB tells it.

        Raises:
            NoSuchVariable: When the switch does not tell.
        """
        index = self._ports.index(port)
        own, partner = ("ActorSystemID", "ActorOperState"), ("SystemID", "Key", "State")
        names = ("AttachedAggID", *own, *(f"PartnerOper{name}" for name in partner))
        asked = {name: self._model.variable(f"dot3adAggPort{name}").at(index) for name in names}
        found = self._agent.get_many(list(asked.values()))

        def number(name: str) -> int:
            value = found[asked[name]]
            assert isinstance(value, int)
            return value

        what = {name: f"{self._agent.name}: port {port}: {instance}" for name, instance in asked.items()}
        return LacpPort(
            port=port,
            aggregator=number("AttachedAggID") or None,
            actor_system=mac(found[asked["ActorSystemID"]], what["ActorSystemID"]),
            actor=lacp_flags(found[asked["ActorOperState"]], what["ActorOperState"]),
            partner_system=mac(found[asked["PartnerOperSystemID"]], what["PartnerOperSystemID"]),
            partner_key=number("PartnerOperKey"),
            partner=lacp_flags(found[asked["PartnerOperState"]], what["PartnerOperState"]),
        )

    def _in_any_vlan(self, octets: tuple[int, ...]) -> set[int]:
        return self._in_q_bridge(octets) or self._in_one_database(octets)

    def _in_q_bridge(self, octets: tuple[int, ...]) -> set[int]:
        """Bridge ports of an address in every filtering database; port 0 means that the switch forgot which."""
        databases = set(self._agent.walk(self._model.variable("dot1qVlanFdbId")).values())
        column = self._model.variable("dot1qTpFdbPort")
        asked = [column.at(database, *octets) for database in sorted(map(_whole, databases))]
        return {_whole(port) for port in self._agent.find(asked).values() if port}

    def _in_one_database(self, octets: tuple[int, ...]) -> set[int]:
        """The same where there is one database, or the switch does not tell the VLANs'."""
        by_vlan = self._agent.walk(self._model.variable("dot1qTpFdbPort"))
        found = {_whole(port) for index, port in by_vlan.items() if index[1:] == octets and port}
        return found or self._in_bridge(self._agent, octets)

    def _in_bridge(self, agent: SnmpAgent, octets: tuple[int, ...]) -> set[int]:
        one = self._model.variable("dot1dTpFdbPort").at(*octets)
        return {_whole(port) for port in agent.find([one]).values() if port}


def _no_bridge(vlan: int | None) -> str:
    if vlan is not None:
        return f"dot1dBasePortIfIndex of VLAN {vlan} has no rows; expected VLANs with ports in switch.snmp.bridge_vlans"
    wanted = "a switch with a bridge, or, where it has one for each VLAN (Cisco IOS), the VLANs of the bench's ports"
    return f"dot1dBasePortIfIndex has no rows; expected {wanted} in switch.snmp.bridge_vlans"


def _whole(value: Value | None) -> int:
    assert isinstance(value, int)
    return value
