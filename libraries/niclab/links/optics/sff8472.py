"""The memory of an SFP module: SFF-8472, its first address (A0h) followed by its second (A2h)."""

from __future__ import annotations

import struct
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

IDENTIFIERS = frozenset({0x03, 0x0B})
"""SFP and DWDM-SFP (SFF-8024, table 4-1)."""
_BASIC_BYTES, _ALL_BYTES = 256, 512
_CABLE, _PASSIVE_OR_ACTIVE = 8, 0x0C
_MONITORING, _IMPLEMENTED, _EXTERNAL, _OTHER_ADDRESS = 92, 0x40, 0x10, 0x04
_FIXED_BYTES = 96
"""The bytes of each address that stay as they are: behind them are those of the vendor, and readings."""
_STATUS, _SENDS_NOTHING = 110, 0xC0
_TEMPERATURE, _SUPPLY, _BIAS, _SENT, _RECEIVED = range(5)
"""Order of the readings, of their limits and of the constants of an external calibration."""
_POLYNOMIAL, _SLOPES = 56, {_BIAS: 76, _SENT: 80, _TEMPERATURE: 84, _SUPPLY: 88}
_READINGS = 96

_Scale = Callable[[float], float]


def read_sfp(memory: bytes) -> ModuleData:
    """Read an SFP module.

    Args:
        memory: Its memory, at least the 256 bytes of the first address.
    """
    second = memory[_BASIC_BYTES:_ALL_BYTES]
    monitored = memory[_MONITORING] & (_IMPLEMENTED | _OTHER_ADDRESS) == _IMPLEMENTED
    data = ModuleData(
        vendor=words(memory, 20, 36),
        part_number=words(memory, 40, 56),
        serial_number=words(memory, 68, 84),
        is_cable=bool(memory[_CABLE] & _PASSIVE_OR_ACTIVE),
        checksums=(checksum("CC_BASE", memory, 0, 63), checksum("CC_EXT", memory, 64, 95)),
        fixed=memory[:_FIXED_BYTES] + (second[:_FIXED_BYTES] if monitored else b""),
    )
    if data.is_cable or not monitored or len(second) < _BASIC_BYTES:
        return data
    if len(set(second)) == 1:
        return replace(data, blank=second[0])
    return _with_readings(data, second, external=bool(memory[_MONITORING] & _EXTERNAL))


def _with_readings(data: ModuleData, second: bytes, *, external: bool) -> ModuleData:
    def of(kind: int, what: str, step: float, unit: str) -> tuple[ModuleReading, ...]:
        scale = _calibration(second, kind) if external else float
        number = signed if kind == _TEMPERATURE else unsigned
        high, low, high_warning, low_warning = (
            step * scale(number(second, 8 * kind + 2 * place)) for place in range(4)
        )
        limits = ModuleLimits(low, low_warning, high_warning, high)
        value = step * scale(number(second, _READINGS + 2 * kind))
        return (ModuleReading(what, value, unit, limits if limits.in_order else None),)

    received = of(_RECEIVED, "received power", MILLIWATT_A_STEP, "mW")
    sends = not second[_STATUS] & _SENDS_NOTHING
    sent = of(_SENT, "sent power", MILLIWATT_A_STEP, "mW")
    bias = of(_BIAS, "bias current", MILLIAMPERE_A_STEP, "mA")
    return replace(
        data,
        surroundings=of(_TEMPERATURE, "temperature", CELSIUS_A_STEP, "degrees C") + received,
        own=of(_SUPPLY, "supply voltage", VOLT_A_STEP, "V") + (bias + sent if sends else ()),
        received=received,
        sent=sent,
    )


def _calibration(second: bytes, kind: int) -> _Scale:
    """The module's own calibration (SFF-8472): a polynomial for received power, slope and offset for the others."""
    if kind == _RECEIVED:
        factors = struct.unpack_from(">5f", second, _POLYNOMIAL)
        powers = range(len(factors) - 1, -1, -1)
        return lambda x: sum(factor * x**power for factor, power in zip(factors, powers, strict=True))
    at = _SLOPES[kind]
    slope, offset = unsigned(second, at) / 256, signed(second, at + 2)
    return lambda x: slope * x + offset
