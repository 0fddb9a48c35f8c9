"""Sensors as ``ipmitool sdr -v``, ``sdr get NAME`` and ``sensor get NAME`` print them: a block of lines each.

Shapes are those of ipmi_sdr_print_sensor_full() and ipmi_sdr_print_sensor_compact() in lib/ipmi_sdr.c and of
lib/ipmi_sensor.c, ipmitool 1.8.8 to 1.8.19.
"""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.ipmitool_records import IpmiSensor, Thresholds
from niclab.hosts.ipmitool_sel import is_fault

_KIND = "ipmi"
FIRST = "Sensor ID"
_ID = re.compile(r"(\S.{0,60}?)\s*\(0x([0-9a-f]{1,2})\)")
_ENTITY = re.compile(r"([0-9]{1,3}\.[0-9]{1,3})(?: \(.{1,60}\))?")
_PAIR = re.compile(r"\s{0,4}([A-Z][A-Za-z0-9 /()-]{1,40}?)\s*:(?:\s+(.*)|)")
# Places of units and controllers stand between the sensors of "sdr list all -v"; they have nothing that is measured.
_LOCATOR = "Device ID"
_OF_LOCATOR = re.compile(
    r"\s{0,4}(?:Device ID|Entity ID|Device Access Address|Logical FRU Device|Slave Address|Device Slave Address"
    r"|Channel Number|LUN\.Bus|Device Type\.Modifier|OEM|ACPI (?:System|Device) P/S Notif|Controller Presence"
    r"|Logs Init Agent Errors|Event Message Gen|Chassis Device|Bridge|IPMB Event (?:Generator|Receiver)"
    r"|FRU Inventory Device|SEL Device|SDR Repository|Sensor Device)\s*:.*|Device Capabilities"
)
_STATE = re.compile(r"\s+\[(.{1,80})\]")
_READING = re.compile(r"(-?[0-9]{1,12}(?:\.[0-9]{1,9})?)(?: \(\+/- -?[0-9.]{1,12}\))? (\S.{0,40})")
_NUMBER = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,9})?")
_DISCRETE = re.compile(r"(?:0x)?[0-9a-f]{1,4}h?")
_NO_READING = ("no reading", "not present", "disabled", "unable to read sensor", "device not present")
_STATUSES = {"ok": False, "not available": None, "na": None, "ns": None}
_OUT_OF_RANGE = re.compile(r"(?:lower|upper) (?:non-critical|critical|non-recoverable)|nc|cr|nr|[lu](?:nc|cr|nr)")
_LEVELS = (
    *("lower non-recoverable", "lower critical", "lower non-critical"),
    *("upper non-critical", "upper critical", "upper non-recoverable"),
)
_NO_LEVEL = ("na", "unspecified", "not readable")

Lines = tuple[tuple[int, str], ...]


def sensor_blocks(lines: Lines) -> tuple[IpmiSensor, ...]:
    """The sensors; every block begins with ``Sensor ID``.

    :raises ReadError: for a line that is neither ``Name : value`` nor a state, and for a block without a reading.
    """
    blocks: list[tuple[int, dict[str, str], list[str]]] = []
    name, in_locator = "", False
    for number, line in lines:
        in_locator = blocks != [] and (in_locator or line.startswith(_LOCATOR)) and not line.startswith(FIRST)
        if in_locator and _OF_LOCATOR.fullmatch(line[:1000].rstrip()):
            continue
        pair, state = _PAIR.fullmatch(line[:1000]), _STATE.fullmatch(line[:1000])
        if pair is not None and pair[1] == FIRST:
            blocks.append((number, {}, []))
        if pair is not None and blocks:
            name = pair[1].lower()
            blocks[-1][1].setdefault("sensor type" if name.startswith("sensor type") else name, (pair[2] or "").strip())
        elif state is not None and blocks:
            if name == "states asserted":
                blocks[-1][2].append(state[1])
        else:
            raise unreadable(_KIND, f"line {number}", line, f"'{FIRST} : NAME (0x1)', then 'Name : value' or '[state]'")
    sensors = tuple(_sensor(*block) for block in blocks)
    if len({(sensor.name, sensor.number, sensor.entity) for sensor in sensors}) < len(sensors):
        raise unreadable(_KIND, "output", ", ".join(sensor.name for sensor in sensors[:5]), "each sensor once")
    return sensors


def _sensor(number: int, fields: dict[str, str], states: list[str]) -> IpmiSensor:
    where = f"line {number}"
    identity = _ID.fullmatch(fields[FIRST.lower()])
    if identity is None:
        raise unreadable(_KIND, where, fields[FIRST.lower()], "a sensor such as 'CPU Temp (0x1)'")
    entity = _ENTITY.fullmatch(fields.get("entity id", ""))
    if entity is None or "sensor type" not in fields or not (states or "sensor reading" in fields):
        raise unreadable(_KIND, where, identity[1], "the lines Entity ID, Sensor Type and Sensor Reading below it")
    value, unit = _value(where, fields.get("sensor reading", ""), states)
    status = fields.get("status")
    return IpmiSensor(
        name=identity[1],
        value=value,
        unit=unit,
        status=status,
        bad=_bad(where, status) if status is not None else _bad_states(states) if value is not None else None,
        number=int(identity[2], 16),
        entity=entity[1],
        thresholds=_thresholds(where, fields),
    )


def _value(where: str, reading: str, states: list[str]) -> tuple[float | str | None, str | None]:
    """Number and unit; of a discrete sensor its states."""
    if states:
        return ", ".join(states), None
    if not reading or reading.lower() in _NO_READING:
        return None, None
    match = _READING.fullmatch(reading)
    if match is not None:
        return float(match[1]), match[2].strip()
    if not _DISCRETE.fullmatch(reading):
        raise unreadable(_KIND, where, reading, "Sensor Reading: a number with its unit, a mask or 'No Reading'")
    return reading, None


def _bad(where: str, status: str) -> bool | None:
    lower = status.lower()
    if lower not in _STATUSES and not _OUT_OF_RANGE.fullmatch(lower):
        raise unreadable(_KIND, where, status, "Status: ok, Not Available or a threshold such as Upper Critical")
    return _STATUSES.get(lower, True)


def _bad_states(states: list[str]) -> bool | None:
    """A mask alone is no state: its meaning differs from sensor to sensor."""
    return any(is_fault(state, not state.lower().endswith("deasserted")) for state in states) if states else None


def _thresholds(where: str, fields: dict[str, str]) -> Thresholds | None:
    if not any(name in fields for name in _LEVELS):
        return None
    return Thresholds(*(_level(where, fields.get(name, "na")) for name in _LEVELS))


def _level(where: str, text: str) -> float | None:
    if text.lower() in _NO_LEVEL:
        return None
    if not _NUMBER.fullmatch(text):
        raise unreadable(_KIND, where, text, "a threshold: a number or na")
    return float(text)
