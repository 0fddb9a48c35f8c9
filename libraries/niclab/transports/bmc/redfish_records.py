"""The meaning of a Redfish service's JSON. No network here.

Resources are those of the DMTF's DSP0268: Thermal, Power, Sensor, LogEntry, ComputerSystem.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from niclab.transports.bmc.bmc import PowerAction, PowerState, SelEntry, Sensor, SensorKind, SensorStatus, plain

Json = dict[str, Any]

_MOST_MESSAGES = 10

RESET_TYPES = {
    PowerAction.ON: ("On", "ForceOn"),
    PowerAction.OFF: ("ForceOff",),
    PowerAction.CYCLE: ("PowerCycle",),
    PowerAction.RESET: ("ForceRestart",),
    PowerAction.NMI: ("Nmi",),
}
"""Values of ResetType that do it, the preferred one first."""

_POWER_STATES = {
    "On": PowerState.ON,
    "PoweringOff": PowerState.ON,
    "Off": PowerState.OFF,
    "PoweringOn": PowerState.OFF,
}
_HEALTH = {"OK": SensorStatus.OK, "Warning": SensorStatus.WARNING, "Critical": SensorStatus.CRITICAL}
_UNITS = {"Cel": "°C"}
_READING_TYPES = {
    "Temperature": SensorKind.TEMPERATURE,
    "Voltage": SensorKind.VOLTAGE,
    "Current": SensorKind.CURRENT,
    "Rotational": SensorKind.FAN,
    "Power": SensorKind.POWER,
}
_ARRAYS = (
    ("Temperatures", SensorKind.TEMPERATURE, "ReadingCelsius", "°C"),
    ("Fans", SensorKind.FAN, "Reading", "RPM"),
    ("Voltages", SensorKind.VOLTAGE, "ReadingVolts", "V"),
    ("PowerControl", SensorKind.POWER, "PowerConsumedWatts", "W"),
)
"""Array of a Thermal or Power resource, what it measures, its reading, its unit where it names none."""


def power_state(system: Json) -> PowerState:
    """Power of a ComputerSystem; while it is being switched, the state before.

    Raises:
        ValueError: For a state that is neither on nor off.
    """
    found = system.get("PowerState")
    if not isinstance(found, str) or found not in _POWER_STATES:
        raise ValueError(f"PowerState is {found!r}; expected one of: {', '.join(_POWER_STATES)}")
    return _POWER_STATES[found]


def reset_type(action: PowerAction, allowed: object) -> str | None:
    """Value of ResetType for an action; None when the service offers none. ``allowed``: its list, None without one."""
    if allowed is None:
        return RESET_TYPES[action][0]
    if not isinstance(allowed, list):
        raise ValueError(f"ResetType@Redfish.AllowableValues is {allowed!r}; expected a list")
    return next((name for name in RESET_TYPES[action] if name in allowed), None)


def offered_reset_types(action_info: Json) -> list[object] | None:
    """Values of ResetType that an ActionInfo lists; None when it lists none.

    Raises:
        ValueError: For a list of values that is none.
    """
    for parameter in action_info.get("Parameters") or ():
        if parameter.get("Name") == "ResetType" and (values := parameter.get("AllowableValues")) is not None:
            if not isinstance(values, list):
                raise ValueError(f"AllowableValues of ResetType is {values!r}; expected a list")
            return values
    return None


def sensors_of_arrays(resource: Json) -> Iterator[Sensor]:
    """Sensors of a Thermal or Power resource.

    Raises:
        ValueError: For a reading that is no number.
    """
    for array, kind, reading, unit in _ARRAYS:
        for index, item in enumerate(resource.get(array) or ()):
            shown = plain(str(item.get("ReadingUnits", unit))) if kind is SensorKind.FAN else unit
            shown = "%" if shown == "Percent" else shown
            yield _sensor(item, index, kind, item.get(reading), shown)


def sensor_of_member(resource: Json, index: int) -> Sensor:
    """A Sensor resource, the one at ``index`` (from 0) of its collection.

    Raises:
        ValueError: For a reading that is no number.
    """
    kind = _READING_TYPES.get(str(resource.get("ReadingType")), SensorKind.OTHER)
    unit = resource.get("ReadingUnits")
    shown = None if unit is None else _UNITS.get(unit, plain(str(unit)))
    return _sensor(resource, index, kind, resource.get("Reading"), shown)


def _sensor(item: Json, index: int, kind: SensorKind, reading: object, unit: str | None) -> Sensor:
    named = item.get("Name") or item.get("FanName") or item.get("MemberId") or item.get("Id") or ""
    name = plain(str(named)) or f"{kind.value} {index}"  # HPE iLO 4 gives its PowerControl no name at all
    status = item.get("Status") or {}
    if reading is None or status.get("State", "Enabled") not in ("Enabled", "StandbyOffline"):
        return Sensor(name, kind, None, unit, SensorStatus.UNAVAILABLE)
    if isinstance(reading, bool) or not isinstance(reading, int | float) or not math.isfinite(reading):
        raise ValueError(f"sensor {name} reads {reading!r}; expected a number")
    health = _HEALTH.get(str(status.get("Health")), SensorStatus.UNKNOWN)
    return Sensor(name, kind, float(reading), unit, health)


def is_event_log(service: Json) -> bool:
    """Return True if a LogService is the system event log."""
    return service.get("LogEntryType") == "SEL" or str(service.get("Id", "")).upper() == "SEL"


def sel_entry(entry: Json) -> SelEntry:
    """A LogEntry.

    Raises:
        ValueError: Without an Id, or neither Message nor MessageId.
    """
    identity, message = entry.get("Id"), entry.get("Message")
    event = plain(str(message or entry.get("MessageId") or ""))
    if not identity or not (event or message is not None):
        raise ValueError(f"a log entry with Id {identity!r} and Message {message!r}; expected both")
    sensor = entry.get("SensorType")
    if not sensor and entry.get("SensorNumber") is not None:
        sensor = f"sensor {entry['SensorNumber']}"
    asserted = {"Assert": True, "Deassert": False}.get(str(entry.get("EntryCode")))
    moment = _moment(entry.get("Created"))
    return SelEntry(plain(str(identity)), moment, plain(str(sensor or "")) or None, event or "no words", asserted)


def _moment(created: object) -> datetime | None:
    """A time with its zone; None for another, as of a BMC whose clock was not set: ``0000-00-00T00:00:00Z``."""
    try:
        moment = datetime.fromisoformat(created) if isinstance(created, str) else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None


def error_words(body: object) -> str:
    """The words of an error body (DSP0266, "Error responses"); empty when it has none.

    A message has its id behind it. Where a service gives the id alone, that and its arguments are the words.
    """
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return ""
    details = error.get("@Message.ExtendedInfo") or []
    details = details if isinstance(details, list) else [details]
    messages = [_message(item) for item in details[:_MOST_MESSAGES] if isinstance(item, dict)]
    words = "; ".join(text for text in messages if text) or " ".join(
        str(error[key]) for key in ("message", "code") if error.get(key)
    )
    return plain(words)


def _message(detail: Json) -> str:
    identity = detail.get("MessageId") or detail.get("MessageID") or ""  # the second one is of old services
    arguments = detail.get("MessageArgs") or []
    listed = ", ".join(map(str, arguments)) if isinstance(arguments, list) else str(arguments)
    if detail.get("Message"):
        return f"{detail['Message']} ({identity})" if identity else str(detail["Message"])
    return f"{identity} ({listed})" if listed else str(identity)
