"""Readers of ``ethtool -i``, ``ethtool IFACE`` and ``ethtool -S``, in the shapes from ethtool 2.6 to 6.11."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import numbered, whole_number
from niclab.hosts.records import Counters, DriverInfo, Duplex, LinkSettings

_DRIVER = "ethtool -i"
_LINK = "ethtool IFACE"
_COUNTERS = "ethtool -S"

_DRIVER_LINE = re.compile(r"([a-z][a-z-]*):(.*)")
_HEADER = re.compile(r"Settings for ([^\s:]+):\s*")
_SETTING = re.compile(r"\s+([A-Za-z][^:]*):(.*)")
_MODE = re.compile(r"[0-9]{1,7}base[A-Za-z0-9_]+(/(Half|Full))?")
_SPEED = re.compile(r"([0-9]{1,9})Mb/s")
_LINK_DETECTED = re.compile(r"(yes|no)(?: \((.+)\))?")
# ethtool writes these to standard error; they stand among the settings when both streams were recorded in one file.
_NOISE = ("Cannot get ", "netlink error:", "netlink warning:")


def read_driver_info(text: str) -> DriverInfo:
    """Read ``ethtool -i``. "N/A" and an empty value are None: the driver does not say."""
    found: dict[str, str | None] = {}
    for number, line in numbered(text):
        if not line.strip():
            continue
        match = _DRIVER_LINE.fullmatch(line)
        if match is None:
            raise unreadable(_DRIVER, f"line {number}", line, "'name: value'")
        key, value = match[1], match[2].strip()
        if key in found:
            raise unreadable(_DRIVER, f"line {number}", line, f"{key} once, of one interface")
        found[key] = None if value in ("", "N/A") else value
    driver = found.get("driver")
    if driver is None:
        raise unreadable(_DRIVER, "text", text, "a line 'driver: NAME'")
    return DriverInfo(
        driver=driver,
        version=found.get("version"),
        firmware=found.get("firmware-version"),
        bus=found.get("bus-info"),
        expansion_rom=found.get("expansion-rom-version"),
    )


def read_link_settings(text: str) -> LinkSettings:
    """Read ``ethtool IFACE`` of one interface, old and new shapes."""
    iface, settings = _settings(text)
    link, reason = _link_detected(settings)
    return LinkSettings(
        iface=iface,
        speed_mbps=_speed_mbps(settings),
        duplex=_duplex(settings),
        autoneg=_choice(settings, "Auto-negotiation", {"on": True, "off": False}),
        link=link,
        link_reason=reason,
        port=_words(settings, "Port"),
        transceiver=_words(settings, "Transceiver"),
        supported=_modes(settings, "Supported link modes"),
        advertised=_modes(settings, "Advertised link modes"),
        partner=_modes(settings, "Link partner advertised link modes"),
        supports_autoneg=_choice(settings, "Supports auto-negotiation", _YES_NO),
        advertises_autoneg=_choice(settings, "Advertised auto-negotiation", _YES_NO),
        partner_autoneg=_choice(settings, "Link partner advertised auto-negotiation", _YES_NO),
    )


def read_counters(text: str) -> Counters:
    """Read ``ethtool -S``. The value stands after the last colon: names may hold colons and blanks."""
    entries: list[tuple[str, int]] = []
    header_seen = False
    for number, line in numbered(text):
        if not line.strip():
            continue
        if not header_seen:
            if line.strip() != "NIC statistics:":
                raise unreadable(_COUNTERS, f"line {number}", line, "the heading 'NIC statistics:'")
            header_seen = True
            continue
        name, colon, value = line.rpartition(":")
        if not colon or not name.strip():
            raise unreadable(_COUNTERS, f"line {number}", line, "'name: number'")
        where, name = f"line {number}", name.strip()
        entries.append((name, whole_number(_COUNTERS, where, value.strip(), f"counter {name}")))
    if not entries:
        raise unreadable(_COUNTERS, "text", text, "'NIC statistics:' and at least one counter")
    return Counters(tuple(entries))


_YES_NO = {"Yes": True, "No": False}
_Setting = tuple[int, str]


def _settings(text: str) -> tuple[str, dict[str, _Setting]]:
    """Interface name, and each setting's line number and value; continuation lines are joined with a blank."""
    iface: str | None = None
    settings: dict[str, _Setting] = {}
    key: str | None = None
    for number, line in numbered(text):
        if not line.strip() or line.startswith(_NOISE):
            continue
        header = _HEADER.fullmatch(line)
        if header is not None and iface is None:
            iface = header[1]
            continue
        if iface is None or header is not None:
            raise unreadable(_LINK, f"line {number}", line, "one heading 'Settings for IFACE:', then its settings")
        match = _SETTING.fullmatch(line)
        if match is not None:
            key = match[1]
            if key in settings:
                raise unreadable(_LINK, f"line {number}", line, f"{key!r} once")
            settings[key] = (number, match[2].strip())
        elif key is not None and line[0] in " \t":
            first, value = settings[key]
            settings[key] = (first, f"{value} {line.strip()}")
        else:
            raise unreadable(_LINK, f"line {number}", line, "an indented 'Name: value' or its continuation")
    if iface is None or not settings:
        raise unreadable(_LINK, "text", text, "'Settings for IFACE:' and at least one setting")
    return iface, settings


def _words(settings: dict[str, _Setting], key: str) -> str | None:
    """The value as it stands; None when missing, empty or unknown."""
    value = settings.get(key, (0, ""))[1]
    return None if not value or value.startswith("Unknown!") else value


def _choice(settings: dict[str, _Setting], key: str, choices: dict[str, bool]) -> bool | None:
    if key not in settings:
        return None
    number, value = settings[key]
    if value not in choices:
        raise unreadable(_LINK, f"line {number}", value, f"{key}: {' or '.join(choices)}")
    return choices[value]


def _speed_mbps(settings: dict[str, _Setting]) -> int | None:
    """ethtool writes "Unknown!" for 0 and for all ones, so a printed 0 is not its word."""
    if "Speed" not in settings or settings["Speed"][1].startswith("Unknown!"):
        return None
    number, value = settings["Speed"]
    match = _SPEED.fullmatch(value)
    if match is None or int(match[1]) == 0:
        raise unreadable(_LINK, f"line {number}", value, "Speed: '1000Mb/s' or 'Unknown!'")
    return int(match[1])


def _duplex(settings: dict[str, _Setting]) -> Duplex | None:
    if "Duplex" not in settings or settings["Duplex"][1].startswith("Unknown!"):
        return None
    number, value = settings["Duplex"]
    if value not in ("Full", "Half"):
        raise unreadable(_LINK, f"line {number}", value, "Duplex: Full, Half or 'Unknown!'")
    return Duplex(value.lower())


def _link_detected(settings: dict[str, _Setting]) -> tuple[bool | None, str | None]:
    if "Link detected" not in settings:
        return None, None
    number, value = settings["Link detected"]
    match = _LINK_DETECTED.fullmatch(value)
    if match is None:
        raise unreadable(_LINK, f"line {number}", value, "Link detected: yes or no")
    return match[1] == "yes", match[2]


def _modes(settings: dict[str, _Setting], key: str) -> tuple[str, ...] | None:
    if key not in settings or settings[key][1] == "Not reported":
        return None
    number, value = settings[key]
    modes = tuple(value.split())
    if not modes or not all(_MODE.fullmatch(mode) for mode in modes):
        raise unreadable(_LINK, f"line {number}", value, f"{key}: names such as 1000baseT/Full, or 'Not reported'")
    return modes
