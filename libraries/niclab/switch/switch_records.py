"""The reports of a switch on itself, its ports and its tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum


class Admin(Enum):
    """The state that a port is set to: ``ifAdminStatus`` (RFC 2863)."""

    UP = 1
    DOWN = 2
    TESTING = 3


class Oper(Enum):
    """The state that a port has: ``ifOperStatus`` (RFC 2863)."""

    UP = 1
    DOWN = 2
    TESTING = 3
    UNKNOWN = 4
    DORMANT = 5
    NOT_PRESENT = 6
    LOWER_LAYER_DOWN = 7


@dataclass(frozen=True)
class Identity:
    """The identity of the switch. None: not reported. ``description`` is ``sysDescr``; the rest is of its chassis."""

    name: str
    description: str
    maker: str | None
    model: str | None
    serial: str | None
    software: str | None


@dataclass(frozen=True)
class PortState:
    """``speed_mbps`` is None while the port has no speed (``ifHighSpeed`` 0)."""

    admin: Admin
    oper: Oper
    speed_mbps: float | None


@dataclass(frozen=True)
class PortCounters:
    """Counters of a port, with the time at which they were read.

    Packets and octets count to 2**64, errors and discards to 2**32. None: the switch has no such counter.
    ``discontinuity_ticks``: when the counters last jumped (``ifCounterDiscontinuityTime``), in the ticks of
    ``uptime_ticks``, 1/100 s.
    """

    uptime_ticks: int
    discontinuity_ticks: int | None
    in_octets: int
    in_unicast: int
    in_multicast: int
    in_broadcast: int
    out_octets: int
    out_unicast: int
    out_multicast: int
    out_broadcast: int
    in_errors: int
    in_discards: int
    out_errors: int
    out_discards: int
    fcs_errors: int | None


OF_32_BITS = ("in_errors", "in_discards", "out_errors", "out_discards", "fcs_errors")
COUNTERS = tuple(
    field.name for field in fields(PortCounters) if field.name not in ("uptime_ticks", "discontinuity_ticks")
)


@dataclass(frozen=True)
class PortVlans:
    """The VLANs of a port: ``pvid`` takes its untagged frames; it is a member of ``tagged`` and ``untagged``."""

    pvid: int
    untagged: frozenset[int]
    tagged: frozenset[int]

    def __str__(self) -> str:
        words = {"untagged": self.untagged, "tagged": self.tagged}
        listed = [f"{word}={','.join(map(str, sorted(vlans)))}" for word, vlans in words.items()]
        return f"pvid={self.pvid} {' '.join(listed)}"


@dataclass(frozen=True)
class LacpFlags:
    """The state of one side of a link in an aggregation (IEEE 802.1AX, 6.4.2.3)."""

    active: bool
    short_timeout: bool
    aggregatable: bool
    in_sync: bool
    collecting: bool
    distributing: bool
    defaulted: bool
    expired: bool


@dataclass(frozen=True)
class LacpPort:
    """A port's part in a link aggregation. ``aggregator`` None: attached to none. System ids are MAC addresses."""

    port: str
    aggregator: int | None
    actor_system: str
    actor: LacpFlags
    partner_system: str
    partner_key: int
    partner: LacpFlags
