"""Q-BRIDGE-MIB (RFC 4363): VLANs, what each port does with them, and who was seen in which."""

from __future__ import annotations

from collections.abc import Callable

from switch.config import DEFAULT_VLAN, Config, Vlan
from switch.device import Switch
from switch.frames import MAX_VLAN
from switch.mib.bridge import LEARNED
from switch.mib.numbers import port_list, ports_of
from switch.mib.system import text
from switch.mib.tree import Column, Oid, Refusal, SetError, Syntax, Table, scalars

Q_BRIDGE = (1, 3, 6, 1, 2, 1, 17, 7, 1)
LONGEST_NAME = 32
MAX_VLANS = 256
ACTIVE, NOT_IN_SERVICE, CREATE_AND_GO, CREATE_AND_WAIT, DESTROY = 1, 2, 4, 5, 6  # RowStatus, RFC 2579
TRUE, FALSE = 1, 2
ADMIT_ALL, ADMIT_TAGGED = 1, 2
PERMANENT, DISABLED = 2, 2


def _vlan(config: Config, index: Oid) -> Vlan:
    vlan = config.vlans.get(index[0]) if len(index) == 1 else None
    if vlan is None:
        raise SetError(Refusal.INCONSISTENT_NAME)  # its row must be made first
    return vlan


def _set_name(config: Config, index: Oid, value: bytes) -> None:
    _vlan(config, index).name = text(value, LONGEST_NAME)


def _port_set(field: str) -> Callable[[Config, Oid, bytes], None]:
    def write(config: Config, index: Oid, value: bytes) -> None:
        ports = ports_of(value)
        if not ports <= set(config.ports):
            raise SetError(Refusal.WRONG_VALUE)
        vlan = _vlan(config, index)
        setattr(vlan, field, ports)
        if vlan.egress & vlan.forbidden:
            raise SetError(Refusal.INCONSISTENT_VALUE)

    return write


def _set_row_status(config: Config, index: Oid, value: int) -> None:
    if len(index) != 1 or not 1 <= index[0] <= MAX_VLAN:
        raise SetError(Refusal.NO_CREATION)
    (number,) = index
    there = number in config.vlans
    match value:
        case 4 | 5 if there:  # createAndGo, createAndWait
            raise SetError(Refusal.INCONSISTENT_VALUE)
        case 4 | 5:
            if len(config.vlans) >= MAX_VLANS:
                raise SetError(Refusal.NO_CREATION)
            config.vlans[number] = Vlan(f"VLAN{number:04}", active=value == CREATE_AND_GO)
        case 1 | 2:  # active, notInService
            if not there or number == DEFAULT_VLAN:
                raise SetError(Refusal.INCONSISTENT_VALUE)
            config.vlans[number].active = value == ACTIVE
        case 6:  # destroy; of a row that is not there it is no error (RFC 2579)
            if number == DEFAULT_VLAN or any(port.pvid == number for port in config.ports.values()):
                raise SetError(Refusal.INCONSISTENT_VALUE)
            config.vlans.pop(number, None)
        case _:
            raise SetError(Refusal.WRONG_VALUE)


def _set_pvid(config: Config, index: Oid, value: int) -> None:
    if not 1 <= value <= MAX_VLAN:
        raise SetError(Refusal.WRONG_VALUE)
    if value not in config.vlans:
        raise SetError(Refusal.INCONSISTENT_VALUE)
    config.ports[index[0]].pvid = value


def _set_frame_types(config: Config, index: Oid, value: int) -> None:
    if value not in (ADMIT_ALL, ADMIT_TAGGED):
        raise SetError(Refusal.WRONG_VALUE)
    config.ports[index[0]].tagged_only = value == ADMIT_TAGGED


def _set_filtering(config: Config, index: Oid, value: int) -> None:
    if value not in (TRUE, FALSE):
        raise SetError(Refusal.WRONG_VALUE)
    config.ports[index[0]].ingress_filtering = value == TRUE


