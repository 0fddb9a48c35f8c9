"""Requests, and the meaning of IPMI's numbers: sensor units and states, the event log. No network here.

Tables are those of the IPMI v2.0 specification, revision 1.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

from niclab.transports.bmc.bmc import SelEntry, SensorKind, SensorStatus


class Privilege(Enum):
    """Privilege level of a session. Every call here needs OPERATOR at most (IPMI v2.0, appendix G)."""

    USER = "user"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True)
class IpmiEndpoint:
    """The address of a BMC, and the login there.

    ``address``: IPv4 or a name with one. ``cipher_suite``: 17, or 3 for older BMCs (table 22-20).
    """

    name: str
    address: str
    port: int
    user: str
    password: str = field(repr=False)
    cipher_suite: int = 17
    privilege: Privilege = Privilege.OPERATOR


@dataclass(frozen=True)
class DeviceId:
    """The identity that the BMC reports. ``manufacturer_id`` is an IANA enterprise number."""

    manufacturer_id: int
    product_id: int
    firmware: str
    ipmi_version: str


THRESHOLD = 0x01
"""Generic event type of sensors with thresholds (table 42-1)."""
_SENSOR_SPECIFIC = 0x6F
_SYSTEM_EVENT = 0x02
_FIRST_OEM_WITHOUT_TIME = 0xE0
_RECORD_BYTES = 16
_FIRST_TIME_S = 0x20000000
_UNKNOWN_TIME = 0xFFFFFFFF

NOT_NOW = frozenset({0xC0, 0xC3, 0xD0, 0xD1, 0xD2, 0xFF})
"""Completion codes (table 5-2) of a BMC that is busy, starts or is updated; FFh is what many say instead."""
NOT_DONE = frozenset({0xC0, 0xD2})
"""Those after which a reset has not been carried out, so that it may be ordered again."""

UNITS = {1: "°C", 2: "°F", 3: "K", 4: "V", 5: "A", 6: "W", 7: "J", 8: "C", 9: "VA", 16: "lbf", 17: "CFM", 18: "RPM",
         19: "Hz", 20: "us", 21: "ms", 22: "s", 23: "min", 24: "h"}  # fmt: skip
"""Table 43-15, the units that servers use."""

KINDS = {1: SensorKind.TEMPERATURE, 2: SensorKind.VOLTAGE, 3: SensorKind.CURRENT, 4: SensorKind.FAN}
"""Sensor types of table 42-3."""

_WARNING_BITS, _CRITICAL_BITS = 0b001001, 0b110110
"""Table 35-15: at or beyond a non-critical threshold; at or beyond a critical or non-recoverable one."""

_THRESHOLD_EVENTS = (
    "lower non-critical going low", "lower non-critical going high", "lower critical going low",
    "lower critical going high", "lower non-recoverable going low", "lower non-recoverable going high",
    "upper non-critical going low", "upper non-critical going high", "upper critical going low",
    "upper critical going high", "upper non-recoverable going low", "upper non-recoverable going high",
)  # fmt: skip
"""Table 42-2, generic event type 01h."""

_GENERIC_EVENTS = {
    0x03: ("state deasserted", "state asserted"),
    0x04: ("predictive failure deasserted", "predictive failure asserted"),
    0x05: ("limit not exceeded", "limit exceeded"),
    0x08: ("device absent", "device present"),
    0x09: ("device disabled", "device enabled"),
}
"""Table 42-2, the generic event types with two states."""

_SPECIFIC_EVENTS: dict[int, tuple[str, dict[int, str]]] = {
    0x07: ("processor", {0: "IERR", 1: "thermal trip", 5: "configuration error", 7: "presence detected",
                         11: "uncorrectable machine check", 12: "correctable machine check"}),
    0x08: ("power supply", {0: "presence detected", 1: "failure", 2: "predictive failure", 3: "input lost",
                            4: "input lost or out of range", 5: "input out of range", 6: "configuration error"}),
    0x09: ("power unit", {0: "power off", 1: "power cycle", 2: "240 VA power down", 3: "interlock power down",
                          4: "AC lost", 5: "soft power control failure", 6: "failure", 7: "predictive failure"}),
    0x0C: ("memory", {0: "correctable ECC", 1: "uncorrectable ECC", 2: "parity", 3: "scrub failed",
                      4: "device disabled", 5: "correctable ECC log limit reached"}),
    0x10: ("event logging", {0: "correctable memory error logging disabled", 1: "event type logging disabled",
                             2: "log area cleared", 3: "all event logging disabled", 4: "log full",
                             5: "log almost full"}),
    0x12: ("system event", {0: "reconfigured", 1: "OEM boot event", 2: "undetermined hardware failure",
                            3: "entry added to auxiliary log", 4: "PEF action", 5: "clock synchronised"}),
    0x13: ("critical interrupt", {0: "front panel NMI", 1: "bus timeout", 2: "I/O channel check NMI",
                                  3: "software NMI", 4: "PCI PERR", 5: "PCI SERR", 6: "EISA fail-safe timeout",
                                  7: "bus correctable error", 8: "bus uncorrectable error", 9: "fatal NMI",
                                  10: "bus fatal error", 11: "bus degraded"}),
    0x14: ("button", {0: "power button pressed", 1: "sleep button pressed", 2: "reset button pressed"}),
    0x1D: ("restart", {0: "by power up", 1: "by hard reset", 2: "by warm reset", 3: "PXE boot requested by user",
                       4: "automatic boot to diagnostic", 5: "by software hard reset",
                       6: "by software warm reset", 7: "cause set"}),
    0x20: ("operating system", {0: "stop while loading", 1: "runtime critical stop", 2: "graceful stop",
                                3: "graceful shutdown", 4: "soft shutdown by platform event"}),
    0x22: ("ACPI power state", {0: "S0/G0 working", 5: "S5/G2 soft off", 6: "S4/S5 soft off", 7: "G3 mechanical off",
                                11: "legacy on", 12: "legacy off"}),
    0x23: ("watchdog", {0: "timer expired", 1: "hard reset", 2: "power down", 3: "power cycle", 8: "timer interrupt"}),
}  # fmt: skip
"""Table 42-3, event type 6Fh: sensor type -> its name and its offsets, as far as a server lab meets them."""


def unit(base: int, modifier: int, modifier_use: int, percentage: bool) -> str | None:
    """Unit of a reading from the units bytes of a Full Sensor Record (table 43-1, bytes 21 to 23).

    Args:
        base: Code of the unit.
        modifier: Code of the second unit.
        modifier_use: 0 none, 1 base / modifier, 2 base * modifier.
        percentage: Whether it is a percentage.

    Returns:
        None for a unit without a name here, and for none.
    """
    if percentage:
        return "%"
    if modifier_use == 0:
        return UNITS.get(base)
    if base not in UNITS or modifier not in UNITS:
        return None
    return f"{UNITS[base]}{'/' if modifier_use == 1 else '*'}{UNITS[modifier]}"


def kind(sensor_type: int, unit_text: str | None) -> SensorKind:
    """Return the quantity that a sensor measures; power has no sensor type of its own in IPMI, its unit tells."""
    return SensorKind.POWER if unit_text == "W" else KINDS.get(sensor_type, SensorKind.OTHER)


def threshold_status(states: int | None) -> SensorStatus:
    """The judgement of a threshold sensor from the state byte of its reading (table 35-15)."""
    if states is None:
        return SensorStatus.UNKNOWN
    if states & _CRITICAL_BITS:
        return SensorStatus.CRITICAL
    return SensorStatus.WARNING if states & _WARNING_BITS else SensorStatus.OK


def sel_entry(record: bytes, sensor_names: dict[int, str]) -> SelEntry:
    """An entry of the event log from its 16 bytes (table 32-1); ``sensor_names`` by sensor number.

    Raises:
        ValueError: When there are not 16 bytes.
    """
    if len(record) != _RECORD_BYTES:
        raise ValueError(f"an event log record of {len(record)} bytes; expected {_RECORD_BYTES}")
    identity = str(int.from_bytes(record[:2], "little"))
    moment = None if record[2] >= _FIRST_OEM_WITHOUT_TIME else _time(int.from_bytes(record[3:7], "little"))
    if record[2] != _SYSTEM_EVENT:
        return SelEntry(identity, moment, None, f"record of type 0x{record[2]:02x}: {record[3:].hex()}", None)
    sensor_type, number, event_type = record[10], record[11], record[12] & 0x7F
    sensor = sensor_names.get(number, f"sensor 0x{number:02x}")
    asserted = not record[12] & 0x80
    return SelEntry(identity, moment, sensor, _event(sensor_type, event_type, record[13:16]), asserted)


def _time(seconds: int) -> datetime | None:
    """Section 37.1: below 20000000h it counts from the start of the BMC, FFFFFFFFh is unknown."""
    if seconds < _FIRST_TIME_S or seconds == _UNKNOWN_TIME:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _event(sensor_type: int, event_type: int, data: bytes) -> str:
    offset = data[0] & 0x0F
    if event_type == THRESHOLD and offset < len(_THRESHOLD_EVENTS):
        return _THRESHOLD_EVENTS[offset]
    if event_type in _GENERIC_EVENTS and offset < 2:
        return _GENERIC_EVENTS[event_type][offset]
    if event_type == _SENSOR_SPECIFIC and sensor_type in _SPECIFIC_EVENTS:
        subject, offsets = _SPECIFIC_EVENTS[sensor_type]
        if offset in offsets:
            return f"{subject}: {offsets[offset]}"
    return f"sensor type 0x{sensor_type:02x}, event type 0x{event_type:02x}, data {data.hex()}"
