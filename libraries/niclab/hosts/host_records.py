"""Records of a host's answers, independent of the operating system.

A field the text does not have is None: "not said". It never means zero, off or fine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from niclab.core.names import Duplex
from niclab.hosts.errors import ReadError
from niclab.hosts.pci.pci_records import Vpd


class ModuleState(StrEnum):
    LIVE = "Live"
    LOADING = "Loading"
    UNLOADING = "Unloading"


class Operstate(StrEnum):
    """RFC 2863 states as Linux names them (``include/uapi/linux/if.h``)."""

    UNKNOWN = "UNKNOWN"
    NOT_PRESENT = "NOTPRESENT"
    DOWN = "DOWN"
    LOWER_LAYER_DOWN = "LOWERLAYERDOWN"
    TESTING = "TESTING"
    DORMANT = "DORMANT"
    UP = "UP"


@dataclass(frozen=True)
class DriverInfo:
    """Driver behind an interface. ``firmware`` is the text of the tool, blanks at the ends removed."""

    driver: str
    version: str | None
    firmware: str | None


@dataclass(frozen=True)
class SelfTest:
    """Self test of a card. ``passed``: the driver's verdict. ``results``: by the name of each test, its own terms."""

    passed: bool
    results: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class LinkSettings:
    """Link of an interface.

    ``supported`` and ``partner`` are mode names such as ``1000baseT/Full``; None when not said or "Not reported".
    """

    iface: str
    speed_mbps: int | None
    duplex: Duplex | None
    autoneg: bool | None
    link: bool | None
    port: str | None
    supported: tuple[str, ...] | None
    partner: tuple[str, ...] | None


@dataclass(frozen=True)
class Counters:
    """Counters of a driver in the order of the tool.

    Some drivers give one name to several counters. All are kept; asking such a name for its value is an error, because
    nobody can tell which was meant, but it does not spoil the other counters.
    """

    entries: tuple[tuple[str, int], ...]

    def __getitem__(self, name: str) -> int:
        values = [value for known, value in self.entries if known == name]
        if not values:
            raise ReadError(f"no counter {name!r} among {len(self.entries)}")
        if len(values) > 1:
            raise ReadError(f"counter {name!r} occurs {len(values)} times with the values {values}: ambiguous")
        return values[0]

    def __contains__(self, name: object) -> bool:
        return any(known == name for known, _ in self.entries)

    def as_json(self) -> dict[str, object]:
        """``counters`` by name; the values of a name that occurs several times are a list."""
        values: dict[str, list[int]] = {}
        for name, value in self.entries:
            values.setdefault(name, []).append(value)
        return {"counters": {name: found[0] if len(found) == 1 else found for name, found in values.items()}}

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.entries)

    def __len__(self) -> int:
        return len(self.entries)


@dataclass(frozen=True)
class PciDevice:
    """One PCI function.

    ``slot`` always has its domain (``0000:01:00.0``); ids are four hexadecimal digits. Speeds in GT/s, widths in lanes;
    None is unknown (also when the tool says "unknown", x0 or x63). ``lnkctl2_gts``: the highest speed that the link is
    set to.
    ``dead``: the device answers its configuration space with all ones. ``capabilities_readable`` is False when the tool
    had no right to read them, True when it did, None when this form of the tool does not show them.

    ``name`` is vendor and device in one text.
    """

    slot: str
    vendor_id: str | None = None
    device_id: str | None = None
    subvendor: str | None = None
    subdevice: str | None = None
    class_code: str | None = None
    driver: str | None = None
    port_type: str | None = None
    lnkcap_gts: float | None = None
    lnkcap_width: int | None = None
    lnksta_gts: float | None = None
    lnksta_width: int | None = None
    lnkctl2_gts: float | None = None
    dead: bool = False
    capabilities_readable: bool | None = None
    name: str | None = None
    max_payload_bytes: int | None = None
    serial_number: str | None = None
    vpd: Vpd | None = None


