"""Events, as the event log keeps them and as text."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum

GENERIC_EVENT = 0x6F
"""Event type of sensors whose offsets mean what the table of their sensor type says (IPMI table 42-1)."""
THRESHOLD_EVENT = 0x01
"""Event type of threshold crossings."""

RECORD_BYTES = 16
SYSTEM_EVENT = 0x02
"""Record type of events of sensors (IPMI table 32-1)."""
FIRST_OEM_TIMESTAMPED = 0xC0
FIRST_OEM_UNTIMED = 0xE0


@dataclass(frozen=True)
class EventSource:
    """The source of an event: IPMI sensor type, sensor number, event type."""

    sensor_type: int
    number: int
    event_type: int = GENERIC_EVENT


POWER_UNIT = EventSource(0x09, 0xF0)
RESTART = EventSource(0x1D, 0xF1)
NMI_LINE = EventSource(0x13, 0xF2)
POWER_BUTTON = EventSource(0x14, 0xF3)

SOURCE_NAMES = {POWER_UNIT: "Pwr Unit", RESTART: "Restart", NMI_LINE: "NMI", POWER_BUTTON: "Button"}


@dataclass(frozen=True)
class Event:
    """An event before it is logged; the data bytes are those of IPMI table 29-6, 0xFF when unused."""

    source: EventSource
    asserted: bool
    data1: int
    data2: int = 0xFF
    data3: int = 0xFF

    def body(self, timestamp_s: int) -> bytes:
        """The 14 bytes of a log record after its id."""
        direction = self.source.event_type | (0 if self.asserted else 0x80)
        generator, revision = 0x0020, 4  # the BMC itself; event messages of IPMI 1.5 and 2.0
        return struct.pack(
            "<BIHBBBBBBB",
            SYSTEM_EVENT,
            timestamp_s,
            generator,
            revision,
            self.source.sensor_type,
            self.source.number,
            direction,
            self.data1,
            self.data2,
            self.data3,
        )


class PowerEvent(Enum):
    """The events of the power; offsets from IPMI table 42-3."""

    ON = Event(POWER_UNIT, False, 0x00)
    OFF = Event(POWER_UNIT, True, 0x00)
    CYCLE = Event(POWER_UNIT, True, 0x01)
    CONTROL_FAILED = Event(POWER_UNIT, True, 0x05)
    RESET = Event(RESTART, True, 0x01)
    NMI = Event(NMI_LINE, True, 0x00)
    BUTTON = Event(POWER_BUTTON, True, 0x00)


_POWER_TEXTS = {
    PowerEvent.ON: "Power on",
    PowerEvent.OFF: "Power off",
    PowerEvent.CYCLE: "Power cycle",
    PowerEvent.CONTROL_FAILED: "Soft power control failure",
    PowerEvent.RESET: "Hard reset",
    PowerEvent.NMI: "Diagnostic interrupt (NMI)",
    PowerEvent.BUTTON: "Power button pressed",
}
_THRESHOLD_TEXTS = {
    0: "Lower non-critical going low",
    2: "Lower critical going low",
    4: "Lower non-recoverable going low",
    7: "Upper non-critical going high",
    9: "Upper critical going high",
    11: "Upper non-recoverable going high",
}


@dataclass(frozen=True)
class LogRecord:
    """A record of the event log: its id and the 14 bytes after it (IPMI table 32-1)."""

    record_id: int
    body: bytes

    @property
    def raw(self) -> bytes:
        """All 16 bytes."""
        return struct.pack("<H", self.record_id) + self.body

    @property
    def timestamp_s(self) -> int | None:
        """Seconds since 1970, ``None`` for OEM records without a time."""
        if self.body[0] >= FIRST_OEM_UNTIMED:
            return None
        return int.from_bytes(self.body[1:5], "little")

    @property
    def is_system_event(self) -> bool:
        """An event of a sensor? The other records are the business of who wrote them."""
        return self.body[0] == SYSTEM_EVENT

    @property
    def source(self) -> EventSource:
        """The source of a system event."""
        return EventSource(self.body[8], self.body[9], self.body[10] & 0x7F)

    @property
    def asserted(self) -> bool:
        """True if the system event began, False if it ended."""
        return not self.body[10] & 0x80

    @property
    def event(self) -> Event:
        """The event of a system event's record."""
        return Event(self.source, self.asserted, *self.body[11:14])

    @property
    def text(self) -> str:
        """The event in words for people; the bare bytes when the record is none of ours."""
        if self.is_system_event:
            for event, text in _POWER_TEXTS.items():
                if event.value == self.event:
                    return text
            crossing = _THRESHOLD_TEXTS.get(self.event.data1 & 0x0F)
            if self.source.event_type == THRESHOLD_EVENT and crossing:
                return crossing if self.asserted else f"{crossing}: no longer"
        return f"Record {self.raw.hex()}"
