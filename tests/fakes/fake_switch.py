"""A fake switch of four ports as an SNMP manager sees it. Indexes, bridge ports and names differ, as on real ones."""

from __future__ import annotations

from collections.abc import Callable

from toy_mib import FakeAgent, Oid, ToyMib

from niclab.switch.model import SwitchModel, load_model
from niclab.switch.switch import Switch
from niclab.switch.texts import port_list, ports_of
from niclab.transports.snmp.snmp_records import Value

PORTS = {"Gi1/0/1": 10101, "Gi1/0/2": 10102, "Gi1/0/3": 10103, "Gi1/0/4": 10104}
FIRST_BRIDGE_PORT = 49
COUNTERS = (
    *(
        f"ifHC{way}{what}"
        for way in ("In", "Out")
        for what in ("Octets", "UcastPkts", "MulticastPkts", "BroadcastPkts")
    ),
    *("ifInErrors", "ifInDiscards", "ifOutErrors", "ifOutDiscards", "dot3StatsFCSErrors"),
)
_WAITED_TICKS = 200
"""A fake server waits no time for a carrier: the change is as long ago as if it had."""
SYSTEM, PARTNER = bytes.fromhex("005056000001"), bytes.fromhex("525400000001")
SECTION = """\
switch:
  name: sw1
  model: generic
  address: 127.77.1.50
  snmp:
    v2c: {read_community_secret: SWITCH_READ, write_community_secret: SWITCH_WRITE}
  ports: {dut.p1: Gi1/0/1, peer.p1: Gi1/0/2}

"""
"""The switch in a bench file whose path b goes through it."""


