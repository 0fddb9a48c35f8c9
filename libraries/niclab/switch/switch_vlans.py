"""VLANs of ports: read, set, and put back. By the Q-BRIDGE-MIB (RFC 4363), or by a vendor's number for each port."""

from __future__ import annotations

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.switch.bridge import aggregation_of, bridge_ports
from niclab.switch.model import Settable, SwitchModel, VlanMib
from niclab.switch.switch_port_table import Ports
from niclab.switch.switch_records import PortVlans
from niclab.switch.texts import port_list, ports_of
from niclab.transports.snmp.snmp_agent import SnmpAgent
from niclab.transports.snmp.snmp_records import Instance, Value

FIRST_VLAN, LAST_VLAN = 1, 4094
_ACTIVE, _CREATE_AND_GO, _DESTROY = 1, 4, 6  # RowStatus (RFC 2579)


class Vlans:
    """The VLANs of a switch, seen from its ports."""

    def __init__(self, agent: SnmpAgent, model: SwitchModel, ports: Ports) -> None:
        self._agent, self._model, self._ports = agent, model, ports

    def existing(self) -> frozenset[int]:
        """The VLANs that are configured (``dot1qVlanStaticTable``).

        Raises:
            NotApplicable: When this model has no such table.
        """
        self._need(VlanMib.Q_BRIDGE)
        rows = self._agent.walk(self._model.variable("dot1qVlanStaticRowStatus"))
        if not rows:
            raise BenchFault(f"{self._agent.name}: dot1qVlanStaticTable has no rows; expected VLAN 1 at least")
        ids = self._ids()
        return frozenset(ids.get(index[0], index[0]) for index in rows)

    def of(self, port: str) -> PortVlans:
        """The VLANs of a port as the switch has them now."""
        if self._model.vlans.mib is VlanMib.PER_PORT:
            vlan = self._agent.get(self._access(port))
            assert isinstance(vlan, int)
            return PortVlans(vlan, frozenset({vlan}), frozenset())
        self._need(VlanMib.Q_BRIDGE)
        bridge_port = self.bridge_port(port)
        pvid = self._agent.get(self._model.variable("dot1qPvid").at(bridge_port))
        assert isinstance(pvid, int)
        ids = self._ids()
        egress, untagged = self._lists("dot1qVlanStaticEgressPorts"), self._lists("dot1qVlanStaticUntaggedPorts")
        member = {ids.get(vlan, vlan) for vlan, value in egress.items() if bridge_port in ports_of(value)}
        bare = {ids.get(vlan, vlan) for vlan, value in untagged.items() if bridge_port in ports_of(value)} & member
        return PortVlans(ids.get(pvid, pvid), frozenset(bare), frozenset(member - bare))

    def create(self, vlan: int) -> None:
        """Make a VLAN without ports.

        Raises:
            BenchFault: When the number is no VLAN's, or the switch does not make it.
        """
        self._need(VlanMib.Q_BRIDGE)
        self._model.require_settable(Settable.VLANS, self._agent.name)
        if not FIRST_VLAN <= vlan <= LAST_VLAN:
            raise BenchFault(f"{self._agent.name}: VLAN {vlan} is not wanted; expected {FIRST_VLAN}..{LAST_VLAN}")
        status = self._model.variable("dot1qVlanStaticRowStatus").at(vlan)
        self._agent.set_and_see(
            (status, _CREATE_AND_GO), within_s=self._model.set_seen_within_s, same=lambda found, _: found == _ACTIVE
        )

    def delete(self, vlan: int) -> None:
        """Remove a VLAN; nothing to do when it is gone."""
        if vlan in self.existing():
            self._agent.set((self._model.variable("dot1qVlanStaticRowStatus").at(vlan), _DESTROY))
            if vlan in self.existing():
                raise BenchFault(f"{self._agent.name}: VLAN {vlan} was removed, but is still there")

    def set(self, port: str, wanted: PortVlans) -> None:
        """Bring a port to ``wanted``, and see that it is there. The VLANs exist.

        It joins what is missing, gets its PVID, then leaves what is too much: at no moment is it outside of every VLAN.

        Raises:
            NotApplicable: When the model cannot tag, or its VLANs cannot be set.
            BenchFault: When the switch refuses, or does not do it.
        """
        self._model.require_settable(Settable.VLANS, self._agent.name)
        if self._model.vlans.mib is VlanMib.PER_PORT:
            self._set_access(port, wanted)
        else:
            self._set_by_lists(port, wanted)
        if (found := self.of(port)) != wanted:
            raise BenchFault(f"{self._agent.name}: port {port} has VLANs {found}; expected {wanted}")

    def bridge_port(self, port: str) -> int:
        """The number by which the bridge MIBs call the port.

        Raises:
            BenchFault: When the bridge does not have it.
        """
        index = self._ports.index(f"{port}{self._model.bridge.unit or ''}")
        for bridge_port, of_index in bridge_ports(self._agent, self._model, self._ports).items():
            if of_index == index:
                return bridge_port
        whole = aggregation_of(self._agent, self._model, self._ports, port)
        wanted = f"expected one; it is a member of {whole}, which has its VLANs" if whole else "expected one"
        raise BenchFault(f"{self._agent.name}: port {port} (ifIndex {index}) is no port of its bridge; {wanted}")

    def _set_access(self, port: str, wanted: PortVlans) -> None:
        if wanted.tagged or wanted.untagged != {wanted.pvid}:
            raise NotApplicable(f"{self._agent.name}: model {self._model.model} sets access VLANs only, not {wanted}")
        within_s = self._model.set_seen_within_s
        self._agent.set_and_see((self._access(port), wanted.pvid), within_s=within_s)

    def _set_by_lists(self, port: str, wanted: PortVlans) -> None:
        self._need(VlanMib.Q_BRIDGE)
        bridge_port, now = self.bridge_port(port), self.of(port)
        members = wanted.tagged | wanted.untagged
        for vlan in sorted(members):
            bare = vlan in wanted.untagged
            if vlan not in now.untagged | now.tagged or bare is not (vlan in now.untagged):
                self._membership(bridge_port, vlan, member=True, bare=bare)
        pvid = self._model.variable("dot1qPvid").at(bridge_port)
        if wanted.pvid != now.pvid:
            self._agent.set_and_see((pvid, wanted.pvid), within_s=self._model.set_seen_within_s)
        for vlan in sorted((now.untagged | now.tagged) - members):
            self._membership(bridge_port, vlan, member=False, bare=False)

    def _membership(self, bridge_port: int, vlan: int, *, member: bool, bare: bool) -> None:
        """Put a port into the two lists of a VLAN, or out of them; the other ports stay as they are."""
        egress = self._model.variable("dot1qVlanStaticEgressPorts").at(vlan)
        untagged = self._model.variable("dot1qVlanStaticUntaggedPorts").at(vlan)
        now = self._agent.get_many([egress, untagged])
        self._agent.set_and_see(
            (egress, _changed(now[egress], bridge_port, inside=member)),
            (untagged, _changed(now[untagged], bridge_port, inside=bare)),
            within_s=self._model.set_seen_within_s,
            same=_same_ports,
        )

    def _lists(self, name: str) -> dict[int, Value]:
        return {index[0]: value for index, value in self._agent.walk(self._model.variable(name)).items()}

    def _ids(self) -> dict[int, int]:
        """Number of a VLAN in the tables -> its id, where the two differ."""
        column = self._model.vlan_id
        rows = self._agent.walk(column) if column else {}
        return {index[0]: value for index, value in rows.items() if isinstance(value, int)}

    def _access(self, port: str) -> Instance:
        return self._model.access_vlan.at(self._ports.index(port))

    def _need(self, mib: VlanMib) -> None:
        if self._model.vlans.mib is not mib:
            has = self._model.vlans.mib.value
            raise NotApplicable(f"{self._agent.name}: model {self._model.model} has VLANs {has}, not {mib.value}")


def _changed(value: Value, bridge_port: int, *, inside: bool) -> bytes:
    """A port list with one port put in or out, as long as it was."""
    assert isinstance(value, bytes)
    ports = ports_of(value) | {bridge_port} if inside else ports_of(value) - {bridge_port}
    return port_list(ports, len(value))


def _same_ports(found: Value, wanted: Value) -> bool:
    """Port lists may be of different length (RFC 4363, PortList)."""
    return ports_of(found) == ports_of(wanted)
