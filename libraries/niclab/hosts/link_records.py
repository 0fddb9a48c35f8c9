"""What ``ip`` and ``/proc/net`` say of interfaces, bonds and VLANs. A field the text does not have is None."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from niclab.hosts.records import Address, Duplex, Operstate


@dataclass(frozen=True)
class LinkBond:
    """What ``ip -d link`` says of a bond. ``partner_mac`` all zero: no LACP partner answered."""

    mode: str
    active_slave: str | None
    primary: str | None
    miimon_ms: int | None
    updelay_ms: int | None
    downdelay_ms: int | None
    lacp_rate: str | None
    xmit_hash_policy: str | None
    aggregator_id: int | None
    partner_mac: str | None


@dataclass(frozen=True)
class LinkSlave:
    """What ``ip -d link`` says of a member of a bond. ``state``: ACTIVE or BACKUP."""

    state: str | None
    mii_status: str | None
    link_failures: int | None
    permanent_mac: str | None
    aggregator_id: int | None


@dataclass(frozen=True)
class NetworkLink:
    """One interface of ``ip link`` or ``ip addr``.

    ``link`` is the interface below (``eth0`` of ``eth0.3@eth0``); ``kind`` the software kind, None for hardware and
    where the tool was not asked with ``-d``. ``statistics`` by direction and the tool's name: ``rx_bytes``.
    """

    name: str
    index: int | None
    flags: tuple[str, ...]
    mtu: int | None
    qdisc: str | None
    state: Operstate | None
    master: str | None
    link: str | None
    group: str | None
    qlen: int | None
    link_type: str | None
    mac: str | None
    broadcast: str | None
    permanent_mac: str | None
    kind: str | None
    slave_kind: str | None
    vlan_id: int | None
    vlan_protocol: str | None
    bond: LinkBond | None
    bond_slave: LinkSlave | None
    alias: str | None
    altnames: tuple[str, ...]
    addresses: tuple[Address, ...]
    statistics: Mapping[str, int] | None

    def as_json(self) -> dict[str, object]:
        """``iface`` beside ``name``: the other readers call it so."""
        return {"iface": self.name} | {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclass(frozen=True)
class NetworkLinks:
    """All interfaces of one text, in its order."""

    interfaces: tuple[NetworkLink, ...]

    def as_json(self) -> dict[str, object]:
        """The list, and of a single interface its values beside it."""
        values = self.interfaces[0].as_json() if len(self.interfaces) == 1 else {}
        return values | {"interfaces": self.interfaces}


@dataclass(frozen=True)
class BondMember:
    """One slave of ``/proc/net/bonding``. ``partner_mac``: of the last LACP frame, all zero when none came."""

    name: str
    mii_status: str | None
    speed_mbps: int | None
    duplex: Duplex | None
    link_failures: int | None
    mac: str | None
    queue_id: int | None
    aggregator_id: int | None
    actor_churn_state: str | None
    partner_churn_state: str | None
    actor_mac: str | None
    actor_port_state: int | None
    partner_mac: str | None
    partner_port_state: int | None


@dataclass(frozen=True)
class Aggregator:
    """The active aggregator of an 802.3ad bond."""

    id: int
    ports: int | None
    actor_key: int | None
    partner_key: int | None
    partner_mac: str | None


@dataclass(frozen=True)
class Bond:
    """``/proc/net/bonding/NAME``. ``mode`` is the kernel's text, ``mode_name`` and ``mode_id`` the module option's.

    ``mii_status`` is what the bond says of itself. It is left as read: a bond may say "up" while no slave has carrier;
    ``slaves_up`` counts those that say so.
    """

    driver_version: str | None
    mode: str | None
    mode_name: str | None
    mode_id: int | None
    fail_over_mac: str | None
    active_slave: str | None
    primary: str | None
    primary_reselect: str | None
    mii_status: str | None
    miimon_ms: int | None
    updelay_ms: int | None
    downdelay_ms: int | None
    peer_notify_delay_ms: int | None
    arp_interval_ms: int | None
    arp_targets: tuple[str, ...] | None
    xmit_hash_policy: str | None
    lacp_active: bool | None
    lacp_rate: str | None
    min_links: int | None
    ad_select: str | None
    system_mac: str | None
    aggregator: Aggregator | None
    slaves: tuple[BondMember, ...]
    slaves_up: int


@dataclass(frozen=True)
class Vlan:
    """One VLAN interface. ``counters`` are those of ``/proc/net/vlan/NAME``, by its words."""

    name: str
    id: int
    link: str | None
    protocol: str | None = None
    reorder_header: bool | None = None
    counters: Mapping[str, int] | None = None

    def as_json(self) -> dict[str, object]:
        """``iface`` beside ``name``, ``vlan_id`` beside ``id``: ``ip link`` calls it so."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"iface": self.name, "vlan_id": self.id} | values


@dataclass(frozen=True)
class Vlans:
    """``name_type``: how the kernel names new VLANs, from ``/proc/net/vlan/config``."""

    name_type: str | None
    vlans: tuple[Vlan, ...]

    def as_json(self) -> dict[str, object]:
        """The list, and of a single VLAN its values beside it."""
        values = self.vlans[0].as_json() if len(self.vlans) == 1 else {}
        return values | {"name_type": self.name_type, "vlans": self.vlans}