class FakeSwitch:
    """State, and what a switch does by itself when it is written.

    ``carrier`` is called with port name and state when a port goes up or down.
    """

    def __init__(self, carrier: Callable[[str, bool], None] = lambda *_: None) -> None:
        self.carrier = carrier
        writable = {"ifAdminStatus", "dot1qPvid", "dot1qVlanStaticRowStatus"}
        lists = {"dot1qVlanStaticEgressPorts", "dot1qVlanStaticUntaggedPorts"}
        self.mib = ToyMib(writable=writable | lists, check=self._refuses, on_write=self._follow)
        self.follows_admin = True
        self._system()
        for number, (name, index) in enumerate(PORTS.items()):
            self._port(name, index, FIRST_BRIDGE_PORT + number)
        every = range(FIRST_BRIDGE_PORT, FIRST_BRIDGE_PORT + len(PORTS))
        self.vlan(1, every, every)

    def switch(self, model: SwitchModel | None = None) -> Switch:
        """The switch as the framework sees it."""
        return Switch(FakeAgent(self.mib), model or load_model("generic"))

    def bridge_port(self, name: str) -> int:
        return FIRST_BRIDGE_PORT + list(PORTS).index(name)

    def admin(self, name: str) -> Value:
        return self.mib.value("ifAdminStatus", PORTS[name])

    def set_admin(self, name: str, up: bool) -> None:
        """Someone at the switch's own console opens or shuts a port."""
        self.mib.put("ifAdminStatus", [PORTS[name]], 1 if up else 2)
        self._follow("ifAdminStatus", (PORTS[name],), 1 if up else 2)

    def vlan(self, vlan: int, members: range | set[int], bare: range | set[int]) -> None:
        """A VLAN that is configured."""
        self.mib.put("dot1qVlanFdbId", [0, vlan], vlan)
        self.mib.put("dot1qVlanStaticName", [vlan], f"vlan{vlan}".encode())
        self.mib.put("dot1qVlanStaticEgressPorts", [vlan], port_list(members, 8))
        self.mib.put("dot1qVlanStaticUntaggedPorts", [vlan], port_list(bare, 8))
        self.mib.put("dot1qVlanStaticRowStatus", [vlan], 1)

    def members(self, vlan: int) -> tuple[set[str], set[str]]:
        """Names of all and of the untagged ports of a VLAN."""
        lists = ("dot1qVlanStaticEgressPorts", "dot1qVlanStaticUntaggedPorts")
        every, bare = (ports_of(self.mib.value(name, vlan)) for name in lists)
        return (
            {name for name in PORTS if self.bridge_port(name) in every},
            {name for name in PORTS if self.bridge_port(name) in bare},
        )

    def learn(self, address: str, port: str | None, vlan: int = 1) -> None:
        """The switch has heard ``address`` at a port; None: it has forgotten where."""
        number = self.bridge_port(port) if port else 0
        self.mib.put("dot1qTpFdbPort", [vlan, *bytes.fromhex(address.replace(":", ""))], number)

    def forget(self, address: str) -> None:
        for vlan in range(1, 5):
            self.mib.drop("dot1qTpFdbPort", vlan, *bytes.fromhex(address.replace(":", "")))

    def renumber(self) -> None:
        """A restart, or a new module: every interface gets another index."""
        moved = {oid: row for oid, row in self.mib.rows.items() if oid[-1] in PORTS.values()}
        for oid in moved:
            del self.mib.rows[oid]
        for oid, row in moved.items():
            self.mib.rows[(*oid[:-1], oid[-1] % 10 + 20200)] = row

    def _system(self) -> None:
        for name, text in (("sysDescr", b"A switch, version 1"), ("sysName", b"sw1")):
            self.mib.put(name, [0], text)
        self.mib.put("sysUpTime", [0], 360_000)
        for index, kind in ((1, 11), (1001, 3), (1002, 10)):
            self.mib.put("entPhysicalClass", [index], kind)
            self.mib.put("entPhysicalMfgName", [index], f"Maker {index}".encode())
            self.mib.put("entPhysicalModelName", [index], f"Model {index}".encode())
            self.mib.put("entPhysicalSerialNum", [index], b"")
            self.mib.put("entPhysicalSoftwareRev", [index], b"1.0")

    def _port(self, name: str, index: int, bridge_port: int) -> None:
        for variable, number in (("ifAdminStatus", 1), ("ifOperStatus", 1), ("ifLastChange", 0), ("ifHighSpeed", 1000)):
            self.mib.put(variable, [index], number)
        self.mib.put("ifName", [index], name.encode())
        self.mib.put("ifCounterDiscontinuityTime", [index], 0)
        for counter in COUNTERS:
            self.mib.put(counter, [index], 1000)
        self.mib.put("dot1dBasePortIfIndex", [bridge_port], index)
        self.mib.put("dot1qPvid", [bridge_port], 1)
        for variable, number in (("PartnerOperKey", 9), ("AttachedAggID", 0)):
            self.mib.put(f"dot3adAggPort{variable}", [index], number)
        for variable, octets in (
            ("ActorSystemID", SYSTEM),
            ("ActorOperState", b"\xbc"),
            ("PartnerOperSystemID", PARTNER),
            ("PartnerOperState", b"\x42"),
        ):
            self.mib.put(f"dot3adAggPort{variable}", [index], octets)

    def _refuses(self, name: str, index: Oid, value: Value) -> str | None:
        """No port loses its last VLAN, gets a PVID that is no VLAN, and no VLAN with ports is removed."""
        rows = self.mib.rows
        if name == "dot1qPvid" and not any(
            oid[-1] == value and self.mib._name(oid).endswith("RowStatus") for oid in rows
        ):
            return "inconsistentValue"
        if name == "dot1qVlanStaticRowStatus" and value == 6 and self.members(index[0])[0]:
            return "inconsistentValue"
        return None

    def _follow(self, name: str, index: Oid, value: Value) -> None:
        if name == "ifAdminStatus" and self.follows_admin:
            self.mib.put("ifOperStatus", index, value)
            self.mib.put("ifLastChange", index, self.mib.uptime() - _WAITED_TICKS)
            port = next(port for port, of_port in PORTS.items() if of_port == index[0])
            self.carrier(port, value == 1)
        elif name == "dot1qVlanStaticRowStatus" and value == 4:
            self.vlan(index[0], set(), set())
        elif name == "dot1qVlanStaticRowStatus" and value == 6:
            for variable in ("Name", "EgressPorts", "UntaggedPorts", "RowStatus"):
                self.mib.drop(f"dot1qVlanStatic{variable}", *index)
