"""Readers of ``ethtool -i IFACE`` and ``ethtool IFACE``, which print no JSON before ethtool 6.10."""

from __future__ import annotations

import re

from niclab.core.names import Duplex
from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import DriverInfo, LinkSettings
from niclab.hosts.links.ethtool_output import headed
from niclab.hosts.reading import Line, filled

_DRIVER = "ethtool -i"
_LINK = "ethtool IFACE"

_DRIVER_ROWS = ("driver", "version", "firmware-version", "expansion-rom-version", "bus-info")
_SUPPORTS = tuple(f"supports-{what}" for what in ("statistics", "test", "eeprom-access", "register-dump", "priv-flags"))
_DRIVER_LINE = re.compile(r"([a-z][a-z-]*): ?(.*)")
# ethtool indents the level of messages and its words with blanks, everything else with a tab.
_SETTING = re.compile(r"(?:\t| {8}(?=Current message level:))([A-Za-z][^:\t]{0,60}):(.*)")
_CONTINUED = re.compile(r"(?:\t\s| {9})\s*\S.*")
# Only the mode "10000baseR_FEC" says nothing of its duplex.
_MODE = re.compile(r"[1-9][0-9]{1,6}base(?:[A-Za-z0-9_]+/(?:Half|Full)|R_FEC)")
_SPEED = re.compile(r"([0-9]{1,8})Mb/s")
_FASTEST_MBPS = 10_000_000
_UNKNOWN = re.compile(r"Unknown!(?: \((?:[0-9]{1,10}|0x[0-9a-fA-F]{1,8})\))?")
_LINK_DETECTED = re.compile(r"(yes|no)(?: \(.+\))?")
# Names of ethtool's dump_link_settings(), a closed set; a part of one is an output that was cut.
_PORTS = ("Twisted Pair", "AUI", "BNC", "MII", "FIBRE", "Direct Attach Copper", "None", "Other")

_Setting = tuple[int, str]


def read_driver_info(text: str) -> DriverInfo:
    """Read ``ethtool -i``: its ten rows, in the tool's order. "N/A" and an empty value are None.

    Raises:
        ReadError: A row is missing, another one is there, or the driver has no name.
    """
    found: dict[str, str] = {}
    for number, line in filled(text):
        match = _DRIVER_LINE.fullmatch(line)
        if match is None or match[1] in found:
            raise unreadable(_DRIVER, f"line {number}", line, "'NAME: VALUE', each once")
        found[match[1]] = match[2].strip()
    wrong = [name for name in _SUPPORTS if found.get(name) not in ("yes", "no")]
    if tuple(found) != _DRIVER_ROWS + _SUPPORTS or wrong or not found["driver"]:
        raise unreadable(_DRIVER, "text", text, f"the rows {', '.join(_DRIVER_ROWS + _SUPPORTS)}")
    values = [None if found[name] in ("", "N/A") else found[name] for name in ("version", "firmware-version")]
    return DriverInfo(found["driver"], *values)


def read_link_settings(text: str) -> LinkSettings:
    """Read ``ethtool IFACE``; what the driver does not say is None.

    Raises:
        ReadError: The text is no such output, a setting occurs twice, or there is no row 'Link detected'.
    """
    iface, lines = headed(_LINK, text, "Settings for")
    settings = _settings(lines)
    return LinkSettings(
        iface=iface,
        speed_mbps=_speed_mbps(settings),
        duplex=_duplex(settings),
        autoneg=_choice(settings, "Auto-negotiation", {"on": True, "off": False}),
        link=_link_detected(settings, text),
        port=_word(settings, "Port", _PORTS),
        supported=_modes(settings, "Supported link modes"),
        partner=_modes(settings, "Link partner advertised link modes"),
    )


def _settings(lines: list[Line]) -> dict[str, _Setting]:
    """Each setting's line number and value; the lines of one value are joined with a blank."""
    settings: dict[str, _Setting] = {}
    key: str | None = None
    for number, line in lines:
        match = _SETTING.fullmatch(line)
        if match is not None:
            key = match[1]
            if key in settings:
                raise unreadable(_LINK, f"line {number}", line, f"{key!r} once")
            settings[key] = (number, match[2].strip())
        elif key is not None and _CONTINUED.fullmatch(line):
            first, value = settings[key]
            settings[key] = (first, f"{value} {line.strip()}")
        else:
            raise unreadable(_LINK, f"line {number}", line, "an indented 'Name: value' or its continuation")
    return settings


def _word(settings: dict[str, _Setting], key: str, words: tuple[str, ...]) -> str | None:
    """The value as it is printed; None when missing or unknown."""
    value = _known(settings, key)
    if value is not None and value not in words:
        raise unreadable(_LINK, f"line {settings[key][0]}", value, f"{key}: one of {', '.join(words)}")
    return value


def _choice(settings: dict[str, _Setting], key: str, choices: dict[str, bool]) -> bool | None:
    value = _word(settings, key, tuple(choices))
    return None if value is None else choices[value]


def _known(settings: dict[str, _Setting], key: str) -> str | None:
    """The value; None when the row is missing, or the driver does not know it."""
    value = settings[key][1] if key in settings else None
    return None if value is None or _UNKNOWN.fullmatch(value) else value


def _speed_mbps(settings: dict[str, _Setting]) -> int | None:
    """Ethtool writes "Unknown!" for 0 and for all ones, so a printed 0 is not its word."""
    value = _known(settings, "Speed")
    if value is None:
        return None
    match = _SPEED.fullmatch(value)
    if match is None or not 0 < int(match[1]) <= _FASTEST_MBPS:
        raise unreadable(_LINK, f"line {settings['Speed'][0]}", value, "Speed: '1000Mb/s' or 'Unknown!'")
    return int(match[1])


def _duplex(settings: dict[str, _Setting]) -> Duplex | None:
    value = _word(settings, "Duplex", ("Full", "Half"))
    return None if value is None else Duplex(value.lower())


def _link_detected(settings: dict[str, _Setting], text: str) -> bool:
    if "Link detected" not in settings:
        raise unreadable(_LINK, "text", text, "a row 'Link detected: yes' or 'no'")
    number, value = settings["Link detected"]
    match = _LINK_DETECTED.fullmatch(value)
    if match is None:
        raise unreadable(_LINK, f"line {number}", value, "Link detected: yes or no")
    return match[1] == "yes"


def _modes(settings: dict[str, _Setting], key: str) -> tuple[str, ...] | None:
    """None for "Not reported", and for "Not applicable" of a link without negotiation."""
    if key not in settings or settings[key][1] in ("Not reported", "Not applicable"):
        return None
    number, value = settings[key]
    modes = tuple(value.split())
    if not modes or not all(_MODE.fullmatch(mode) for mode in modes):
        raise unreadable(_LINK, f"line {number}", value, f"{key}: names such as 1000baseT/Full, or 'Not reported'")
    return modes
