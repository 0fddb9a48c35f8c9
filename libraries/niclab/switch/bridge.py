"""The bridge of a switch: which interface is which of its ports, and which ports are one aggregation to it."""

from __future__ import annotations

from niclab.switch.model import BridgePorts, SwitchModel
from niclab.switch.switch_port_table import Ports
from niclab.transports.snmp.snmp_agent import SnmpAgent

_AGGREGATION = 161
"""ieee8023adLag of IANAifType-MIB."""


def bridge_ports(agent: SnmpAgent, model: SwitchModel, ports: Ports) -> dict[int, int]:
    """Bridge port -> ifIndex (``dot1dBasePortIfIndex``).

    Args:
        agent: The agent of the bridge.
        model: The model of the switch.
        ports: The interfaces of the switch.
    """
    if model.bridge.ports is BridgePorts.IF_INDEX:
        return {index: index for index in ports.names()}
    rows = agent.walk(model.variable("dot1dBasePortIfIndex"))
    return {index[0]: value for index, value in rows.items() if isinstance(value, int)}


def aggregation_of(agent: SnmpAgent, model: SwitchModel, ports: Ports, port: str) -> str | None:
    """Name the aggregation that a port is a member of, by IEEE8023-LAG-MIB, else by ifStackTable (RFC 2863).

    Args:
        agent: The agent of the switch.
        model: The model of the switch.
        ports: The interfaces of the switch.
        port: Name of the port.

    Returns:
        The name; None where it is a member of none, or the switch does not tell.
    """
    index, names = ports.index(port), ports.names()
    attached = model.variable("dot3adAggPortAttachedAggID").at(index)
    whole = agent.find([attached])[attached] or _stacked_on(agent, model, index)
    return names.get(whole) if isinstance(whole, int) and whole != index else None


def _stacked_on(agent: SnmpAgent, model: SwitchModel, index: int) -> int | None:
    stack, kind = model.variable("ifStackStatus"), model.variable("ifType")
    above = {upper: kind.at(upper) for upper, lower in agent.walk(stack) if lower == index and upper}
    kinds = agent.find(list(above.values()))
    return next((upper for upper, of_upper in above.items() if kinds[of_upper] == _AGGREGATION), None)
