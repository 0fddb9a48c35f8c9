"""IF-MIB (RFC 2863) and EtherLike-MIB (RFC 3635): the ports, and each aggregation as an interface above them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from switch.config import Config
from switch.device import Switch
from switch.mib.numbers import IF_INDEX, aggregator_index, if_index, ticks
from switch.mib.system import text
from switch.mib.tree import Column, Oid, Refusal, SetError, Syntax, Table, scalars
from switch.port import Counters, Port

INTERFACES = (1, 3, 6, 1, 2, 1, 2)
IF_MIB = (1, 3, 6, 1, 2, 1, 31)
DOT3_STATS = (1, 3, 6, 1, 2, 1, 10, 7, 2, 1)
ETHERNET, AGGREGATION = 6, 161
UP, DOWN, LOWER_LAYER_DOWN = 1, 2, 7
MTU = 9216
LONGEST_ALIAS = 64
COUNTER32 = 0xFFFFFFFF


@dataclass(frozen=True)
class Interface:
    """A row of ifTable: a port (``number``), or the aggregation that has it as its lowest."""

    switch: Switch
    number: int
    aggregation: bool

    @property
    def index(self) -> int:
        return aggregator_index(self.number) if self.aggregation else if_index(self.number)

    @property
    def name(self) -> str:
        return f"lag{self.number}" if self.aggregation else self.switch.ports[self.number].name

    @property
    def alias(self) -> str:
        return "" if self.aggregation else self.switch.config.ports[self.number].alias

    @property
    def ports(self) -> list[Port]:
        """The ports that carry its frames."""
        if not self.aggregation:
            return [self.switch.ports[self.number]]
        speaker = self.switch.lacp[self.number]
        if speaker.aggregation is None or self.switch.bridge.leader[self.number] != self.number:
            return []
        return [self.switch.ports[number] for number in self.switch.bridge.members[self.number]]

    @property
    def admin(self) -> int:
        return UP if self.aggregation or self.switch.config.ports[self.number].admin else DOWN

    @property
    def oper(self) -> int:
        if any(port.up for port in self.ports):
            return UP
        return LOWER_LAYER_DOWN if self.aggregation else DOWN

    @property
    def speed_mbps(self) -> int:
        ports = self.ports if self.aggregation else []
        return sum(port.speed_mbps for port in ports) if self.aggregation else self.ports[0].speed_mbps

    @property
    def last_change_s(self) -> float:
        return max((self.switch.since(port.last_change) for port in self.ports), default=0.0)

    @property
    def counters(self) -> Counters:
        if not self.aggregation:
            return self.switch.counters(self.ports[0])
        total = Counters()
        for port in self.ports:
            mine = self.switch.counters(port)
            for field in fields(Counters):
                setattr(total, field.name, getattr(total, field.name) + getattr(mine, field.name))
        return total


def _set_admin(config: Config, index: Oid, value: int) -> None:
    if value not in (UP, DOWN):
        raise SetError(Refusal.WRONG_VALUE)
    config.ports[_port(config, index)].admin = value == UP


def _set_alias(config: Config, index: Oid, value: bytes) -> None:
    config.ports[_port(config, index)].alias = text(value, LONGEST_ALIAS)


def _port(config: Config, index: Oid) -> int:
    """The port of this ifIndex; an aggregation takes no settings here."""
    port = index[0] - IF_INDEX
    if port not in config.ports:
        raise SetError(Refusal.NOT_WRITABLE)
    return port


def _counter32(number: int, *names: str) -> Column:
    def read(row: Interface) -> int:
        counters = row.counters
        return sum(int(getattr(counters, name)) for name in names) & COUNTER32

    return Column(number, Syntax.COUNTER32, read)


def _counter64(number: int, name: str) -> Column:
    return Column(number, Syntax.COUNTER64, lambda row: getattr(row.counters, name))


def tables(switch: Switch) -> list[Table]:
    ports: dict[Oid, Interface] = {(if_index(number),): Interface(switch, number, False) for number in switch.ports}
    aggregations: dict[Oid, Interface] = {
        (aggregator_index(number),): Interface(switch, number, True) for number in switch.ports
    }
    rows = {**ports, **aggregations}
    return [
        scalars(INTERFACES, Column(1, Syntax.INTEGER, lambda _: len(rows))),
        Table((*INTERFACES, 2, 1), lambda: rows, IF_COLUMNS),
        Table((*IF_MIB, 1, 1, 1), lambda: rows, IFX_COLUMNS),
        scalars((*IF_MIB, 1), Column(5, Syntax.TICKS, lambda _: 0)),
        Table(DOT3_STATS, lambda: ports, DOT3_COLUMNS),
    ]


IF_COLUMNS = (
    Column(1, Syntax.INTEGER, lambda row: row.index),
    Column(2, Syntax.OCTETS, lambda row: row.name.encode()),
    Column(3, Syntax.INTEGER, lambda row: AGGREGATION if row.aggregation else ETHERNET),
    Column(4, Syntax.INTEGER, lambda _: MTU),
    Column(5, Syntax.GAUGE, lambda row: min(row.speed_mbps * 1_000_000, COUNTER32)),
    Column(6, Syntax.OCTETS, lambda row: row.switch.ports[row.number].mac),
    Column(7, Syntax.INTEGER, lambda row: row.admin, _set_admin),
    Column(8, Syntax.INTEGER, lambda row: row.oper),
    Column(9, Syntax.TICKS, lambda row: ticks(row.last_change_s)),
    _counter32(10, "in_octets"),
    _counter32(11, "in_unicast"),
    _counter32(13, "in_discards"),
    _counter32(14, "in_errors"),
    Column(15, Syntax.COUNTER32, lambda _: 0),
    _counter32(16, "out_octets"),
    _counter32(17, "out_unicast"),
    _counter32(19, "out_discards"),
    Column(20, Syntax.COUNTER32, lambda _: 0),
)
IFX_COLUMNS = (
    Column(1, Syntax.OCTETS, lambda row: row.name.encode()),
    _counter32(2, "in_multicast"),
    _counter32(3, "in_broadcast"),
    _counter32(4, "out_multicast"),
    _counter32(5, "out_broadcast"),
    _counter64(6, "in_octets"),
    _counter64(7, "in_unicast"),
    _counter64(8, "in_multicast"),
    _counter64(9, "in_broadcast"),
    _counter64(10, "out_octets"),
    _counter64(11, "out_unicast"),
    _counter64(12, "out_multicast"),
    _counter64(13, "out_broadcast"),
    Column(14, Syntax.INTEGER, lambda _: 2),  # no link traps
    Column(15, Syntax.GAUGE, lambda row: row.speed_mbps),
    Column(16, Syntax.INTEGER, lambda _: 1),  # a bridge takes every frame
    Column(17, Syntax.INTEGER, lambda row: 2 if row.aggregation else 1),
    Column(18, Syntax.OCTETS, lambda row: row.alias.encode(), _set_alias),
    Column(19, Syntax.TICKS, lambda row: ticks(row.switch.since(row.switch.started))),
)
NEVER = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 18)
"""Errors of the wire that this wire does not have: alignment, FCS, collisions, MAC, carrier sense, symbols."""
FULL_DUPLEX, NO_RATE_CONTROL, RATE_CONTROL_OFF = 3, 2, 1
DOT3_COLUMNS = (
    Column(1, Syntax.INTEGER, lambda row: row.index),
    *(Column(number, Syntax.COUNTER32, lambda _: 0) for number in NEVER),
    _counter32(13, "in_too_long"),
    Column(19, Syntax.INTEGER, lambda _: FULL_DUPLEX),
    Column(20, Syntax.INTEGER, lambda _: NO_RATE_CONTROL),
    Column(21, Syntax.INTEGER, lambda _: RATE_CONTROL_OFF),
)
