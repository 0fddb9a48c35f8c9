"""The facts of a card sheet as a server shows them of one port, read without changing anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.host import Host
from niclab.hosts.host_records import DriverInfo, Interface, LinkSettings, PciDevice
from niclab.hosts.settings.ethtool_records import Channels, Coalescing, Features, Pause, Rings

T = TypeVar("T")


@dataclass(frozen=True)
class Seen:
    """One port. What its driver or the system does not show is None, and ``hidden`` says why."""

    device: PciDevice
    driver: DriverInfo | None
    interface: Interface | None
    link: LinkSettings | None
    features: Features | None
    rings: Rings | None
    coalescing: Coalescing | None
    pause: Pause | None
    channels: Channels | None
    hidden: Mapping[str, str]


def look(host: Host, pci: str, iface: str) -> Seen:
    """Read a port.

    Args:
        host: The server.
        pci: Address of the port's PCI function.
        iface: Its interface.

    Raises:
        BenchFault: There is no such function.
    """
    hidden: dict[str, str] = {}

    def shown(subject: str, read: Callable[[str], T]) -> T | None:
        try:
            return read(iface)
        except (BenchFault, NotApplicable) as error:
            hidden[subject] = str(error)
            return None

    return Seen(
        host.pci.device(pci),
        shown("driver", host.drivers.driver_info),
        shown("interface", host.links.interface),
        shown("link", host.links.link_settings),
        shown("offloads", host.settings.features),
        shown("rings", host.settings.rings),
        shown("coalescing", host.settings.coalescing),
        shown("pause", host.settings.pause),
        shown("channels", host.settings.channels),
        hidden,
    )
