"""BRIDGE-MIB (RFC 4188): the bridge, its ports, and who was seen behind which."""

from __future__ import annotations

from switch.config import Config
from switch.device import Switch
from switch.mib.interfaces import MTU
from switch.mib.numbers import if_index
from switch.mib.tree import Column, Oid, Refusal, SetError, Syntax, Table, scalars
from switch.port import Port

BRIDGE = (1, 3, 6, 1, 2, 1, 17)
TRANSPARENT, LEARNED = 2, 3
AGEING_S = range(10, 1_000_001)
COUNTER32 = 0xFFFFFFFF


def _set_ageing(config: Config, _: Oid, value: int) -> None:
    if value not in AGEING_S:
        raise SetError(Refusal.WRONG_VALUE)
    config.ageing_s = value


def tables(switch: Switch) -> list[Table]:
    ports: dict[Oid, Port] = {(number,): port for number, port in switch.ports.items()}

    def addresses() -> dict[Oid, tuple[bytes, int]]:
        """dot1dTpFdbTable knows no VLANs: an address known in several is shown once."""
        return {tuple(mac): (mac, learned.port) for (_, mac), learned in switch.bridge.fdb.items()}

    return [
        scalars(
            (*BRIDGE, 1),
            Column(1, Syntax.OCTETS, lambda _: switch.settings.mac),
            Column(2, Syntax.INTEGER, lambda _: len(ports)),
            Column(3, Syntax.INTEGER, lambda _: TRANSPARENT),
        ),
        Table((*BRIDGE, 1, 4, 1), lambda: ports, BASE_PORT_COLUMNS),
        scalars(
            (*BRIDGE, 4),
            Column(1, Syntax.COUNTER32, lambda _: 0),
            Column(2, Syntax.INTEGER, lambda _: switch.config.ageing_s, _set_ageing),
        ),
        Table((*BRIDGE, 4, 3, 1), addresses, ADDRESS_COLUMNS),
        Table((*BRIDGE, 4, 4, 1), lambda: ports, _traffic_columns(switch)),
    ]


def _traffic_columns(switch: Switch) -> tuple[Column, ...]:
    """dot1dTpPortTable."""
    inward, outward = ("in_unicast", "in_multicast", "in_broadcast"), ("out_unicast", "out_multicast", "out_broadcast")

    def frames(number: int, names: tuple[str, ...]) -> Column:
        return Column(
            number,
            Syntax.COUNTER32,
            lambda port: sum(getattr(switch.counters(port), name) for name in names) & COUNTER32,
        )

    return (
        Column(1, Syntax.INTEGER, lambda port: port.number),
        Column(2, Syntax.INTEGER, lambda _: MTU),
        frames(3, inward),
        frames(4, outward),
        frames(5, ("in_discards",)),
    )


BASE_PORT_COLUMNS = (
    Column(1, Syntax.INTEGER, lambda port: port.number),
    Column(2, Syntax.INTEGER, lambda port: if_index(port.number)),
    Column(3, Syntax.OID, lambda _: (0, 0)),
    Column(4, Syntax.COUNTER32, lambda _: 0),
    Column(5, Syntax.COUNTER32, lambda port: port.counters.in_too_long & COUNTER32),
)
ADDRESS_COLUMNS = (
    Column(1, Syntax.OCTETS, lambda row: row[0]),
    Column(2, Syntax.INTEGER, lambda row: row[1]),
    Column(3, Syntax.INTEGER, lambda _: LEARNED),
)
