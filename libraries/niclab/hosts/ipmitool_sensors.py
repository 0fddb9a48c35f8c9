"""Sensors as ipmitool prints them: ``sdr list``, ``sdr elist``, ``sensor list``, with ``-c`` as well.

Shapes are those of lib/ipmi_sdr.c and lib/ipmi_sensor.c of ipmitool 1.8.8 to 1.8.19.
"""

from __future__ import annotations

import re
from dataclasses import replace

from niclab.hosts.errors import unreadable
from niclab.hosts.ipmitool_records import IpmiSensor, Thresholds
from niclab.hosts.ipmitool_sel import is_fault

_KIND = "ipmi"
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,9})?(?:e[+-]?[0-9]{1,3})?", re.IGNORECASE)
# sensor list prints %.3f, with a comma in the locales that have one.
_COMMA = re.compile(r"(-?[0-9]{1,15}),([0-9]{3})")
_PRINTED = re.compile(r"-?[0-9]{1,15}\.[0-9]{3}")
_READING = re.compile(rf"({_NUMBER.pattern})\s+(\S.*)", re.IGNORECASE)
# Units of analog sensors (unit_desc in lib/ipmi_sdr.c): what stands before one is a number.
_UNIT_AT_END = re.compile(r"\S{0,40} (?:degrees [CFK]|Volts|Amps|Watts|RPM|percent|Hz|MHz)")
_NEVER_NEGATIVE = frozenset(("RPM", "percent", "Hz", "MHz"))
_SENSOR_NUMBER = re.compile(r"([0-9A-Fa-f]{2})h")
_ENTITY = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}")
_HEX = re.compile(r"0x[0-9A-Fa-f]{1,8}")
_NO_READING = frozenset(
    ("", "na", "n/a", "disabled", "no reading", "not readable", "unknown", "not available", "event-only")
)
_BAD = frozenset(("nc", "cr", "nr", "lnc", "lcr", "lnr", "unc", "ucr", "unr"))
_KNOWN = _BAD | {"ok", "ns", "us", "na", "un"}


def is_status(text: str) -> bool:
    """Whether ``text`` is a status of ``sdr list``."""
    return text.lower() in _KNOWN


def is_sensor_number(text: str) -> bool:
    return _SENSOR_NUMBER.fullmatch(text) is not None


def sdr_row(number: int, cells: list[str]) -> IpmiSensor:
    """``BB +12.0V | 11.88 Volts | ok``."""
    name, reading, status = cells
    value, unit = _value(reading)
    return _with_states(_sensor(number, name, value, unit, status), reading)


def sdr_csv_row(number: int, cells: list[str]) -> IpmiSensor:
    """``BB +12.0V,11.88,Volts,ok``; a discrete sensor has no unit column in old versions."""
    value, _ = _value(cells[1])
    unit = cells[2] or None if len(cells) > 3 else None
    if unit is not None and isinstance(value, str):
        raise unreadable(_KIND, f"line {number}", ",".join(cells), f"a number of {unit}")
    _refuse_negative(number, value, unit)
    return _sensor(number, cells[0], value, unit, cells[-1])


def elist_row(number: int, cells: list[str]) -> IpmiSensor:
    """``Temp | 0Eh | ok | 3.1 | 45 degrees C``."""
    name, sensor_number, status, entity, reading = cells
    match = _SENSOR_NUMBER.fullmatch(sensor_number)
    if match is None:
        raise unreadable(_KIND, f"line {number}", sensor_number, "a sensor number such as 0Eh")
    if not _ENTITY.fullmatch(entity):
        raise unreadable(_KIND, f"line {number}", entity, "an entity such as 3.1")
    value, unit = _value(reading)
    return _with_states(_sensor(number, name, value, unit, status, int(match[1], 16), entity), reading)


def sensor_row(number: int, cells: list[str]) -> IpmiSensor:
    """``Temp | 45.000 | degrees C | ok | na | 5.000 | 10.000 | 70.000 | 75.000 | na``."""
    name, reading, unit, status, *levels = cells
    value = _reading(number, reading)
    _refuse_negative(number, value, unit)
    if not (is_status(status) or _HEX.fullmatch(status)):
        raise unreadable(_KIND, f"line {number}", status, "a status such as ok, cr, na or 0x0180")
    return IpmiSensor(
        name=_name(number, name),
        value=value,
        unit=None if unit in ("na", "") else unit,
        status=None if status == "na" else status,
        bad=_bad(status),
        thresholds=Thresholds(*(_level(number, level) for level in levels)),
    )


def _sensor(
    number: int,
    name: str,
    value: float | str | None,
    unit: str | None,
    status: str,
    sensor_number: int | None = None,
    entity: str | None = None,
) -> IpmiSensor:
    if not is_status(status):
        raise unreadable(_KIND, f"line {number}", status, "a status such as ok, ns, nc, cr or nr")
    known = None if status.lower() == "na" else status
    bad = _bad_states(value) if isinstance(value, str) and status.lower() == "ok" else _bad(status)
    return IpmiSensor(_name(number, name), value, unit, known, bad, sensor_number, entity)


def _with_states(sensor: IpmiSensor, reading: str) -> IpmiSensor:
    """The sensor, bad when a state behind its number is a fault."""
    states = reading.partition(", ")[2]
    return replace(sensor, bad=True) if isinstance(sensor.value, float) and _bad_states(states) else sensor


def _name(number: int, name: str) -> str:
    if not name:
        raise unreadable(_KIND, f"line {number}", name, "the name of a sensor")
    return name


def _bad(status: str) -> bool | None:
    """A hex status is the mask of a discrete sensor's states, whose meaning differs from sensor to sensor."""
    lower = status.lower()
    return True if lower in _BAD else False if lower == "ok" else None


def _bad_states(states: str) -> bool | None:
    """Of a discrete sensor, whose status is "ok" whatever it says: "Presence detected, Power Supply AC lost"."""
    if _HEX.fullmatch(states):
        return None
    return any(is_fault(state, not state.lower().endswith("deasserted")) for state in states.split(", "))


def _value(reading: str) -> tuple[float | str | None, str | None]:
    """Number and unit; of a discrete sensor its text. A number may have states behind it: ``110 Watts, Presence
    detected``."""
    if reading.lower() in _NO_READING:
        return None, None
    match = _READING.fullmatch(reading.partition(", ")[0])
    if match is not None:
        _refuse_negative(None, float(match[1]), match[2].strip())
        return float(match[1]), match[2].strip()
    if _UNIT_AT_END.fullmatch(reading):
        raise unreadable(_KIND, "reading", reading, "a number before the unit")
    return (float(reading), None) if _NUMBER.fullmatch(reading) else (reading, None)


def _refuse_negative(number: int | None, value: float | str | None, unit: str | None) -> None:
    if unit in _NEVER_NEGATIVE and isinstance(value, float) and value < 0:
        raise unreadable(
            _KIND, "reading" if number is None else f"line {number}", value, f"no negative number of {unit}"
        )


def _reading(number: int, text: str) -> float | str | None:
    if text.lower() in _NO_READING:
        return None
    if _HEX.fullmatch(text):
        return text
    return _decimal(number, text, "a reading: a number, 0x.. or na")


def _level(number: int, text: str) -> float | None:
    return None if text == "na" else _decimal(number, text, "a threshold: a number or na")


def _decimal(number: int, text: str, expected: str) -> float:
    plain = _COMMA.sub(r"\1.\2", text) if _COMMA.fullmatch(text) else text
    if not _PRINTED.fullmatch(plain):
        raise unreadable(_KIND, f"line {number}", text, expected)
    return float(plain)
