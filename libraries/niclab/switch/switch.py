"""A managed switch: who it is, how long it runs, and by its parts everything else."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from niclab.switch.model import SwitchModel
from niclab.switch.survey import Survey, survey
from niclab.switch.switch_port_table import Ports
from niclab.switch.switch_records import Identity
from niclab.switch.switch_vlans import Vlans
from niclab.switch.tables import Tables
from niclab.switch.texts import text
from niclab.transports.snmp.snmp_agent import SnmpAgent
from niclab.transports.snmp.snmp_records import Value

CLOCK_SLACK_S = 3.0
"""Assumption: how far its uptime may run apart from the controller's clock, and a hundredth of the time besides."""
_CHASSIS = 3  # PhysicalClass (RFC 6933)
_TICKS_WRAP = 1 << 32


@dataclass(frozen=True)
class Uptime:
    """``sysUpTime`` in 1/100 s, and the controller's monotonic clock (s) when it was read."""

    ticks: int
    at_s: float

    def restarted_by(self, later: Uptime) -> bool:
        """Has the switch restarted between the two? ``sysUpTime`` wraps every 497 days, which is no restart."""
        elapsed_s = later.at_s - self.at_s
        gained_s = (later.ticks - self.ticks) % _TICKS_WRAP / 100
        return abs(gained_s - elapsed_s) > CLOCK_SLACK_S + elapsed_s / 100


class Switch:
    """A switch over its SNMP agent. Constructing it asks nothing.

    ``bridges``: VLAN -> agent of its bridge, where the switch has one for each VLAN.

    :ivar ports: state, counters, shut and open.
    :ivar vlans: VLANs of ports.
    :ivar tables: addresses, link aggregation.
    """

    def __init__(
        self, agent: SnmpAgent, model: SwitchModel, bridges: Mapping[int, SnmpAgent] = MappingProxyType({})
    ) -> None:
        self.name, self.model, self._agent, self._bridges = agent.name, model, agent, bridges
        self.ports = Ports(agent, model)
        self.vlans = Vlans(agent, model, self.ports)
        self.tables = Tables(agent, model, self.ports, bridges)

    def survey(self) -> Survey:
        """Look which tables the agent has, and what cannot be done with it."""
        return survey(self._agent, self.model, self._bridges)

    def uptime(self) -> Uptime:
        """Return the uptime of the agent."""
        ticks = self._agent.get(self.model.variable("sysUpTime").at(0))
        assert isinstance(ticks, int)
        return Uptime(ticks, time.monotonic())

    def identity(self) -> Identity:
        """Name and description; maker, model and serial number of the chassis where the switch has an ENTITY-MIB."""
        names = ("sysName", "sysDescr")
        asked = [self.model.variable(name).at(0) for name in names]
        found = self._agent.get_many(asked)
        columns = ("entPhysicalMfgName", "entPhysicalModelName", "entPhysicalSerialNum", "entPhysicalSoftwareRev")
        classes = self._agent.walk(self.model.variable("entPhysicalClass"))
        chassis = next((index for index, value in sorted(classes.items()) if value == _CHASSIS), None)
        facts: list[str | None] = [None] * len(columns)
        if chassis is not None:
            rows = [self.model.variable(column).at(*chassis) for column in columns]
            told = self._agent.find(rows)
            facts = [_words(told[row]) for row in rows]
        return Identity(text(found[asked[0]]), text(found[asked[1]]), *facts)


def _words(value: Value | None) -> str | None:
    return (text(value).strip() or None) if value else None
