"""LLDP-MIB (IEEE 802.1AB-2005): what the switch says of itself, and what others have said."""

from __future__ import annotations

from switch import lldp
from switch.device import ABOUT, Switch
from switch.mib.numbers import ticks
from switch.mib.tree import Column, Oid, Syntax, Table, scalars
from switch.port import Port

LLDP = (1, 0, 8802, 1, 1, 2, 1)
TX_AND_RX = 3
BRIDGE_BITS = b"\x20"
"""LldpSystemCapabilitiesMap is a BITS: bit 2, bridge, is the third from the left."""


def capabilities(value: int) -> bytes:
    """The capabilities of the frame (first is the lowest bit) as BITS (first is the highest)."""
    octets = bytearray(2)
    for bit in range(16):
        if value & 1 << bit:
            octets[bit // 8] |= 0x80 >> bit % 8
    return bytes(octets)


def tables(switch: Switch) -> list[Table]:
    ports: dict[Oid, Port] = {(number,): port for number, port in switch.ports.items()}

    def remote() -> dict[Oid, lldp.Neighbour]:
        return {
            (ticks(switch.since(known.since)), port, known.index): known.neighbour
            for port, known in switch.neighbours.known.items()
        }

    return [
        scalars(
            (*LLDP, 1),
            Column(1, Syntax.INTEGER, lambda _: int(lldp.INTERVAL_S)),
            Column(2, Syntax.INTEGER, lambda _: lldp.HOLD),
        ),
        Table((*LLDP, 1, 6, 1), lambda: ports, (Column(2, Syntax.INTEGER, lambda _: TX_AND_RX),)),
        scalars(
            (*LLDP, 3),
            Column(1, Syntax.INTEGER, lambda _: lldp.CHASSIS_MAC),
            Column(2, Syntax.OCTETS, lambda _: switch.settings.mac),
            Column(3, Syntax.OCTETS, lambda _: switch.config.name.encode()),
            Column(4, Syntax.OCTETS, lambda _: ABOUT.encode()),
            Column(5, Syntax.OCTETS, lambda _: BRIDGE_BITS),
            Column(6, Syntax.OCTETS, lambda _: BRIDGE_BITS),
        ),
        Table((*LLDP, 3, 7, 1), lambda: ports, _local_columns(switch)),
        Table((*LLDP, 4, 1, 1), remote, REMOTE_COLUMNS),
    ]


def _local_columns(switch: Switch) -> tuple[Column, ...]:
    return (
        Column(2, Syntax.INTEGER, lambda _: lldp.PORT_INTERFACE_NAME),
        Column(3, Syntax.OCTETS, lambda port: port.name.encode()),
        Column(4, Syntax.OCTETS, lambda port: (switch.config.ports[port.number].alias or port.name).encode()),
    )


REMOTE_COLUMNS = (
    Column(4, Syntax.INTEGER, lambda row: row.chassis_subtype),
    Column(5, Syntax.OCTETS, lambda row: row.chassis),
    Column(6, Syntax.INTEGER, lambda row: row.port_subtype),
    Column(7, Syntax.OCTETS, lambda row: row.port),
    Column(8, Syntax.OCTETS, lambda row: row.port_description),
    Column(9, Syntax.OCTETS, lambda row: row.system_name),
    Column(10, Syntax.OCTETS, lambda row: row.system_description),
    Column(11, Syntax.OCTETS, lambda row: capabilities(row.capabilities)),
    Column(12, Syntax.OCTETS, lambda row: capabilities(row.enabled_capabilities)),
)
