"""What FreeBSD's pciconf says about PCI functions."""

from __future__ import annotations

from dataclasses import dataclass

from niclab.hosts.records import PciDevice


@dataclass(frozen=True)
class Capability:
    """One capability. ``id`` and ``offset`` as printed in hexadecimal; ``extended`` ones stand above 0x100.
    ``text`` is what the tool says, on one line."""

    id: str
    offset: str
    extended: bool
    text: str


@dataclass(frozen=True)
class Bar:
    """A base address. ``range_bits`` 32 or 64, ``base`` as 0x and hexadecimal digits."""

    register: str
    type: str
    range_bits: int
    base: str
    size_bytes: int
    enabled: bool


@dataclass(frozen=True)
class AerCounts:
    """How many kinds of error are latched in the AER status registers."""

    fatal: int
    non_fatal: int
    corrected: int


@dataclass(frozen=True)
class Messages:
    """MSI or MSI-X. ``enabled`` None: this release does not say."""

    supported: int
    enabled: bool | None


@dataclass(frozen=True)
class PciconfDevice(PciDevice):
    """A function, with the names and capabilities of ``-v``, ``-c``, ``-b`` and ``-e``; None where not asked.

    ``selector`` as printed, ``name`` and ``unit`` of the attached driver (``none0`` counts functions without one:
    then ``driver`` is None). Sizes in bytes.
    """

    selector: str = ""
    unit: int | None = None
    vendor: str | None = None
    device: str | None = None
    class_name: str | None = None
    subclass_name: str | None = None
    programming_interface: str | None = None
    header_type: str | None = None
    max_payload_bytes: int | None = None
    max_payload_supported_bytes: int | None = None
    max_read_bytes: int | None = None
    aspm: str | None = None
    power_state: str | None = None
    serial: str | None = None
    aer: AerCounts | None = None
    msi: Messages | None = None
    msix: Messages | None = None
    bars: tuple[Bar, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class PciconfDevices:
    devices: tuple[PciconfDevice, ...]
