"""The variables that are read and written over SNMP, by number, and what their values are. No MIB file is needed.

Numbers and types are those of the MIBs named with them. A switch that keeps a variable elsewhere says so in its model
(:mod:`niclab.switch.model`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ValueKind(Enum):
    """The type of a value on the wire; the value of the member is how messages call it."""

    INTEGER = "an INTEGER"
    GAUGE = "a Gauge32"
    COUNTER32 = "a Counter32"
    COUNTER64 = "a Counter64"
    TICKS = "TimeTicks"
    OCTETS = "an OCTET STRING"
    OID = "an OBJECT IDENTIFIER"
    ADDRESS = "an IpAddress"


Value = int | bytes | str
"""Numbers are ``int``, octet strings and addresses ``bytes``, object identifiers ``str``."""

_WHOLE_NUMBERS = frozenset({ValueKind.INTEGER, ValueKind.GAUGE})
"""Kinds that agents take for one another without changing the value. A 32-bit counter for a 64-bit one is no such."""


@dataclass(frozen=True)
class Variable:
    """A variable or a column of a table: its name, its number without instance, and the kind of its values."""

    name: str
    oid: str
    kind: ValueKind

    def at(self, *index: int) -> Instance:
        """The instance with that index; ``at(0)`` for a scalar."""
        return Instance(self, index)

    def fits(self, kind: ValueKind) -> bool:
        """May a value of ``kind`` be one of this variable?"""
        return kind is self.kind or {kind, self.kind} <= _WHOLE_NUMBERS


@dataclass(frozen=True)
class Instance:
    """One value of a variable, as it can be read and written."""

    variable: Variable
    index: tuple[int, ...]

    @property
    def oid(self) -> str:
        return ".".join([self.variable.oid, *map(str, self.index)])

    def __str__(self) -> str:
        return f"{self.variable.name}.{'.'.join(map(str, self.index))} ({self.oid})"


def shown(value: Value) -> str:
    """A value as messages show it: text as text, other octets in hex."""
    if isinstance(value, bytes):
        text = value.decode("ascii", errors="replace")
        return repr(text) if text.isprintable() and value.isascii() else f"0x{value.hex()}"
    return str(value)


def _variables(base: str, *rows: tuple[str, str, ValueKind]) -> dict[str, Variable]:
    return {name: Variable(name, f"{base}.{end}", kind) for name, end, kind in rows}


_I, _G, _C, _C64, _T, _S, _O = (
    ValueKind.INTEGER,
    ValueKind.GAUGE,
    ValueKind.COUNTER32,
    ValueKind.COUNTER64,
    ValueKind.TICKS,
    ValueKind.OCTETS,
    ValueKind.OID,
)

VARIABLES: dict[str, Variable] = {
    # SNMPv2-MIB (RFC 3418)
    **_variables(
        "1.3.6.1.2.1.1",
        ("sysDescr", "1", _S),
        ("sysObjectID", "2", _O),
        ("sysUpTime", "3", _T),
        ("sysName", "5", _S),
    ),
    # IF-MIB (RFC 2863)
    **_variables(
        "1.3.6.1.2.1.2.2.1",
        ("ifDescr", "2", _S),
        ("ifType", "3", _I),
        ("ifAdminStatus", "7", _I),
        ("ifOperStatus", "8", _I),
        ("ifLastChange", "9", _T),
        ("ifInDiscards", "13", _C),
        ("ifInErrors", "14", _C),
        ("ifOutDiscards", "19", _C),
        ("ifOutErrors", "20", _C),
    ),
    **_variables(
        "1.3.6.1.2.1.31.1.1.1",
        ("ifName", "1", _S),
        ("ifHCInOctets", "6", _C64),
        ("ifHCInUcastPkts", "7", _C64),
        ("ifHCInMulticastPkts", "8", _C64),
        ("ifHCInBroadcastPkts", "9", _C64),
        ("ifHCOutOctets", "10", _C64),
        ("ifHCOutUcastPkts", "11", _C64),
        ("ifHCOutMulticastPkts", "12", _C64),
        ("ifHCOutBroadcastPkts", "13", _C64),
        ("ifHighSpeed", "15", _G),
        ("ifAlias", "18", _S),
        ("ifCounterDiscontinuityTime", "19", _T),
    ),
    **_variables("1.3.6.1.2.1.31.1.2.1", ("ifStackStatus", "3", _I)),
    # EtherLike-MIB (RFC 3635)
    **_variables("1.3.6.1.2.1.10.7.2.1", ("dot3StatsFCSErrors", "3", _C)),
    # BRIDGE-MIB (RFC 4188)
    **_variables(
        "1.3.6.1.2.1.17",
        ("dot1dBaseNumPorts", "1.2", _I),
        ("dot1dBasePortIfIndex", "1.4.1.2", _I),
        ("dot1dTpFdbPort", "4.3.1.2", _I),
    ),
    # Q-BRIDGE-MIB (RFC 4363)
    **_variables(
        "1.3.6.1.2.1.17.7.1",
        ("dot1qTpFdbPort", "2.2.1.2", _I),
        ("dot1qVlanFdbId", "4.2.1.3", _G),
        ("dot1qVlanStaticName", "4.3.1.1", _S),
        ("dot1qVlanStaticEgressPorts", "4.3.1.2", _S),
        ("dot1qVlanStaticUntaggedPorts", "4.3.1.4", _S),
        ("dot1qVlanStaticRowStatus", "4.3.1.5", _I),
        ("dot1qPvid", "4.5.1.1", _G),
    ),
    # IEEE8023-LAG-MIB (IEEE 802.3ad-2000, annex 30C)
    **_variables(
        "1.2.840.10006.300.43.1.2.1.1",
        ("dot3adAggPortActorSystemID", "3", _S),
        ("dot3adAggPortPartnerOperSystemID", "9", _S),
        ("dot3adAggPortPartnerOperKey", "11", _I),
        ("dot3adAggPortSelectedAggID", "12", _I),
        ("dot3adAggPortAttachedAggID", "13", _I),
        ("dot3adAggPortActorOperState", "21", _S),
        ("dot3adAggPortPartnerOperState", "23", _S),
    ),
    # ENTITY-MIB (RFC 6933)
    **_variables(
        "1.3.6.1.2.1.47.1.1.1.1",
        ("entPhysicalClass", "5", _I),
        ("entPhysicalSoftwareRev", "10", _S),
        ("entPhysicalSerialNum", "11", _S),
        ("entPhysicalMfgName", "12", _S),
        ("entPhysicalModelName", "13", _S),
    ),
}
"""Every variable the framework knows, by name."""
