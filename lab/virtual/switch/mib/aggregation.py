"""IEEE8023-LAG-MIB (802.1AX): aggregators, ports, and what the partner says.

Each port has an aggregator of its own, in which it is alone until it finds others with the same partner.
"""

from __future__ import annotations

from dataclasses import replace

from switch.config import Config
from switch.device import Switch
from switch.lacp import SYSTEM_PRIORITY, Lacp
from switch.lacpdu import Information, State
from switch.mib.numbers import IF_INDEX, aggregator_index, if_index, port_list
from switch.mib.tree import Column, Oid, Refusal, SetError, Syntax, Table

LAG = (1, 2, 840, 10006, 300, 43, 1)
TRUE, FALSE = 1, 2
ADMIN_STATES = State.ACTIVITY | State.TIMEOUT | State.AGGREGATION
"""States that an administrator may decide (802.1AX-2014, 7.3.2.1.20); the rest follows from the protocol."""
KEYS = range(1, 65536)


def state_bits(state: State) -> bytes:
    """LacpState is a BITS: its first is the highest bit, where in the frame it is the lowest."""
    return bytes([sum(0x80 >> bit for bit in range(8) if state & 1 << bit)])


def state_of(bits: bytes) -> State:
    return State(sum(1 << bit for bit in range(8) if bits[:1] and bits[0] & 0x80 >> bit))


def _set_key(config: Config, index: Oid, value: int) -> None:
    if value not in KEYS:
        raise SetError(Refusal.WRONG_VALUE)
    config.ports[index[0] - IF_INDEX].lacp_key = value


def _set_admin_state(config: Config, index: Oid, value: bytes) -> None:
    if len(value) != 1:
        raise SetError(Refusal.WRONG_LENGTH)
    state = state_of(value)
    if state & ~ADMIN_STATES:
        raise SetError(Refusal.WRONG_VALUE)
    number = index[0] - IF_INDEX
    config.ports[number] = replace(
        config.ports[number],
        lacp_active=bool(state & State.ACTIVITY),
        lacp_short=bool(state & State.TIMEOUT),
        lacp_aggregatable=bool(state & State.AGGREGATION),
    )


def _partner(speaker: Lacp) -> Information:
    return speaker.partner or Information()


def tables(switch: Switch) -> list[Table]:
    aggregators: dict[Oid, Lacp] = {(aggregator_index(number),): speaker for number, speaker in switch.lacp.items()}
    ports: dict[Oid, Lacp] = {(if_index(number),): speaker for number, speaker in switch.lacp.items()}
    return [
        Table((*LAG, 1, 1, 1), lambda: aggregators, _aggregator_columns(switch)),
        Table(
            (*LAG, 1, 2, 1),
            lambda: aggregators,
            (Column(1, Syntax.OCTETS, lambda speaker: port_list(_attached(switch, speaker.number))),),
        ),
        Table((*LAG, 2, 1, 1), lambda: ports, _port_columns(switch)),
        Table((*LAG, 2, 2, 1), lambda: ports, STATISTICS_COLUMNS),
    ]


def _attached(switch: Switch, number: int) -> list[int]:
    """The ports of the aggregator that has this number."""
    return [port for port, leader in switch.bridge.leader.items() if leader == number]


def _aggregator_columns(switch: Switch) -> tuple[Column, ...]:
    """dot3adAggTable."""

    def aggregate(speaker: Lacp) -> int:
        return TRUE if speaker.aggregation is not None and _attached(switch, speaker.number) else FALSE

    def partner(speaker: Lacp) -> Information:
        return _partner(speaker) if _attached(switch, speaker.number) else Information()

    return (
        Column(2, Syntax.OCTETS, lambda speaker: switch.ports[speaker.number].mac),
        Column(3, Syntax.INTEGER, lambda _: SYSTEM_PRIORITY),
        Column(4, Syntax.OCTETS, lambda speaker: speaker.system),
        Column(5, Syntax.INTEGER, aggregate),
        Column(6, Syntax.INTEGER, lambda speaker: speaker.settings.lacp_key),
        Column(7, Syntax.INTEGER, lambda speaker: speaker.settings.lacp_key),
        Column(8, Syntax.OCTETS, lambda speaker: partner(speaker).system),
        Column(9, Syntax.INTEGER, lambda speaker: partner(speaker).system_priority),
        Column(10, Syntax.INTEGER, lambda speaker: partner(speaker).key),
        Column(11, Syntax.INTEGER, lambda _: 0),
    )


def _port_columns(switch: Switch) -> tuple[Column, ...]:
    """dot3adAggPortTable; what is administered for a partner that does not speak is nothing."""

    def attached(speaker: Lacp) -> int:
        return aggregator_index(switch.bridge.leader[speaker.number])

    def admin_state(speaker: Lacp) -> bytes:
        return state_bits(speaker.actor.state & ADMIN_STATES)

    nothing = {6: 0, 10: 0, 16: 0, 18: 0}
    return (
        Column(2, Syntax.INTEGER, lambda speaker: speaker.actor.system_priority),
        Column(3, Syntax.OCTETS, lambda speaker: speaker.actor.system),
        Column(4, Syntax.INTEGER, lambda speaker: speaker.settings.lacp_key, _set_key),
        Column(5, Syntax.INTEGER, lambda speaker: speaker.actor.key),
        *(Column(number, Syntax.INTEGER, lambda _: 0) for number in nothing),
        Column(7, Syntax.INTEGER, lambda speaker: _partner(speaker).system_priority),
        Column(8, Syntax.OCTETS, lambda _: bytes(6)),
        Column(9, Syntax.OCTETS, lambda speaker: _partner(speaker).system),
        Column(11, Syntax.INTEGER, lambda speaker: _partner(speaker).key),
        Column(12, Syntax.INTEGER, attached),
        Column(13, Syntax.INTEGER, attached),
        Column(14, Syntax.INTEGER, lambda speaker: speaker.actor.port),
        Column(15, Syntax.INTEGER, lambda speaker: speaker.actor.port_priority),
        Column(17, Syntax.INTEGER, lambda speaker: _partner(speaker).port),
        Column(19, Syntax.INTEGER, lambda speaker: _partner(speaker).port_priority),
        Column(20, Syntax.OCTETS, admin_state, _set_admin_state),
        Column(21, Syntax.OCTETS, lambda speaker: state_bits(speaker.actor.state)),
        Column(22, Syntax.OCTETS, lambda _: b"\0"),
        Column(23, Syntax.OCTETS, lambda speaker: state_bits(_partner(speaker).state)),
        Column(24, Syntax.INTEGER, lambda speaker: TRUE if speaker.settings.lacp_aggregatable else FALSE),
    )


STATISTICS_COLUMNS = (
    Column(1, Syntax.COUNTER32, lambda speaker: speaker.statistics.received),
    Column(2, Syntax.COUNTER32, lambda _: 0),
    Column(3, Syntax.COUNTER32, lambda _: 0),
    Column(4, Syntax.COUNTER32, lambda _: 0),
    Column(5, Syntax.COUNTER32, lambda speaker: speaker.statistics.illegal),
    Column(6, Syntax.COUNTER32, lambda speaker: speaker.statistics.sent),
    Column(7, Syntax.COUNTER32, lambda _: 0),
    Column(8, Syntax.COUNTER32, lambda _: 0),
)
