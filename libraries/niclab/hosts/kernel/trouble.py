"""Trouble that a kernel reports: crashes, hangs, timeouts and hardware errors, and whom they name."""

from __future__ import annotations

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
    MODULE_LOAD_FAILED = "module load failed"
    PCIE_LIMITED = "PCIe bandwidth limited"
    ERROR = "error"
    """The kernel calls the line an error or worse; its words are in no list."""


ONLY_OF_THE_CARD = frozenset({TroubleKind.ERROR, TroubleKind.PCIE_LIMITED})
"""No trouble where it names another device: every server has errors in its log that mean nothing to a measurement."""
OF_THE_SERVER = frozenset({TroubleKind.FIRMWARE_FILE_MISSING})
"""The server's system is to blame, whatever device it names."""


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
        names: Whom the line or the call trace after it names: driver modules, PCI addresses, interfaces, devices.
        limit: The link that is too slow or too narrow, of ``PCIE_LIMITED``.
    """

    kind: TroubleKind
    words: str
    names: frozenset[str]
    limit: PcieLimit | None = None
