"""Interfaces as FreeBSD's ifconfig reports them. A field the text does not have is None."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from niclab.core.names import Duplex
from niclab.hosts.links.bits import Bits
from niclab.hosts.links.media import Media


@dataclass(frozen=True)
class InetAddress:
    """IPv4 address."""

    address: str
    prefix_length: int


@dataclass(frozen=True)
class Inet6Address:
    """IPv6 address without its zone. ``flags`` such as ``tentative``."""

    address: str
    zone: str | None
    prefix_length: int
    flags: tuple[str, ...]


@dataclass(frozen=True)
class LaggPort:
    """A member of a lagg."""

    name: str
    flags: Bits


@dataclass(frozen=True)
class Lagg:
    """``protocol`` such as ``lacp``; ``hash`` such as ``l2``, ``l3``; None of releases before 10."""

    protocol: str
    hash: tuple[str, ...] | None = None
    ports: tuple[LaggPort, ...] = ()


@dataclass(frozen=True)
class BsdVlan:
    """``protocol`` such as ``802.1q``; None of releases before 12."""

    id: int
    protocol: str | None
    parent: str


@dataclass(frozen=True)
class BsdInterface:
    """One interface. ``options`` are set; ``capabilities`` can be set, ``supported_media`` selected (``-m`` only)."""

    name: str
    flags: Bits
    mtu: int
    options: Bits | None = None
    capabilities: Bits | None = None
    ether: str | None = None
    inet: tuple[InetAddress, ...] = ()
    inet6: tuple[Inet6Address, ...] = ()
    media: Media | None = None
    status: str | None = None
    supported_media: tuple[str, ...] | None = None
    lagg: Lagg | None = None
    vlan: BsdVlan | None = None

    @property
    def up(self) -> bool:
        """Administratively up."""
        return self.flags.has("UP", 0)

    @property
    def link(self) -> bool | None:
        """Carrier, by the status line; None when there is none."""
        return None if self.status is None else self.status == "active"

    @property
    def speed_mbps(self) -> int | None:
        """Speed of the link; None without carrier, whatever was selected."""
        return self.media.speed_mbps if self.media and self.link is not False else None

    @property
    def duplex(self) -> Duplex | None:
        """As ``speed_mbps``."""
        return self.media.duplex if self.media and self.link is not False else None

    def as_json(self) -> dict[str, object]:
        """All fields, and what they mean together."""
        values: dict[str, object] = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        return values | {name: getattr(self, name) for name in ("up", "link", "speed_mbps", "duplex")}


@dataclass(frozen=True)
class BsdInterfaces:
    """The interfaces of one text, in its order."""

    interfaces: tuple[BsdInterface, ...]
