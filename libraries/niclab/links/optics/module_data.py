"""Records of a module's memory, in units of physics: SFF-8472 and SFF-8636 share them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

CELSIUS_A_STEP, VOLT_A_STEP, MILLIAMPERE_A_STEP, MILLIWATT_A_STEP = 1 / 256, 1e-4, 2e-3, 1e-4
"""Steps of a reading, the same in SFF-8472 (internally calibrated) and SFF-8636."""


@dataclass(frozen=True)
class ModuleLimits:
    """Limits that a module has for a reading of its own, in the unit of the reading."""

    low_alarm: float
    low_warning: float
    high_warning: float
    high_alarm: float

    @property
    def in_order(self) -> bool:
        """Are they limits? A module that has none has zeros there, or ones."""
        levels = (self.low_alarm, self.low_warning, self.high_warning, self.high_alarm)
        return all(map(math.isfinite, levels)) and levels[0] < levels[-1] and all(a <= b for a, b in pairwise(levels))


@dataclass(frozen=True)
class ModuleReading:
    """A reading of a module, such as the power that it receives on one lane; without limits where it has none."""

    what: str
    value: float
    unit: str
    limits: ModuleLimits | None

    @property
    def alarms(self) -> bool:
        """Is it beyond the limits at which the module alarms?"""
        return self.limits is not None and not self.limits.low_alarm <= self.value <= self.limits.high_alarm

    @property
    def warns(self) -> bool:
        """Is it beyond the limits at which the module warns?"""
        return self.limits is not None and not self.limits.low_warning <= self.value <= self.limits.high_warning

    @property
    def shown(self) -> str:
        """The value with its unit; a power in dBm as well."""
        if self.unit != "mW":
            return f"{self.value:.4g} {self.unit}"
        return f"{self.value:.4f} mW ({f'{10 * math.log10(self.value):.1f} dBm' if self.value > 0 else 'dark'})"


@dataclass(frozen=True)
class ModuleChecksum:
    """A checksum of a module: the byte that is there, and the sum of the bytes that it covers."""

    name: str
    stored: int
    summed: int


@dataclass(frozen=True)
class ModuleData:
    """The content of a module's memory.

    Attributes:
        vendor: Name of the maker.
        part_number: What the maker calls it.
        serial_number: Of this module.
        is_cable: Is it the end of a cable that is attached for good, which has no light of its own to read?
        checksums: Those of the standard.
        fixed: The bytes that no read may find changed.
        surroundings: Readings that server, fibre and far end decide: temperature, received power.
        own: Readings that card and module decide: supply voltage, bias current and sent power of lanes that send.
        received: Of the surroundings, the received power of each lane in mW.
        sent: Of its own, the sent power of each lane in mW.
        blank: The byte that is read everywhere where its readings are to be; None where they are read, or it has none.
    """

    vendor: str
    part_number: str
    serial_number: str
    is_cable: bool
    checksums: tuple[ModuleChecksum, ...]
    fixed: bytes
    surroundings: tuple[ModuleReading, ...] = ()
    own: tuple[ModuleReading, ...] = ()
    received: tuple[ModuleReading, ...] = ()
    sent: tuple[ModuleReading, ...] = ()
    blank: int | None = None

    @property
    def name(self) -> str:
        """Maker, part and serial number."""
        return f"{self.vendor} {self.part_number}, serial number {self.serial_number or 'not given'}"


def unsigned(memory: Sequence[int], at: int) -> int:
    """Read two bytes, the high one first.

    Args:
        memory: The memory.
        at: Place of the high byte.
    """
    return memory[at] << 8 | memory[at + 1]


def signed(memory: Sequence[int], at: int) -> int:
    """Read two bytes, the high one first, in two's complement.

    Args:
        memory: The memory.
        at: Place of the high byte.
    """
    return (unsigned(memory, at) ^ 0x8000) - 0x8000


def words(memory: bytes, begin: int, end: int) -> str:
    """Read text that is filled up with blanks; what is no ASCII is shown as ``?``.

    Args:
        memory: The memory.
        begin: Its first byte.
        end: The byte behind its last.
    """
    return "".join(chr(byte) if 32 <= byte < 127 else "?" for byte in memory[begin:end].rstrip(b" \0")).strip()


def checksum(name: str, memory: bytes, begin: int, at: int) -> ModuleChecksum:
    """Compare a checksum: the low byte of the sum of the bytes before it.

    Args:
        name: As the standard calls it.
        memory: The memory.
        begin: The first byte that it covers.
        at: Its own place.
    """
    return ModuleChecksum(name, memory[at], sum(memory[begin:at]) & 0xFF)
