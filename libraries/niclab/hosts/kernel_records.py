"""What a kernel log tells: notable lines, each with the values that are in it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum

from niclab.core.names import Duplex
from niclab.hosts.records import KernelLine


class KernelEventKind(StrEnum):
    LINK_UP = "link up"
    LINK_DOWN = "link down"
    PANIC = "panic"
    OOPS = "oops"
    BUG = "bug"
    LOCKUP = "lockup"
    HUNG_TASK = "hung task"
    WARNING = "warning"
    CALL_TRACE = "call trace"
    OUT_OF_MEMORY = "out of memory"
    MACHINE_CHECK = "machine check"
    NMI = "unknown NMI"
    AER_CORRECTED = "PCIe error, corrected"
    AER_UNCORRECTED = "PCIe error, uncorrected"
    PCIE_SLOT_UP = "PCIe slot up"
    PCIE_SLOT_DOWN = "PCIe slot down"
    DEVICE_LOST = "device lost"
    PROBE_FAILED = "driver probe failed"
    TRANSMIT_TIMEOUT = "transmit timeout"
    FIRMWARE_LOAD_FAILED = "firmware load failed"
    DRIVER_LOADED = "driver loaded"
    FIRMWARE_VERSION = "firmware version"
    PCIE_LINK = "PCIe link"
    RENAMED = "interface renamed"
    CARD_FOUND = "card found"


@dataclass(frozen=True)
class PcieLinkReport:
    """What a driver or the PCI core says of a link: speeds in GT/s, widths in lanes, bandwidths in Gbit/s.

    ``limited`` True: the slot gives less than the card can use; False: the line says that it gives all;
    None: it says nothing of it. ``limited_by``: PCI address of the narrow place.
    """

    gts: float | None = None
    width: int | None = None
    available_gbps: float | None = None
    limited: bool | None = None
    limited_by: str | None = None
    capable_gts: float | None = None
    capable_width: int | None = None
    capable_gbps: float | None = None


@dataclass(frozen=True)
class KernelEvent:
    """A notable kernel line. What the line does not say is None.

    ``driver``, ``address`` (PCI, with its domain) and ``iface`` are whom it is about. ``version``: of the driver;
    ``firmware`` and ``nvm``: of the card. ``speed_mbps``, ``duplex``, ``flow_control``: of a link that came up.
    """

    kind: KernelEventKind
    line: KernelLine
    iface: str | None = None
    address: str | None = None
    driver: str | None = None
    version: str | None = None
    firmware: str | None = None
    nvm: str | None = None
    speed_mbps: int | None = None
    duplex: Duplex | None = None
    flow_control: str | None = None
    pcie: PcieLinkReport | None = None

    def as_json(self) -> dict[str, object]:
        """Flat, with the words of the line; the address is called ``bus`` as in ``ethtool -i``."""
        values: dict[str, object] = {
            "kind": self.kind.value,
            "seconds": self.line.seconds,
            "text": self.line.text.strip(),
            "bus": self.address,
        }
        names = [field.name for field in dataclasses.fields(self) if field.name not in ("kind", "line", "address")]
        return values | {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class KernelLog:
    """``lines``: how many lines of the kernel there are; ``events`` in their order."""

    lines: int
    events: tuple[KernelEvent, ...]
