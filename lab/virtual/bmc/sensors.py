"""Sensors: readings, thresholds, the events of their crossing, and their Sensor Data Records."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from bmc.config import RAW_MAX, SensorInfo, SensorKind, Threshold
from bmc.events import THRESHOLD_EVENT, Event, EventSource

SENSOR_TYPE = {SensorKind.TEMPERATURE: 0x01, SensorKind.FAN: 0x04, SensorKind.POWER: 0x0B}
"""IPMI table 42-3; 0x0B is "other units-based sensor"."""
UNIT = {SensorKind.TEMPERATURE: 1, SensorKind.FAN: 18, SensorKind.POWER: 6}
"""IPMI table 43-15: °C, RPM, W."""

EVENT_OFFSET = {
    Threshold.LOWER_NONCRITICAL: 0,
    Threshold.LOWER_CRITICAL: 2,
    Threshold.LOWER_NONRECOVERABLE: 4,
    Threshold.UPPER_NONCRITICAL: 7,
    Threshold.UPPER_CRITICAL: 9,
    Threshold.UPPER_NONRECOVERABLE: 11,
}
"""IPMI table 42-2: going low for the lower ones, going high for the upper ones."""

BMC_ADDRESS = 0x20
"""IPMB slave address of every BMC."""

_BOTH_BYTES_GIVEN = 0x50
"""Event data 1: byte 2 is the reading, byte 3 the threshold (IPMI table 29-6)."""


class SensorError(Exception):
    """A reading or threshold that the sensor cannot have."""


@dataclass
class Sensor:
    """A sensor at work. Values are in the unit of its kind; *raw* ones are the byte IPMI carries."""

    info: SensorInfo
    value: int
    thresholds: dict[Threshold, int]
    asserted: frozenset[Threshold] = frozenset()

    @classmethod
    def from_info(cls, info: SensorInfo) -> Sensor:
        """The sensor as the configuration has it."""
        return cls(info, info.value, dict(info.thresholds))

    @property
    def sensor_type(self) -> int:
        """IPMI sensor type."""
        return SENSOR_TYPE[self.info.kind]

    def available(self, powered: bool) -> bool:
        """Does it read anything now?"""
        return powered or not self.info.needs_power

    def raw(self, value: int) -> int:
        """The byte for a value."""
        return value // self.info.multiplier

    def set_value(self, value: int) -> None:
        """Let it read ``value`` from now on.

        Raises:
            SensorError: When the value does not fit into one byte.
        """
        largest = RAW_MAX * self.info.multiplier
        if not 0 <= value <= largest:
            raise SensorError(f"sensor {self.info.number} ({self.info.name}): {value}; expected 0 to {largest}")
        self.value = value

    def crossed(self) -> frozenset[Threshold]:
        """The thresholds the value has reached; reaching is enough, as in IPMI table 35-14."""
        return frozenset(
            threshold
            for threshold, limit in self.thresholds.items()
            if (self.value >= limit if threshold.is_upper else self.value <= limit)
        )

    def mask(self) -> int:
        """The thresholds it has, as an IPMI threshold mask."""
        return sum(1 << threshold.bit for threshold in self.thresholds)

    def new_events(self, powered: bool) -> list[Event]:
        """The crossings since the last call, in the order of the thresholds. None while not available."""
        now = self.crossed() if self.available(powered) else frozenset()
        changed = now ^ self.asserted if self.available(powered) else frozenset()
        self.asserted = now
        return [self._event(threshold, threshold in now) for threshold in Threshold if threshold in changed]

    def _event(self, threshold: Threshold, asserted: bool) -> Event:
        return Event(
            EventSource(self.sensor_type, self.info.number, THRESHOLD_EVENT),
            asserted,
            _BOTH_BYTES_GIVEN | EVENT_OFFSET[threshold],
            self.raw(self.value),
            self.raw(self.thresholds[threshold]),
        )

    def sdr(self, record_id: int) -> bytes:
        """Its Full Sensor Record (IPMI table 43-1)."""
        info, mask = self.info, self.mask()
        events = sum(1 << EVENT_OFFSET[threshold] for threshold in self.thresholds)
        lower, upper = mask & 0b111, mask >> 3
        low = [self.raw(self.thresholds.get(threshold, 0)) for threshold in Threshold]
        body = struct.pack("<BBBBBBBBB", BMC_ADDRESS, 0, info.number, info.entity, 1, 0x7F, 0x48, self.sensor_type, 1)
        body += struct.pack("<HHBB", events | lower << 12, events | upper << 12, mask, mask)
        body += bytes([0, UNIT[info.kind], 0, 0])  # unsigned, base unit, no modifier, linear
        body += bytes([info.multiplier & 0xFF, info.multiplier >> 8 << 6, 0, 0, 0, 0])  # value = multiplier * raw
        body += bytes([0, 0, 0, 0, RAW_MAX, 0])  # no nominal readings; range of raw readings
        body += bytes([low[5], low[4], low[3], low[2], low[1], low[0], 0, 0, 0, 0, 0])
        return sdr(record_id, 0x01, body + id_string(info.name))


def sdr(record_id: int, record_type: int, body: bytes) -> bytes:
    """A Sensor Data Record with its header (IPMI 43.1), version 1.5 coded 0x51."""
    return struct.pack("<HBBB", record_id, 0x51, record_type, len(body)) + body


def id_string(text: str) -> bytes:
    """An SDR name: 8-bit ASCII, at most 16 bytes (IPMI 43.15)."""
    return bytes([0xC0 | len(text)]) + text.encode("ascii")


def event_only_sdr(record_id: int, source: EventSource, name: str) -> bytes:
    """The record of something that has no reading and only makes events (IPMI table 43-3)."""
    body = bytes([BMC_ADDRESS, 0, source.number, 7, 1, source.sensor_type, source.event_type, 0, 0, 0, 0])
    return sdr(record_id, 0x03, body + id_string(name))


def controller_sdr(record_id: int, name: str) -> bytes:
    """The record that says where the BMC itself is and what it can do (IPMI table 43-8)."""
    capabilities = 0x8F  # chassis, FRU inventory, SEL, SDR repository, sensors
    body = bytes([BMC_ADDRESS, 0, 0, capabilities, 0, 0, 0, 7, 1, 0])
    return sdr(record_id, 0x12, body + id_string(name[:16]))
