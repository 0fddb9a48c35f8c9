"""SNMPv2-MIB's system group (RFC 3418) and ENTITY-MIB (RFC 6933)."""

from __future__ import annotations

from dataclasses import dataclass

from switch.config import Config
from switch.device import ABOUT, MODEL, Switch
from switch.mib.numbers import ticks
from switch.mib.tree import Column, Oid, Refusal, SetError, Syntax, Table, scalars

SYSTEM = (1, 3, 6, 1, 2, 1, 1)
ENTITY = (1, 3, 6, 1, 2, 1, 47, 1)
OBJECT_ID = (1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 1)
"""net-snmp's branch for experiments: there is no enterprise number of this switch's own."""
BRIDGE_SERVICES = 2  # datalink
CHASSIS, PORT = 3, 10
SOFTWARE = "1.0"
LONGEST_TEXT = 255


def text(value: bytes, longest: int = LONGEST_TEXT) -> str:
    """A DisplayString that has been sent.

    Raises:
        SetError: When it is too long, or no ASCII.
    """
    if len(value) > longest:
        raise SetError(Refusal.WRONG_LENGTH)
    try:
        return value.decode("ascii")
    except UnicodeDecodeError as error:
        raise SetError(Refusal.WRONG_VALUE) from error


@dataclass(frozen=True)
class Entity:
    kind: int
    description: str
    name: str
    within: int
    position: int
    model: str
    serial: str


def tables(switch: Switch) -> list[Table]:
    def named(field: str) -> tuple[object, object]:
        def write(config: Config, _: Oid, value: bytes) -> None:
            setattr(config, field, text(value))

        return (lambda _: getattr(switch.config, field).encode()), write

    contact, name, location = named("contact"), named("name"), named("location")
    system = scalars(
        SYSTEM,
        Column(1, Syntax.OCTETS, lambda _: ABOUT.encode()),
        Column(2, Syntax.OID, lambda _: OBJECT_ID),
        Column(3, Syntax.TICKS, lambda _: ticks(switch.uptime_s)),
        Column(4, Syntax.OCTETS, *contact),  # type: ignore[arg-type]
        Column(5, Syntax.OCTETS, *name),  # type: ignore[arg-type]
        Column(6, Syntax.OCTETS, *location),  # type: ignore[arg-type]
        Column(7, Syntax.INTEGER, lambda _: BRIDGE_SERVICES),
    )
    return [system, _physical(switch), scalars((*ENTITY, 4), Column(1, Syntax.TICKS, lambda _: 0))]


def _physical(switch: Switch) -> Table:
    """entPhysicalTable: the switch, and in it its ports."""
    rows: dict[Oid, Entity] = {(1,): Entity(CHASSIS, ABOUT, "Chassis", 0, -1, MODEL, switch.settings.serial)}
    for number, port in switch.ports.items():
        rows[(1 + number,)] = Entity(PORT, f"Port {number}", port.name, 1, number, "", "")
    texts = {
        2: lambda row: row.description.encode(),
        7: lambda row: row.name.encode(),
        8: lambda row: b"A" if row.serial else b"",
        9: lambda _: b"",
        10: lambda row: SOFTWARE.encode() if row.serial else b"",
        11: lambda row: row.serial.encode(),
        12: lambda row: b"NICLAB" if row.serial else b"",
        13: lambda row: row.model.encode(),
        14: lambda _: b"",
        15: lambda _: b"",
    }
    columns = [Column(number, Syntax.OCTETS, read) for number, read in texts.items()]
    columns += [
        Column(3, Syntax.OID, lambda _: (0, 0)),
        Column(4, Syntax.INTEGER, lambda row: row.within),
        Column(5, Syntax.INTEGER, lambda row: row.kind),
        Column(6, Syntax.INTEGER, lambda row: row.position),
        Column(16, Syntax.INTEGER, lambda row: 1 if row.serial else 2),
    ]
    return Table((*ENTITY, 1, 1, 1), lambda: rows, tuple(columns))