@dataclass(frozen=True)
class PcieLink:
    """One wire of the path from the root port to a card; both ends were read and agree on ``gts`` and ``width``."""

    upstream: PciDevice
    downstream: PciDevice
    gts: float
    width: int


@dataclass(frozen=True)
class Statistics:
    """Counters the kernel keeps for an interface since it exists."""

    rx_bytes: int
    rx_packets: int
    rx_errors: int
    rx_dropped: int
    tx_bytes: int
    tx_packets: int
    tx_errors: int
    tx_dropped: int


@dataclass(frozen=True)
class Address:
    """``family`` is ``inet`` or ``inet6``; ``tentative``: IPv6 duplicate detection still runs."""

    family: str
    address: str
    prefix_length: int
    scope: str
    tentative: bool


@dataclass(frozen=True)
class Interface:
    """One network interface.

    ``kind`` is the software kind (``veth``, ``bond``), None for
    hardware. ``permanent_mac`` is said only where ``mac`` is another one.
    """

    name: str
    index: int
    mac: str | None
    mtu: int
    admin_up: bool
    operstate: Operstate
    kind: str | None
    master: str | None
    addresses: tuple[Address, ...]
    statistics: Statistics | None
    carrier: bool
    permanent_mac: str | None = None

    @property
    def own_mac(self) -> str | None:
        """Its permanent MAC address, also where a bond gives it another one."""
        return self.permanent_mac or self.mac

    @property
    def ipv4(self) -> list[str]:
        """Its IPv4 addresses with their prefix, as ``198.18.10.1/24``."""
        return [f"{one.address}/{one.prefix_length}" for one in self.addresses if "." in one.address]


@dataclass(frozen=True)
class CarrierChanges:
    """The changes of the carrier since the interface exists; up and down are None on kernels before 4.16."""

    changes: int
    up: int | None
    down: int | None


@dataclass(frozen=True)
class CarrierLook:
    """An interface at one moment: the index, which is another one where it was made again, changes so far, carrier."""

    index: int
    changes: int
    up: bool


@dataclass(frozen=True)
class ModuleParameter:
    """``type`` as the tool words it: ``int``, ``charp``, ``array of int``."""

    name: str
    description: str | None
    type: str | None


@dataclass(frozen=True)
class ModuleFile:
    """A kernel module on disk, or built into the kernel (``built_in``; then there is no file name).

    None: the text does not say it. ``in_tree``: was it built with the kernel (modpost's mark, since Linux 3.2)?

    ``fields``: whatever else it says, by name.
    """

    filename: str | None
    built_in: bool | None
    name: str | None
    version: str | None
    srcversion: str | None
    vermagic: str | None
    depends: tuple[str, ...] | None
    firmware: tuple[str, ...]
    description: str | None = None
    license: str | None = None
    parameters: tuple[ModuleParameter, ...] = ()
    signer: str | None = None
    in_tree: bool | None = None
    fields: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The file, with a word on a build that is not the kernel's."""
        return f"{self.filename} (built out of tree)" if self.in_tree is False else str(self.filename)


@dataclass(frozen=True)
class LoadedModule:
    """A kernel module in memory."""

    name: str
    state: ModuleState | None
    version: str | None = None
    srcversion: str | None = None


@dataclass(frozen=True)
class PingResult:
    """``sent`` is at least 1.

    ``errors`` are the tool's own words (unreachable, message too long).
    """

    sent: int
    received: int
    duplicates: int
    errors: tuple[str, ...]

    @property
    def lost(self) -> int:
        """Packets without an answer."""
        return self.sent - self.received


@dataclass(frozen=True)
class OsRelease:
    """``/etc/os-release``: ``id`` such as ``debian``, ``version_id`` such as ``12`` (rolling releases have none).

    ``id_like``: the distributions that it is derived from, the nearest first.
    """

    id: str
    version_id: str | None
    pretty_name: str | None
    id_like: tuple[str, ...] = ()


@dataclass(frozen=True)
class Software:
    """``tools``: version of each tool; None when it is not installed, ``unknown`` when it does not say a version."""

    release: OsRelease
    kernel: str
    tools: dict[str, str | None]
