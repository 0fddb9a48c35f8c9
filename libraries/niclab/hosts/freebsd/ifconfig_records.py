"""What FreeBSD's ifconfig says about interfaces. A field the text does not have is None."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from niclab.hosts.freebsd.bits import Bits
from niclab.hosts.freebsd.media import Media
from niclab.hosts.records import Duplex


@dataclass(frozen=True)
class InetAddress:
    """IPv4 address; ``destination`` of a point-to-point interface, ``vhid`` of a CARP address."""

    address: str
    prefix_length: int | None
    broadcast: str | None
    destination: str | None
    vhid: int | None


@dataclass(frozen=True)
class Inet6Address:
    """IPv6 address without its zone. ``scope_id`` is the interface index. ``flags`` such as ``tentative``."""

    address: str
    zone: str | None
    prefix_length: int | None
    scope_id: int | None
    destination: str | None
    flags: tuple[str, ...]
    vhid: int | None


@dataclass(frozen=True)
class LaggPort:
    """A member of a lagg. ``state`` (LACP bits of the actor) and the partner are printed with -v only; a partner of
    zeros is kept as it is."""

    name: str
    flags: Bits
    state: Bits | None = None
    actor_mac: str | None = None
    partner_mac: str | None = None


@dataclass(frozen=True)
class Lagg:
    """``protocol`` such as ``lacp``; ``hash`` such as ``l2``, ``l3``. A physical member names its ``device``, and
    nothing else."""

    protocol: str | None
    hash: tuple[str, ...] | None = None
    device: str | None = None
    active_ports: int | None = None
    flapping: int | None = None
    ports: tuple[LaggPort, ...] = ()


@dataclass(frozen=True)
class Vlan:
    """``id`` 0, no parent and no protocol: not configured yet. ``protocol`` such as ``802.1q``."""

    id: int
    protocol: str | None
    pcp: int | None
    parent: str | None


@dataclass(frozen=True)
class OpticalLane:
    """Power in mW and dBm (None: no light, "-inf"), bias current in mA. ``lane`` from 1."""

    lane: int
    rx_power_mw: float | None
    rx_power_dbm: float | None
    tx_power_mw: float | None
    tx_power_dbm: float | None
    tx_bias_ma: float | None


@dataclass(frozen=True)
class Transceiver:
    """The module in the port, from ``ifconfig -v``. ``plugged`` is the tool's own line."""

    plugged: str
    vendor: str | None = None
    part_number: str | None = None
    serial_number: str | None = None
    date: str | None = None
    temperature_c: float | None = None
    voltage_v: float | None = None
    lanes: tuple[OpticalLane, ...] = ()


@dataclass(frozen=True)
class BsdInterface:
    """One interface.

    ``options`` are set, ``capabilities`` can be set (``-m`` only). ``hwaddr`` is printed when it differs from
    ``ether``. ``supported_media`` as printed, with their options (``-m`` only). ``other``: lines of no interest here
    (bridge, carp, wireless), as printed, and a status with the reason behind it. Addresses are None only where names
    alone were asked for (``-l``).
    """

    name: str
    flags: Bits | None = None
    metric: int | None = None
    mtu: int | None = None
    description: str | None = None
    options: Bits | None = None
    capabilities: Bits | None = None
    ether: str | None = None
    hwaddr: str | None = None
    inet: tuple[InetAddress, ...] | None = ()
    inet6: tuple[Inet6Address, ...] | None = ()
    nd6_options: Bits | None = None
    media: Media | None = None
    status: str | None = None
    supported_media: tuple[str, ...] | None = None
    lagg: Lagg | None = None
    vlan: Vlan | None = None
    groups: tuple[str, ...] | None = None
    transceiver: Transceiver | None = None
    driver_name: str | None = None
    other: tuple[str, ...] = field(default=())

    @property
    def up(self) -> bool | None:
        """Administratively up; None when the form of the tool prints no flags."""
        return None if self.flags is None else self.flags.has("UP", 0)

    @property
    def link(self) -> bool | None:
        """Carrier, by the status line; None when there is none."""
        if self.status in ("active", "associated", "inserted", "running"):
            return True
        return False if self.status in ("no carrier", "no ring") else None

    @property
    def speed_mbps(self) -> int | None:
        """Speed of the link; None without carrier, whatever was selected."""
        return self.media.speed_mbps if self.media and self.link is not False else None

    @property
    def duplex(self) -> Duplex | None:
        """As ``speed_mbps``."""
        return self.media.duplex if self.media and self.link is not False else None

    def as_json(self) -> dict[str, object]:
        """All fields; ``media`` is the text as printed, ``media_selected`` and ``media_active`` what it means."""
        values: dict[str, object] = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        values["iface"] = self.name
        values["media"] = self.media.text if self.media else None
        values["media_selected"] = self.media.selected if self.media else None
        values["media_active"] = self.media.active if self.media else None
        for name in ("up", "link", "speed_mbps", "duplex"):
            values[name] = getattr(self, name)
        return values


@dataclass(frozen=True)
class BsdInterfaces:
    """The interfaces of one text, in its order. ``errors``: complaints of the tool that stand between them."""

    interfaces: tuple[BsdInterface, ...]
    errors: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """``interfaces``; of a single one the same fields also at the top level."""
        values: dict[str, object] = {"interfaces": self.interfaces, "errors": self.errors}
        if len(self.interfaces) == 1:
            values = {**self.interfaces[0].as_json(), **values}
        return values
