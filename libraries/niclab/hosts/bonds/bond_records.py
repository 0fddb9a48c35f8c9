"""Bonds and VLANs as a host reports them. A field it does not report is None."""

from __future__ import annotations

from dataclasses import dataclass

from niclab.core.names import Duplex


@dataclass(frozen=True)
class BondMember:
    """One slave of ``/proc/net/bonding``.

    ``partner_mac``: of the last LACP frame, all zero when none came. ``actor_state``, ``partner_state``: the state of
    either side of the link (IEEE 802.1AX, 6.4.2.3), None where the mode or the system has none.
    """

    name: str
    mii_status: str | None
    speed_mbps: int | None
    duplex: Duplex | None
    mac: str | None
    aggregator_id: int | None
    partner_mac: str | None
    actor_state: int | None = None
    partner_state: int | None = None


@dataclass(frozen=True)
class Aggregator:
    """The active aggregator of an 802.3ad bond."""

    id: int
    ports: int | None
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
    active_slave: str | None
    primary: str | None
    primary_reselect: str | None
    mii_status: str | None
    miimon_ms: int | None
    arp_interval_ms: int | None
    xmit_hash_policy: str | None
    aggregator: Aggregator | None
    slaves: tuple[BondMember, ...]
    slaves_up: int


@dataclass(frozen=True)
class Vlan:
    """One VLAN interface: its id, the interface below it, and the protocol of its tag (``802.1Q``)."""

    name: str
    id: int
    link: str | None
    protocol: str | None = None
