"""Sensor readings and thresholds (IPMI chapter 35)."""

from __future__ import annotations

from bmc.config import Threshold
from bmc.events import THRESHOLD_EVENT
from bmc.ipmi.commands.table import Command, Level, NetFn, Request, Table
from bmc.ipmi.completion import Completion, RefusedError
from bmc.sensors import EVENT_OFFSET, Sensor

_SCANNING_WITH_EVENTS = 0xC0
_UNAVAILABLE = 0x20


def _sensor(request: Request) -> Sensor:
    sensor = request.bmc.sensors.get(request.data[0])
    if sensor is None:
        raise RefusedError(Completion.NOT_PRESENT)
    return sensor


def _reading(request: Request) -> bytes:
    sensor = _sensor(request)
    if not sensor.available(request.bmc.machine.is_on()):
        return bytes([0, _SCANNING_WITH_EVENTS | _UNAVAILABLE, 0xC0])
    state = sum(1 << threshold.bit for threshold in sensor.crossed())
    return bytes([sensor.raw(sensor.value), _SCANNING_WITH_EVENTS, 0xC0 | state])


def _thresholds(request: Request) -> bytes:
    sensor = _sensor(request)
    values = [sensor.raw(sensor.thresholds.get(threshold, 0)) for threshold in Threshold]
    return bytes([sensor.mask(), *values])


def _set_thresholds(request: Request) -> bytes:
    sensor, mask = _sensor(request), request.data[1]
    if mask & ~sensor.mask():
        raise RefusedError(Completion.INVALID_FIELD)
    for threshold in Threshold:
        if mask >> threshold.bit & 1:
            sensor.thresholds[threshold] = request.data[2 + threshold.bit] * sensor.info.multiplier
    request.bmc.check_thresholds()
    return b""


def _event_enables(request: Request) -> bytes:
    sensor = _sensor(request)
    events = sum(1 << EVENT_OFFSET[threshold] for threshold in sensor.thresholds).to_bytes(2, "little")
    return bytes([_SCANNING_WITH_EVENTS]) + events + events


def _sensor_type(request: Request) -> bytes:
    return bytes([_sensor(request).sensor_type, THRESHOLD_EVENT])


COMMANDS: Table = {
    (NetFn.SENSOR, 0x26): Command(_set_thresholds, Level.OPERATOR, (8, 8)),
    (NetFn.SENSOR, 0x27): Command(_thresholds, Level.USER, (1, 1)),
    (NetFn.SENSOR, 0x29): Command(_event_enables, Level.USER, (1, 1)),
    (NetFn.SENSOR, 0x2D): Command(_reading, Level.USER, (1, 1)),
    (NetFn.SENSOR, 0x2F): Command(_sensor_type, Level.USER, (1, 1)),
}
