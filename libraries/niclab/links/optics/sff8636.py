"""The memory of a QSFP module: SFF-8636, its lower page and its upper pages 0 to 3, one behind the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from niclab.links.optics.module_data import (
    CELSIUS_A_STEP,
    MILLIAMPERE_A_STEP,
    MILLIWATT_A_STEP,
    VOLT_A_STEP,
    ModuleData,
    ModuleLimits,
    ModuleReading,
    checksum,
    signed,
    unsigned,
    words,
)

IDENTIFIERS = frozenset({0x0C, 0x0D, 0x11})
"""QSFP, QSFP+ and QSFP28 (SFF-8024, table 4-1)."""
_ALL_BYTES = 640
_STATUS, _ONE_PAGE = 2, 0x04
_TECHNOLOGY, _FIRST_COPPER = 147, 0xA
_MONITORING, _MEASURES_SENT = 220, 0x04
_DISABLED = 86
_LANES = 4
_THRESHOLDS = 512
"""Page 3: its byte 128."""

_Number = Callable[[bytes, int], int]


def read_qsfp(memory: bytes) -> ModuleData:
    """Read a QSFP module.

    Args:
        memory: Its memory, at least the 256 bytes of the lower page and upper page 0.
    """
    data = ModuleData(
        vendor=words(memory, 148, 164),
        part_number=words(memory, 168, 184),
        serial_number=words(memory, 196, 212),
        is_cable=memory[_TECHNOLOGY] >> 4 >= _FIRST_COPPER,
        checksums=(checksum("CC_BASE", memory, 128, 191), checksum("CC_EXT", memory, 192, 223)),
        fixed=memory[128:224],
    )
    return data if data.is_cable else _with_readings(data, memory)


def _with_readings(data: ModuleData, memory: bytes) -> ModuleData:
    paged = len(memory) >= _ALL_BYTES and not memory[_STATUS] & _ONE_PAGE

    def one(what: str, at: int, limits_at: int, step: float, unit: str, number: _Number = unsigned) -> ModuleReading:
        limits = None
        if paged:
            high, low, high_warning, low_warning = (
                step * number(memory, _THRESHOLDS + limits_at + 2 * place) for place in range(4)
            )
            limits = ModuleLimits(low, low_warning, high_warning, high)
        return ModuleReading(what, step * number(memory, at), unit, limits if limits and limits.in_order else None)

    def lanes(what: str, at: int, limits_at: int, step: float, unit: str) -> tuple[ModuleReading, ...]:
        return tuple(one(f"{what} of lane {lane + 1}", at + 2 * lane, limits_at, step, unit) for lane in range(_LANES))

    received = lanes("received power", 34, 48, MILLIWATT_A_STEP, "mW")
    sent = lanes("sent power", 50, 64, MILLIWATT_A_STEP, "mW") if memory[_MONITORING] & _MEASURES_SENT else ()
    bias = lanes("bias current", 42, 56, MILLIAMPERE_A_STEP, "mA")
    sending = [lane for lane in range(_LANES) if not memory[_DISABLED] >> lane & 1]
    return replace(
        data,
        surroundings=(one("temperature", 22, 0, CELSIUS_A_STEP, "degrees C", signed), *received),
        own=(
            one("supply voltage", 26, 16, VOLT_A_STEP, "V"),
            *(readings[lane] for readings in (bias, sent) if readings for lane in sending),
        ),
        received=received,
        sent=sent,
    )