def tables(switch: Switch) -> list[Table]:
    fdb = switch.bridge.fdb

    def static() -> dict[Oid, Vlan]:
        return {(number,): vlan for number, vlan in switch.config.vlans.items()}

    def current() -> dict[Oid, tuple[int, Vlan]]:
        return {(0, number): (number, vlan) for number, vlan in switch.config.vlans.items() if vlan.active}

    def addresses() -> dict[Oid, object]:
        return {(vlan, *mac): learned for (vlan, mac), learned in fdb.items()}

    def databases() -> dict[Oid, int]:
        return {(number,): number for number in switch.config.vlans}

    return [
        scalars(
            (*Q_BRIDGE, 1),
            Column(1, Syntax.INTEGER, lambda _: 1),
            Column(2, Syntax.INTEGER, lambda _: MAX_VLAN),
            Column(3, Syntax.GAUGE, lambda _: MAX_VLANS),
            Column(4, Syntax.GAUGE, lambda _: len(switch.config.vlans)),
            Column(5, Syntax.INTEGER, lambda _: DISABLED),
        ),
        Table(
            (*Q_BRIDGE, 2, 1, 1),
            databases,
            (Column(2, Syntax.COUNTER32, lambda number: sum(vlan == number for vlan, _ in fdb)),),
        ),
        Table((*Q_BRIDGE, 2, 2, 1), addresses, ADDRESS_COLUMNS),
        Table((*Q_BRIDGE, 4, 2, 1), current, CURRENT_COLUMNS),
        Table((*Q_BRIDGE, 4, 3, 1), static, STATIC_COLUMNS),
        Table((*Q_BRIDGE, 4, 5, 1), lambda: {(n,): n for n in switch.ports}, _port_columns(switch)),
    ]


def _port_columns(switch: Switch) -> tuple[Column, ...]:
    """dot1qPortVlanTable."""
    return (
        Column(1, Syntax.GAUGE, lambda n: switch.config.ports[n].pvid, _set_pvid),
        Column(
            2,
            Syntax.INTEGER,
            lambda n: ADMIT_TAGGED if switch.config.ports[n].tagged_only else ADMIT_ALL,
            _set_frame_types,
        ),
        Column(
            3, Syntax.INTEGER, lambda n: TRUE if switch.config.ports[n].ingress_filtering else FALSE, _set_filtering
        ),
        Column(4, Syntax.INTEGER, lambda _: DISABLED),
    )


ADDRESS_COLUMNS = (
    Column(2, Syntax.INTEGER, lambda learned: learned.port),
    Column(3, Syntax.INTEGER, lambda _: LEARNED),
)
CURRENT_COLUMNS = (
    Column(3, Syntax.GAUGE, lambda row: row[0]),
    Column(4, Syntax.OCTETS, lambda row: port_list(row[1].egress)),
    Column(5, Syntax.OCTETS, lambda row: port_list(row[1].untagged)),
    Column(6, Syntax.INTEGER, lambda _: PERMANENT),
    Column(7, Syntax.TICKS, lambda _: 0),
)
STATIC_COLUMNS = (
    Column(1, Syntax.OCTETS, lambda vlan: vlan.name.encode(), _set_name, creates=True),
    Column(2, Syntax.OCTETS, lambda vlan: port_list(vlan.egress), _port_set("egress"), creates=True),
    Column(3, Syntax.OCTETS, lambda vlan: port_list(vlan.forbidden), _port_set("forbidden"), creates=True),
    Column(4, Syntax.OCTETS, lambda vlan: port_list(vlan.untagged), _port_set("untagged"), creates=True),
    Column(
        5,
        Syntax.INTEGER,
        lambda vlan: ACTIVE if vlan.active else NOT_IN_SERVICE,
        _set_row_status,
        creates=True,
        first=True,
    ),
)
