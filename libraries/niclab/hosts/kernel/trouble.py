"""Trouble that a kernel reports: crashes, hangs, timeouts and hardware errors, and whom they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

TRACE_LINES = 60
"""Lines after an oops or a lockup in which its call trace names modules: registers, code and stack come first."""


class TroubleKind(StrEnum):
    """The kind of trouble, in words."""

    PANIC = "panic"
    OOPS = "oops"
    TRAP = "trap"
    DEBUGGER = "debugger"
    BUG = "bug"
    LOCKUP = "lockup"
    HANG = "hang"
    HUNG_TASK = "hung task"
    BLOCKED_TASK = "blocked task"
    CORRUPTION = "corrupted memory"
    WARNING = "warning"
    OUT_OF_MEMORY = "out of memory"
    MACHINE_CHECK = "machine check"
    NMI = "unknown NMI"
    INTERRUPT_UNHANDLED = "interrupt that nobody handles"
    INTERRUPT_STORM = "interrupt storm"
    AER_CORRECTED = "PCIe error, corrected"
    AER_UNCORRECTED = "PCIe error, uncorrected"
    IOMMU_FAULT = "access to memory that it was not given"
    DEVICE_LOST = "device lost"
    DEVICE_ERROR = "device error"
    FIRMWARE_CRASH = "firmware crash"
    DEVICE_RESET = "device reset"
    CHECKSUM = "wrong checksum from the device"
    PROBE_FAILED = "driver probe failed"
    ATTACH_FAILED = "attach failed"
    TRANSMIT_TIMEOUT = "transmit timeout"
    FIRMWARE_LOAD_FAILED = "firmware load failed"
    FIRMWARE_FILE_MISSING = "firmware file missing"
    """The driver does not get along without a file that the server's system lacks."""
    PCI_RESOURCES = "PCI resources missing"
    PLUGGED_MODULE = "module in the cage"
    LINK_PARTNER = "link partner not ready"
    MODULE_LOAD_FAILED = "module load failed"
    PCIE_LIMITED = "PCIe bandwidth limited"
    ERROR = "error"
    """The kernel calls the line an error or worse; its words are in no list."""


ONLY_OF_THE_CARD = frozenset(
    {
        TroubleKind.ERROR,
        TroubleKind.PCIE_LIMITED,
        TroubleKind.PCI_RESOURCES,
        TroubleKind.PLUGGED_MODULE,
        TroubleKind.LINK_PARTNER,
    }
)
"""No trouble where it names another device: every server has errors in its log that mean nothing to a measurement."""
OF_THE_BENCH: Mapping[TroubleKind, str] = {
    TroubleKind.FIRMWARE_FILE_MISSING: "the server's system lacks a file",
    TroubleKind.PCI_RESOURCES: "the server's firmware (BIOS) gives the card too few PCI resources",
    TroubleKind.PLUGGED_MODULE: "the card does not take the module in its cage",
}
"""The bench is to blame, whatever device it names -> for what."""
NOBODY_KNOWS: Mapping[TroubleKind, str] = {
    TroubleKind.PCIE_LIMITED: "the tests of the PCI Express link say whether card or slot is to blame",
    TroubleKind.LINK_PARTNER: "nobody knows whether the far end, the cable or the card is to blame",
}
"""Trouble that names the card and proves nothing against it -> why."""


@dataclass(frozen=True)
class PcieLimit:
    """The link that limits a device. ``gts`` is its speed in GT/s."""

    gts: float
    width: int


@dataclass(frozen=True)
class KernelTrouble:
    """One piece of trouble.

    Attributes:
        kind: What it is, such as ``transmit timeout``.
        words: The kernel's line.
        devices: What the line names: PCI addresses, interfaces, units of FreeBSD.
        drivers: Driver modules that the line or the call trace after it names.
        limit: The link that is too slow or too narrow, of ``PCIE_LIMITED``.
    """

    kind: TroubleKind
    words: str
    devices: frozenset[str]
    drivers: frozenset[str]
    limit: PcieLimit | None = None
