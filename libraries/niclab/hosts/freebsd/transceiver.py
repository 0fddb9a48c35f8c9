"""The module lines of ``ifconfig -v`` (``sfp.c`` of ifconfig, releases 10.2 to 14)."""

from __future__ import annotations

import re
from dataclasses import replace

from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd.ifconfig_records import OpticalLane, Transceiver

_NUMBER = r"(-?[0-9]{1,6}(?:\.[0-9]{1,4})?)"
_POSITIVE = r"([0-9]{1,6}(?:\.[0-9]{1,4})?)"
_POWER = rf"{_POSITIVE} mW \((-?[0-9]{{1,4}}(?:\.[0-9]{{1,4}})?|-inf|nan) dBm\)"
_VENDOR = re.compile(r"vendor: (.*?)\s+PN: (.*?)\s+SN: (.*?)\s+DATE: (.*)")
_CLIMATE = re.compile(rf"module temperature: {_NUMBER} C [Vv]oltage: {_POSITIVE} Volts")
_LANE = re.compile(
    rf"(?:lane ([0-9]{{1,2}}): )?RX(?: power)?: {_POWER}(?: TX(?: power)?: {_POWER})?(?: TX bias: {_POSITIVE} mA)?"
)
# Only with -vv and more: standards, and a dump of the module's memory.
_MORE = re.compile(
    r"(?:compliance level|nominal bitrate|Class|Length|Tech|Media|Speed): .*"
    r"|SFF84(?:72|36) DUMP .*"
    r"|(?:[0-9a-f]{4}  )?(?:[0-9a-f]{2} {1,2}){1,16}.*"
)


def read_transceiver_line(kind: str, where: str, line: str, known: Transceiver | None) -> Transceiver | None:
    """``known`` with what this line adds; None when the line is not about a module."""
    if line.startswith("plugged: "):
        if known is not None:
            raise unreadable(kind, where, line, "one module per interface")
        return Transceiver(plugged=line.removeprefix("plugged: ").strip())
    if known is None:
        return None
    if line.startswith("vendor: "):
        match = _wanted(kind, where, line, _VENDOR, "'vendor: NAME PN: NUMBER SN: NUMBER DATE: DATE'")
        _refuse_second(kind, where, line, known.vendor, known.serial_number)
        vendor, number, serial, date = (match[index].strip() or None for index in range(1, 5))
        return replace(known, vendor=vendor, part_number=number, serial_number=serial, date=date)
    if line.startswith("module temperature: "):
        match = _wanted(kind, where, line, _CLIMATE, "'module temperature: 34.84 C voltage: 3.28 Volts'")
        _refuse_second(kind, where, line, known.temperature_c)
        return replace(known, temperature_c=float(match[1]), voltage_v=float(match[2]))
    if line.startswith(("lane ", "RX")):
        match = _wanted(kind, where, line, _LANE, "'lane 1: RX power: 0.52 mW (-2.81 dBm) TX bias: 6.00 mA'")
        lane = _lane(match, len(known.lanes) + 1)
        if any(other.lane == lane.lane for other in known.lanes) or (known.lanes and not match[1]):
            raise unreadable(kind, where, line, "each lane once")
        return replace(known, lanes=(*known.lanes, lane))
    return known if _MORE.fullmatch(line) else None


def _refuse_second(kind: str, where: str, line: str, *known: object) -> None:
    if any(value is not None for value in known):
        raise unreadable(kind, where, line, "one such line per module")


def _wanted(kind: str, where: str, line: str, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
    match = pattern.fullmatch(line)
    if match is None:
        raise unreadable(kind, where, line, expected)
    return match


def _lane(match: re.Match[str], position: int) -> OpticalLane:
    return OpticalLane(
        lane=int(match[1]) if match[1] else position,
        rx_power_mw=_float(match[2]),
        rx_power_dbm=_float(match[3]),
        tx_power_mw=_float(match[4]),
        tx_power_dbm=_float(match[5]),
        tx_bias_ma=_float(match[6]),
    )


def _float(text: str | None) -> float | None:
    """None also for a logarithm of zero."""
    return None if text in (None, "-inf", "nan") else float(text)
